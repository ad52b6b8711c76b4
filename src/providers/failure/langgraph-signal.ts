/**
 * LangGraph uses errors for control flow. Its own checks of an error throw for null, so these check for an object
 * first.
 */

import { type Interrupt, isGraphBubbleUp, isGraphInterrupt } from "@langchain/langgraph";
import { isRecord } from "../../shared/values.js";

/** Whether a thrown value is one of LangGraph's control-flow errors, such as an interrupt. */
export function isLangGraphSignal(error: unknown): boolean {
  return isRecord(error) && isGraphBubbleUp(error);
}

/** Whether a run was stopped with its `RunControl`. */
export function isDrained(error: unknown): boolean {
  return isLangGraphSignal(error) && Reflect.get(Object(error), "name") === "GraphDrained";
}

/** The interrupts in a thrown value; empty if it is not an interrupt. */
export function interruptsOf(error: unknown): readonly Interrupt[] {
  return isRecord(error) && isGraphInterrupt(error) ? error.interrupts : [];
}
