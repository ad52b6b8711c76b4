import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";

/**
 * The history, for a task that was sent something else than the state: LangGraph's own reader of channels gives it.
 * Undefined for a node that is run alone.
 */
export function readHistory(config: LangGraphRunnableConfig): { messages: BaseMessage[] } | undefined {
  const read: unknown = config.configurable?.["__pregel_read"];
  return typeof read === "function" ? read(["messages"]) : undefined;
}
