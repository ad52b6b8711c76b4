/** The tools of all MCP servers, for the graph of one run. */

import { createHash } from "node:crypto";
import { DynamicStructuredTool, type StructuredToolInterface } from "@langchain/core/tools";
import type { RequireApproval } from "../../src/agent/approval-rules.js";
import { InvalidSettingError } from "../../src/errors.js";
import { errorMessage } from "../../src/shared/is-error.js";
import { didYouMean } from "../../src/shared/text.js";
import { madeOnce } from "../../src/shared/values.js";
import type { AgentEvent } from "../../src/threads/events.js";
import { McpServer, type McpServerOptions } from "./mcp-server.js";

export interface LoadedTools {
  readonly tools: readonly NamedTool[];
  /** An event for each server that cannot be used now. */
  readonly events: readonly McpFailure[];
}

type McpFailure = Extract<AgentEvent, { readonly type: "mcp-server-failed" }>;

interface NamedTool {
  readonly tool: StructuredToolInterface;
  /** All names by which an operator can mean the tool. */
  readonly names: readonly string[];
}

/** Servers connect when the tools are first loaded, and once for the process. */
export function createMcpTools(settings: readonly McpServerOptions[]) {
  const servers = settings.map((options) => new McpServer(options));
  const nameTool = createToolNames();

  /**
   * Contract: never rejects. A server that cannot be used takes only its own tools with it.
   *
   * @param own The names of the other tools of the graph.
   */
  async function load(own: readonly string[]): Promise<LoadedTools> {
    const found = await Promise.allSettled(servers.map((server) => server.tools()));
    const tools: NamedTool[] = [];
    const events: McpFailure[] = [];
    // One after the other, in the order of the file, so that names do not depend on which server is faster.
    for (const [index, server] of servers.entries()) {
      const outcome = found[index];
      if (outcome?.status === "fulfilled") {
        for (const tool of outcome.value) {
          const name = nameTool(server.name, tool.name, (taken) => own.includes(taken));
          const names = [name, legalName(tool.name), prefixedName(server.name, tool.name)];
          tools.push({ tool: asOwnTool(server, tool, name), names });
        }
      } else {
        const reason = errorMessage(outcome?.reason);
        events.push({ type: "mcp-server-failed", server: server.name, reason });
      }
    }
    return { tools, events };
  }

  const reason = "it is not connected yet";
  const events = servers.map(({ name: server }) => ({ type: "mcp-server-failed" as const, server, reason }));
  return {
    load,
    /** What there is before any server is connected. */
    unconnected: { tools: [], events } satisfies LoadedTools,
    close: async () => void (await Promise.all(servers.map((server) => server.close()))),
  };
}

/** The tool of a server, under its name in the graph. It calls the server's current connection. */
function asOwnTool(
  server: McpServer,
  { name: toolName, description, schema, metadata }: DynamicStructuredTool,
  name: string,
): StructuredToolInterface {
  return new DynamicStructuredTool({
    name,
    description,
    schema,
    ...(metadata !== undefined && { metadata }),
    responseFormat: "content_and_artifact",
    func: (args: Record<string, unknown>, _manager, config) => server.call(toolName, args, config),
  });
}

/**
 * The tools that `ALLOWED_TOOLS` names, or all of them. A tool of an MCP server can be named as the server does, too. A
 * name that no tool has is refused, unless a server is missing that may have the tool.
 *
 * @throws InvalidSettingError for the first such name.
 */
export function allowedTools(
  allowed: readonly string[] | undefined,
  own: readonly StructuredToolInterface[],
  { tools, events }: LoadedTools,
): StructuredToolInterface[] {
  const all = [...own.map((tool) => ({ tool, names: [tool.name] })), ...tools];
  const known = [...new Set(all.flatMap(({ names }) => names))];
  const unknown = allowed?.find((name) => !known.includes(name));
  if (unknown !== undefined && events.length === 0)
    throw InvalidSettingError.expected(
      "ALLOWED_TOOLS",
      `names of tools of this server (${known.join(", ")})`,
      unknown,
      didYouMean(unknown, known),
    );
  const isAllowed = (names: readonly string[]) =>
    allowed === undefined || names.some((name) => allowed.includes(name));
  return all.flatMap(({ tool, names }) => (isAllowed(names) ? tool : []));
}

/**
 * `requireApproval` with the names that the tools of MCP servers have in the graph. An operator writes the name that the
 * server uses. If two tools have that name, calls of both need approval. A name that no tool has stays, and is refused,
 * unless a server is missing that may have the tool.
 */
export function approvalNames(
  given: RequireApproval | undefined,
  own: readonly string[],
  { tools, events }: LoadedTools,
): RequireApproval | undefined {
  if (given === undefined || typeof given === "function") return given;
  const namesFor = (name: string): string[] => {
    const meant = tools.filter(({ names: known }) => known.includes(name)).map(({ tool }) => tool.name);
    const isLeftOut = meant.length === 0 && events.length > 0;
    return own.includes(name) || (meant.length === 0 && !isLeftOut) ? [name, ...meant] : meant;
  };
  if (isNames(given)) return [...new Set(given.flatMap(namesFor))];
  return Object.fromEntries(
    Object.entries(given).flatMap(([name, options]) => namesFor(name).map((meant) => [meant, options])),
  );
}

/** `Array.isArray` does not narrow a readonly list. */
function isNames(given: object): given is readonly string[] {
  return Array.isArray(given);
}

/*
 * The names under which models call the tools of MCP servers.
 */

const MOST_LETTERS = 64;

/** A name that every provider accepts: 1 to 64 letters, digits, `_` and `-`, and no digit or `-` at its beginning. */
export function legalName(name: string): string {
  const letters = name.replaceAll(/[^a-zA-Z0-9_-]/g, "_");
  const begun = /^[a-zA-Z_]/.test(letters) ? letters : `_${letters}`;
  if (begun.length <= MOST_LETTERS) return begun;
  // Two long names can have the same beginning.
  const mark = createHash("sha256").update(name).digest("hex").slice(0, 8);
  return `${begun.slice(0, MOST_LETTERS - mark.length - 1)}_${mark}`;
}

/** The name of a tool with its server before it. */
export function prefixedName(server: string, tool: string): string {
  return legalName(`${server}__${tool}`);
}

/**
 * Makes the function that names tools. A tool has its own name, or, if another tool has that name, the name with its
 * server before it. A tool keeps its name as long as the process runs, because histories and questions about approval
 * contain it.
 */
export function createToolNames() {
  const names = new Map<string, string>();
  return function nameTool(server: string, tool: string, isTaken: (name: string) => boolean): string {
    return madeOnce(names, JSON.stringify([server, tool]), () => {
      const used = new Set(names.values());
      const isFree = (name: string) => !used.has(name) && !isTaken(name);
      const prefixed = prefixedName(server, tool);
      const numbered = Array.from({ length: used.size + 2 }, (_, index) =>
        legalName(`${prefixed}_${index + 2}`),
      );
      return [legalName(tool), prefixed, ...numbered].find(isFree) ?? prefixed;
    });
  };
}
