import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { isRecord } from "../shared/is-record.js";
import { readChannels } from "./run-host.js";

/**
 * The history, for a task that was sent something else than the state: what its superstep began with. Undefined for a
 * node that is run alone.
 */
export function readHistory(config: LangGraphRunnableConfig): { messages: BaseMessage[] } | undefined {
  const state = readChannels(config, ["messages"]);
  return isRecord(state) && Array.isArray(state["messages"]) ? { messages: state["messages"] } : undefined;
}
