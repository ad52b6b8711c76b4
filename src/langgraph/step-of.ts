import type { RunnableConfig } from "@langchain/core/runnables";

/** The field of a task's metadata that has the number of its superstep in the thread. Not exported. */
const STEP = "langgraph_step";

/** The number of a task's superstep; undefined for a node that runs outside a graph. */
export function stepOf(config: RunnableConfig): number | undefined {
  const step: unknown = config.metadata?.[STEP];
  return typeof step === "number" ? step : undefined;
}
