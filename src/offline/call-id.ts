/** Ids of calls: derived, so that the model is deterministic, yet different for every call of a thread. */

import { AIMessage, type BaseMessage, ToolMessage } from "@langchain/core/messages";
import { hashText } from "../shared/hash-text.js";
import type { PlannedCall } from "./find-calls.js";

export interface IdentifiedCall extends PlannedCall {
  /** At most 40 characters of `[A-Za-z0-9_-]`, which every provider takes. */
  readonly id: string;
}

/** Gives ids to the calls that answer these messages. */
export function identifyCalls(
  calls: readonly PlannedCall[],
  messages: readonly BaseMessage[],
): IdentifiedCall[] {
  // The ids of the messages count too: two requests of one thread can have the same words and the same history
  // before them, once summaries and limits have shortened it.
  const digest = hashText(messages.map((message) => JSON.stringify(essenceOf(message))).join("")).slice(
    0,
    20,
  );
  return calls.map(({ name, args }, position) => ({ id: `call_${digest}_${position}`, name, args }));
}

function essenceOf(message: BaseMessage): unknown {
  return [
    message.type,
    message.id,
    message.content,
    message instanceof AIMessage ? message.tool_calls : undefined,
    message instanceof ToolMessage ? message.tool_call_id : undefined,
  ];
}
