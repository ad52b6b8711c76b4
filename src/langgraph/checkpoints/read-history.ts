import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { isRecord } from "../../shared/is-record.js";
import { readChannels } from "../run-host.js";

/**
 * The history at the beginning of a task's superstep, for a task whose input is not the state. Undefined for a node
 * that runs outside a graph.
 */
export function readHistory(config: RunnableConfig): { messages: BaseMessage[] } | undefined {
  const state = readChannels(config, ["messages"]);
  return isRecord(state) && Array.isArray(state["messages"]) ? { messages: state["messages"] } : undefined;
}
