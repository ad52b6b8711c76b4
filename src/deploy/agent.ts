/** The graph of `langgraph.json`. */

import { createAgentGraph } from "../graph/create-agent-graph.js";
import { cachedCreateModel } from "../providers/models/cached-create-model.js";
import { readSettings } from "./settings.js";
import { createDeployTools } from "./tools/create-deploy-tools.js";

const { options, weather } = readSettings(process.env);
/** Each run has a graph of its own, and all of them share their models. */
const createModel = cachedCreateModel();

const build = () => createAgentGraph({ ...options, createModel, tools: createDeployTools(weather) });

// The server does not start with a setting that cannot be used.
build();

/**
 * A factory, so that each run has a graph of its own. The server sets checkpointer and store on the object that it
 * gets, and concurrent runs of one shared object could lose them to each other.
 */
export const graph = build;
