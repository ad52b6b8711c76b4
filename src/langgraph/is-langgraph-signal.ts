/** LangGraph steers with errors of its own. Its checks read a field of whatever they are given, also of null. */

import { type Interrupt, isGraphBubbleUp, isGraphInterrupt } from "@langchain/langgraph";
import { isRecord } from "../shared/is-record.js";

/** Whether LangGraph steers with what was thrown, as by an interrupt. */
export function isLangGraphSignal(error: unknown): boolean {
  return isRecord(error) && isGraphBubbleUp(error);
}

/** What a node that threw this waits for. */
export function interruptsOf(error: unknown): readonly Interrupt[] {
  return isRecord(error) && isGraphInterrupt(error) ? error.interrupts : [];
}
