/** The tools of all MCP servers, for the graph of one run. */

import { DynamicStructuredTool, type StructuredToolInterface } from "@langchain/core/tools";
import { isError } from "../../shared/is-error.js";
import type { AgentEvent } from "../../threads/events.js";
import { McpServer, type McpServerOptions } from "./mcp-server.js";
import { createToolNames, legalName, prefixedName } from "./tool-names.js";

interface McpTools {
  /** Contract: never rejects. A server that cannot be used takes only its own tools with it. */
  readonly load: (own: readonly string[]) => Promise<LoadedTools>;
  readonly close: () => Promise<void>;
  /** What there is before any server is connected. */
  readonly unconnected: LoadedTools;
}

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
export function createMcpTools(settings: readonly McpServerOptions[]): McpTools {
  const servers = settings.map((options) => new McpServer(options));
  const nameTool = createToolNames();

  /** @param own The names of the other tools of the graph. */
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
        const reason = isError(outcome?.reason) ? outcome.reason.message : String(outcome?.reason);
        events.push({ type: "mcp-server-failed", server: server.name, reason });
      }
    }
    return { tools, events };
  }

  const reason = "it is not connected yet";
  const events = servers.map(({ name: server }) => ({ type: "mcp-server-failed" as const, server, reason }));
  return {
    load,
    unconnected: { tools: [], events },
    close: async () => {
      await Promise.all(servers.map((server) => server.close()));
    },
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
