import { isGraphBubbleUp } from "@langchain/langgraph";
import { isRecord } from "../shared/is-record.js";

/** Whether LangGraph steers with what was thrown, as by an interrupt. Its own check reads a field of whatever it is given. */
export function isLangGraphSignal(error: unknown): boolean {
  return isRecord(error) && isGraphBubbleUp(error);
}
