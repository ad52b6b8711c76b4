/** The graph that `langgraph.json` names. */

import { createAgentGraph } from "../graph/create-agent-graph.js";
import { cachedCreateModel } from "../providers/models/cached-create-model.js";
import { readSettings } from "./settings.js";
import { createDeployTools } from "./tools/create-deploy-tools.js";

const { options, weather } = readSettings(process.env);
/** Each run has its own graph, but all graphs share their models. */
const createModel = cachedCreateModel();

const build = () => createAgentGraph({ ...options, createModel, tools: createDeployTools(weather) });

// Built once at the start, so that an invalid setting stops the server from starting.
build();

/**
 * A factory, so that each run has its own graph. The server sets the checkpointer and the store on the graph object.
 * Concurrent runs on one shared object could overwrite them for each other.
 */
export const graph = build;
