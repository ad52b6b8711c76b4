/** The graph that `langgraph.json` names. */

import type { AgentGraph } from "../graph/agent-graph.js";
import { createAgentGraph } from "../graph/create-agent-graph.js";
import { withStartEvents } from "../graph/start-events.js";
import { cachedCreateModel } from "../providers/models/cached-create-model.js";
import { approvalNames } from "./mcp/approval-names.js";
import { createMcpTools, type LoadedTools } from "./mcp/create-mcp-tools.js";
import { readMcpServers } from "./mcp/read-mcp-file.js";
import { readSettings } from "./settings.js";
import { createDeployTools } from "./tools/create-deploy-tools.js";

const { options, weather } = readSettings(process.env);
/** Each run has its own graph, but all graphs share their models and their connections to MCP servers. */
const createModel = cachedCreateModel();
const servers = readMcpServers(process.env);
const mcp = createMcpTools(
  servers.map((server) => ({
    ...server,
    defaultToolTimeout: server.defaultToolTimeout ?? options.toolTimeoutMs,
  })),
);

function build({ tools, events }: LoadedTools): AgentGraph {
  const own = createDeployTools(weather);
  const requireApproval = approvalNames(
    options.requireApproval,
    own.map(({ name }) => name),
    { tools, events },
  );
  return withStartEvents(
    createAgentGraph({
      ...options,
      requireApproval,
      createModel,
      tools: [...own, ...tools.map(({ tool }) => tool)],
    }),
    events,
  );
}

// Built once at the start, so that an invalid setting stops the server from starting. MCP servers connect later.
build(mcp.unconnected);

/**
 * A factory, so that each run has its own graph. The server sets the checkpointer and the store on the graph object.
 * Concurrent runs on one shared object could overwrite them for each other.
 */
export const graph = async (): Promise<AgentGraph> =>
  build(await mcp.load(createDeployTools(weather).map(({ name }) => name)));
