/** The graph that `langgraph.json` names. */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { ServerRuntime } from "@langchain/langgraph-sdk";
import { type AgentGraph, withStartEvents } from "../src/agent/agent-graph.js";
import { createAgentGraph } from "../src/agent/create-agent-graph.js";
import { cachedCreateModel } from "../src/providers/models/create-model.js";
import { textIn } from "../src/shared/values.js";
import { servedRunOf } from "../src/threads/langgraph/run-host.js";
import { access, runOwners, serverSettings } from "./access/access.js";
import { userLabel, withOwnedStore } from "./access/owned-store.js";
import { refuseReservedNames } from "./http/protect-server.js";
import { allowedTools, approvalNames, createMcpTools, type LoadedTools } from "./mcp/create-mcp-tools.js";
import { readMcpServers } from "./mcp/read-mcp-file.js";
import { createServedModel } from "./offline/create-model.js";
import { readSettings } from "./settings.js";
import { createDeployTools } from "./tools/create-tools.js";

const { options, weather } = readSettings(process.env);
/** Each run has its own graph, but all graphs share their models and their connections to MCP servers. */
const createModel = cachedCreateModel(createServedModel);
const servers = readMcpServers(process.env);
const mcp = createMcpTools(
  servers.map((server) => ({
    ...server,
    defaultToolTimeout: server.defaultToolTimeout ?? options.toolTimeoutMs,
  })),
);

function build(loaded: LoadedTools): AgentGraph {
  const own = createDeployTools(weather);
  const requireApproval = approvalNames(
    options.requireApproval,
    own.map(({ name }) => name),
    loaded,
  );
  return withStartEvents(
    createAgentGraph({
      ...options,
      requireApproval,
      middleware: requireApproval === undefined ? [] : [refuseReservedNames],
      createModel,
      tools: allowedTools(serverSettings.ALLOWED_TOOLS, own, loaded),
    }),
    loaded.events,
  );
}

// Built once at the start, so that an invalid setting stops the server from starting. MCP servers connect later.
const first = build(mcp.unconnected);

/** The tools of MCP servers can change at any time. Without such servers a copy has all that a run needs of its own. */
async function buildForRun(): Promise<AgentGraph> {
  if (servers.length === 0) return first.withConfig({});
  return build(await mcp.load(createDeployTools(weather).map(({ name }) => name)));
}

/**
 * A factory, so that each run has its own graph. The server sets the checkpointer and the store on the graph object.
 * Concurrent runs on one shared object could overwrite them for each other.
 *
 * What the graph keeps in the store, such as notes, archives and inboxes, belongs to the authenticated user of the run.
 */
export const graph = async (config?: RunnableConfig, runtime?: ServerRuntime): Promise<AgentGraph> => {
  const run = servedRunOf(config, runtime);
  if (run !== undefined) runOwners.begin(run);
  const built = await buildForRun();
  return access.kind === "users" ? withOwnedStore(built, userLabel(userOf(config))) : built;
};

/** The server overwrites what a client says here, if it has users. Otherwise it is not read. */
function userOf(config: RunnableConfig | undefined): string | undefined {
  return textIn(config?.configurable, "langgraph_auth_user_id");
}
