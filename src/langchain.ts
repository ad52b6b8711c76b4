/**
 * The entry `langgraph-tether/langchain`: middleware for agents that are made with LangChain. It needs the package
 * `langchain`, which the other entries do not need.
 */

import "./shared/check-node.js";

export type { TetherMiddlewareOptions, TetherSummaryOptions } from "./langchain/options.js";
export { tetherMiddleware } from "./langchain/tether-middleware.js";
export { type TetherStateOptions, tetherState } from "./langchain/tether-state.js";
export type { EventPlace } from "./threads/events.js";
