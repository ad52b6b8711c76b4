/** The graph that `langgraph.json` names. */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { StructuredToolInterface } from "@langchain/core/tools";
import type { ServerRuntime } from "@langchain/langgraph-sdk";
import { getLogger } from "@langchain/langgraph-sdk/logging";
import type { AgentGraph } from "../src/agent/graph/agent-graph.js";
import { createAgentGraph } from "../src/agent/graph/create-agent-graph.js";
import { cachedCreateModel } from "../src/providers/models/create-model.js";
import { textIn } from "../src/shared/values.js";
import { servedRunOf } from "../src/threads/langgraph/run-host.js";
import { access } from "./access/access.js";
import { userLabel, withOwnedStore } from "./access/owned-store.js";
import { noteBegun, refuseReservedNames } from "./http/protect-server.js";
import { connectMcpServers } from "./mcp.js";
import { createServedModel } from "./offline/create-model.js";
import { readSettings } from "./settings.js";
import { createDeployTools } from "./tools/create-tools.js";

const { options, weather } = readSettings(process.env);
/** Each run has its own graph, but all graphs share their models and their connections to MCP servers. */
const createModel = cachedCreateModel(createServedModel);
const mcp = connectMcpServers(process.env, (text) => getLogger().warn(text));

function build(ofServers: readonly StructuredToolInterface[]): AgentGraph {
  const tools = [...createDeployTools(weather), ...ofServers];
  const missing = mcp.prefixes.filter((prefix) => !tools.some(({ name }) => name.startsWith(prefix)));
  const given = options.requireApproval;
  // A name that no tool has is refused, unless a missing server may have the tool.
  const requireApproval = Array.isArray(given)
    ? given.filter((name) => !missing.some((prefix) => name.startsWith(prefix)))
    : given;
  const middleware = requireApproval === undefined ? [] : [refuseReservedNames];
  return createAgentGraph({ ...options, requireApproval, middleware, createModel, tools });
}

// Built once at the start, so that an invalid setting stops the server from starting.
const first = build([]);

/**
 * A factory, so that each run has its own graph. The server sets the checkpointer and the store on the graph object.
 * Concurrent runs on one shared object could overwrite each other's.
 *
 * What the graph keeps in the store, such as notes and inboxes, belongs to the run's authenticated user.
 */
export const graph = async (config?: RunnableConfig, runtime?: ServerRuntime): Promise<AgentGraph> => {
  const run = servedRunOf(config, runtime);
  if (run !== undefined) noteBegun(run);
  // Without MCP servers, a copy has everything that a run needs for itself.
  const built = mcp.prefixes.length === 0 ? first.withConfig({}) : build(await mcp.load());
  if (access.kind === "open") return built;
  // A server with users overwrites what a client says here.
  return withOwnedStore(built, userLabel(textIn(config?.configurable, "langgraph_auth_user_id")));
};
