import { type Interrupt, isGraphBubbleUp, isGraphInterrupt } from "@langchain/langgraph";
import { safely } from "./json.js";
import { isRecord } from "./values.js";

/** Whether a value is an error. Recognised by its form, because each realm of a process has its own `Error`. */
export function isError(value: unknown): value is Error {
  return (
    isRecord(value) &&
    typeof value["name"] === "string" &&
    typeof value["message"] === "string" &&
    "stack" in value
  );
}

/** Whether a tool only tells that it was aborted. This says nothing about the call that its run does not say. */
export function isOfAbort(error: unknown, signal: AbortSignal | undefined): boolean {
  if (signal?.aborted !== true) return false;
  return safely(() => {
    const { name, message, cause } = Object(error);
    const isReason = [error, message, cause].includes(signal.reason);
    return isReason || /abort|cancel/i.test(`${name} ${message ?? error}`);
  }, false);
}

/*
 * LangGraph uses errors for control flow. Its own checks of an error throw for null, so these check for an object
 * first.
 */

/** Whether a thrown value is one of LangGraph's control-flow errors, such as an interrupt. */
export function isLangGraphSignal(error: unknown): boolean {
  return isRecord(error) && isGraphBubbleUp(error);
}

/** The interrupts in a thrown value; empty if it is not an interrupt. */
export function interruptsOf(error: unknown): readonly Interrupt[] {
  return isRecord(error) && isGraphInterrupt(error) ? error.interrupts : [];
}
