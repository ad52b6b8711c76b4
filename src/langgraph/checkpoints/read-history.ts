import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { isRecord } from "../../shared/is-record.js";
import { readChannels } from "../run-host.js";

/**
 * The history at the beginning of a task's superstep, for a task whose input is not the state. Undefined for a node
 * that runs outside a graph.
 */
export function readHistory(config: RunnableConfig): { messages: BaseMessage[] } | undefined {
  return readState(config, []);
}

/** The same, with the values of these keys of the state. A key without a value is left out. */
export function readState(
  config: RunnableConfig,
  keys: readonly string[],
): { messages: BaseMessage[]; [key: string]: unknown } | undefined {
  const state = readChannels(config, ["messages", ...keys]);
  return isRecord(state) && Array.isArray(state["messages"])
    ? { ...state, messages: state["messages"] }
    : undefined;
}
