/** The tools of the MCP servers that a file lists: the `mcpServers` that other MCP clients also have. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { DynamicStructuredTool, type StructuredToolInterface } from "@langchain/core/tools";
import type { Connection } from "@langchain/mcp-adapters";
import { z } from "zod/v4";
import { InvalidSettingError } from "../src/errors.js";
import { createRedact } from "../src/providers/failure/redact.js";
import { errorMessage } from "../src/shared/is-error.js";
import { recordsIn, textIn } from "../src/shared/values.js";
import { type Environment, HTTP_URL } from "./access/server-settings.js";

/** How long the first runs wait for servers that start, in milliseconds. `npx` may have to install one. */
const START_TIMEOUT = 10_000;

/**
 * Connects to the servers in the file that `MCP_SERVERS` names. A server that fails is left out until the process
 * restarts. Runs go without a slow one until it answers.
 *
 * @param warn Contract: tells the operator which server is missing, and why.
 * @param timeIsUp Runs that begin after it has resolved do not wait for servers.
 * @throws InvalidSettingError for an unusable file.
 */
export function connectMcpServers(
  environment: Environment,
  warn: (text: string) => void,
  timeIsUp: Promise<unknown> = delay(START_TIMEOUT, undefined, { ref: false }),
) {
  const servers = readServers(environment);
  const loads = servers.map(({ name, server }) => {
    const answer = connect(name, server, warn);
    const inTime = () => Promise.race([answer, timeIsUp.then(() => undefined)]);
    const late = `The MCP server \`${name}\` has not answered yet. Runs do without it until it does.`;
    void inTime().then((client) => client ?? warn(late));
    return async () => ((await (await inTime())?.getTools()) ?? []).map(plainTool);
  });
  return {
    /** The tools' names begin with these: a server's name and `__`. */
    prefixes: servers.map(({ name }) => legalName(`${name}__`)),
    /** Waits until all servers have answered or failed, or the start time is over. */
    load: async () => {
      const tools = (await Promise.all(loads.map((load) => load()))).flat();
      // A graph takes no two tools with one name, which legal names may become.
      return [...new Map(tools.map((tool) => [tool.name, tool])).values()];
    },
  };
}

/** One client would connect to its servers one after another, so each server has its own. */
async function connect(name: string, server: Connection, warn: (text: string) => void) {
  const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
  const redact = createRedact(server);
  const client = new MultiServerMCPClient({
    mcpServers: { [name]: server },
    // Models must not take one server's tool for another's, or for the graph's.
    prefixToolNameWithServerName: true,
    throwOnLoadError: false,
    // Resources would be artifacts, which no model sees.
    outputHandling: "content",
    // It must return nothing. The client then has no tools.
    onConnectionError: ({ error }) => {
      warn(`The MCP server \`${name}\` is left out. ${redact(errorMessage(error))}`);
    },
  });
  await client.initializeConnections();
  return client;
}

const texts = z.record(z.string(), z.string()).optional();
const again = z.object({ enabled: z.boolean(), maxAttempts: z.int(), delayMs: z.int() }).partial();
const common = { disabled: z.boolean().optional(), defaultToolTimeout: z.int().min(1).optional() };
const local = { command: z.string(), args: z.array(z.string()).default([]), env: texts };
const localServer = z.object({ ...local, cwd: z.string().optional(), restart: again.optional(), ...common });
const remote = { url: HTTP_URL.schema, type: z.enum(["http", "sse"]).optional(), headers: texts };
const remoteServer = z.object({ ...remote, reconnect: again.optional(), ...common });
const fileSchema = z.object({ mcpServers: z.record(z.string(), z.looseObject({})) });

/** `${NAME}` and `${NAME:-default}` are environment variables, so that a file needs no keys. */
const VARIABLE = /\$\{(\w+)(?::-((?:(?!\$\{)[^}])*))?\}/g;

/** The servers that are not disabled. */
function readServers(environment: Environment) {
  const path = environment["MCP_SERVERS"]?.trim();
  if (path === undefined || path === "") return [];
  const file = resolve(path);
  const readVariable = (_: string, name: string, otherwise?: string) => {
    const value = environment[name] || otherwise;
    if (value === undefined) throw new Error(`It needs the variable \`${name}\`, which is not set.`);
    return value;
  };
  let place = "";
  try {
    const content: unknown = JSON.parse(readFileSync(file, "utf8"), (_, value: unknown) =>
      typeof value === "string" ? value.replaceAll(VARIABLE, readVariable) : value,
    );
    return Object.entries(parse(fileSchema, content).mcpServers).flatMap(([name, given]) => {
      place = ` In \`mcpServers.${name}\`:`;
      const server = "command" in given ? parse(localServer, given) : parse(remoteServer, given);
      return server.disabled === true ? [] : [{ name, server }];
    });
  } catch (error) {
    const reason = `The file of \`MCP_SERVERS\` (${file}) cannot be used.${place} ${errorMessage(error)}`;
    throw new InvalidSettingError("MCP_SERVERS", reason);
  }
}

function parse<Value>(schema: z.ZodType<Value>, given: unknown): Value {
  const { data, error } = schema.safeParse(given);
  if (error !== undefined) throw new Error(z.prettifyError(error));
  return data;
}

/** A tool with a name and results that providers take. */
function plainTool(tool: DynamicStructuredTool): StructuredToolInterface {
  return new DynamicStructuredTool({
    ...tool,
    name: legalName(tool.name),
    func: async (...call: Parameters<typeof tool.func>) => plainResult(await tool.func(...call)),
  });
}

function legalName(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_").slice(0, 64);
}

/** What is text for a model becomes text. Providers refuse unknown fields. */
function plainResult([content, artifacts]: [content: unknown, artifacts: unknown[]]): unknown[] {
  if (typeof content === "string") return [content, artifacts];
  const blocks = [content].flat().map(plainBlock);
  const structured = recordsIn(artifacts).find(({ type }) => type === "mcp_structured_content");
  const isAlone = blocks.length === 0 && structured !== undefined;
  return [isAlone ? JSON.stringify(structured["data"]) : blocks, artifacts];
}

function plainBlock(block: unknown): unknown {
  const link = textIn(block, "url");
  const text = textIn(block, "text") ?? (link && `Resource: ${link}`);
  return text === undefined ? block : { type: "text", text };
}
