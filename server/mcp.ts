/** The tools of MCP servers, which a file lists: the `mcpServers` that other MCP clients have too. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { InvalidSettingError } from "../src/errors.js";
import { createRedact } from "../src/providers/failure/redact.js";
import { errorMessage } from "../src/shared/is-error.js";
import { isRecord } from "../src/shared/values.js";

type Environment = Readonly<Record<string, string | undefined>>;

export interface McpTools {
  /** The names of the tools begin with these: the name of a server and `__`. */
  readonly prefixes: readonly string[];
  /** Contract: waits until all servers have answered or failed. Does not reject. */
  readonly load: () => Promise<StructuredToolInterface[]>;
}

/**
 * Connects to the servers of the file that `MCP_SERVERS` names. A server that does not answer is left out until the
 * process starts again.
 *
 * @param warn Contract: tells the operator which server is left out, and why.
 * @throws InvalidSettingError for a file that cannot be used.
 */
export async function connectMcpServers(
  environment: Environment,
  warn: (text: string) => void,
): Promise<McpTools> {
  const path = environment["MCP_SERVERS"]?.trim();
  const none: McpTools = { prefixes: [], load: async () => [] };
  if (path === undefined || path === "") return none;
  const file = resolve(path);
  try {
    const mcpServers = readServers(readFileSync(file, "utf8"), environment);
    const names = Object.keys(mcpServers);
    if (names.length === 0) return none;
    const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
    const client = new MultiServerMCPClient({
      mcpServers: mcpServers as never,
      // Models must not take a tool of one server for that of another one, or for one of the graph.
      prefixToolNameWithServerName: true,
      throwOnLoadError: false,
      // Resources would be artifacts, which no model sees.
      outputHandling: "content",
      afterToolCall: ({ result: [content, artifacts] }) => ({
        result: [Array.isArray(content) ? content.map(plainBlock) : content, artifacts] as never,
      }),
      onConnectionError: ({ serverName, error }) => {
        const reason = createRedact(Object(mcpServers[serverName]))(errorMessage(error));
        warn(`The MCP server \`${serverName}\` is left out. ${reason}`);
      },
    });
    const connected = client.initializeConnections();
    const load = async () => {
      await connected;
      const tools = await client.getTools();
      return tools.map((tool) => Object.assign(tool, { name: legalName(tool.name) }));
    };
    return { prefixes: names.map((name) => legalName(`${name}__`)), load };
  } catch (error) {
    const reason = `The file of \`MCP_SERVERS\` (${file}) cannot be used. ${errorMessage(error)}`;
    throw new InvalidSettingError("MCP_SERVERS", reason);
  }
}

/** The servers that are not disabled. `${NAME}` and `${NAME:-default}` are environment variables, so that a file needs no keys. */
function readServers(text: string, environment: Environment): Record<string, unknown> {
  const expanded: unknown = JSON.parse(text, (_, value: unknown) =>
    typeof value !== "string"
      ? value
      : value.replaceAll(/\$\{(\w+)(?::-([^}]*))?\}/g, (_, name: string, otherwise?: string) => {
          const found = environment[name] || otherwise;
          if (found === undefined) throw new Error(`It needs the variable \`${name}\`, which is not set.`);
          return found;
        }),
  );
  const servers = isRecord(expanded) ? expanded["mcpServers"] : undefined;
  if (!isRecord(servers)) throw new Error("Expected an object with `mcpServers`.");
  return Object.fromEntries(Object.entries(servers).filter(([, server]) => !Object(server).disabled));
}

/** Providers refuse the request if a tool has another name. */
function legalName(name: string): string {
  return name.replaceAll(/[^\w-]/g, "_").slice(0, 64);
}

/** What is text for a model becomes text. Providers refuse fields that they do not know. */
function plainBlock(block: object): object {
  if ("text" in block) return { type: "text", text: block.text };
  return "source_type" in block && block.source_type === "url" && "url" in block
    ? { type: "text", text: `Resource: ${String(block.url)}` }
    : block;
}
