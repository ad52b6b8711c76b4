import type { RunnableConfig } from "@langchain/core/runnables";

/** The fields of a task's metadata with the number of its superstep in the thread, and with its node. Not exported. */
const STEP = "langgraph_step";
const NODE = "langgraph_node";

/** The number of a task's superstep; undefined for a node that runs outside a graph. */
export function stepOf(config: RunnableConfig): number | undefined {
  const step: unknown = config.metadata?.[STEP];
  return typeof step === "number" ? step : undefined;
}

/** The name of a task's node; undefined outside a graph. */
export function nodeOf({ metadata }: RunnableConfig): unknown {
  return metadata?.[NODE];
}
