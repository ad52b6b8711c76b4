import type { RunnableConfig } from "@langchain/core/runnables";

/** LangGraph's name, in the metadata of a task, for the number of its superstep in the thread. Not exported. */
const STEP = "langgraph_step";

/** The superstep of a task; undefined for a node that is run alone. */
export function stepOf(config: RunnableConfig): number | undefined {
  const step: unknown = config.metadata?.[STEP];
  return typeof step === "number" ? step : undefined;
}
