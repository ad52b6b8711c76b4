/** Settings of the services of a graph: middleware, a checkpointer and a store. */

import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph";
import { listOf, objectWith } from "./rule.js";
import type { SettingsTable } from "./setting.js";

export const SERVICE_SETTINGS = {
  /** Middleware around runs, model calls and tool calls. The first one of a kind is the outermost. Default: none. */
  middleware: {
    ...listOf<unknown>("middleware"),
    help: "Middleware around runs, model calls and tool calls. The first one of a kind is the outermost. Default: none.",
    default: [],
  },
  /**
   * Where threads are saved. A LangGraph server brings its own, and without one a run remembers nothing. Default:
   * none.
   */
  checkpointer: {
    ...objectWith<BaseCheckpointSaver>("getTuple", "a checkpointer"),
    help: "Where threads are saved. A LangGraph server brings its own, and without one a run remembers nothing. Default: none.",
    default: undefined,
  },
  /** The long-term memory that tools may use. A LangGraph server brings its own. Default: none. */
  store: {
    ...objectWith<BaseStore>("search", "a store"),
    help: "The long-term memory that tools may use. A LangGraph server brings its own. Default: none.",
    default: undefined,
  },
} as const satisfies SettingsTable;
