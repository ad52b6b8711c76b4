/** Derives ids of tool calls: the model stays deterministic, and every call of a thread gets a different id. */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../history/messages/call.js";
import { isResult } from "../history/messages/result.js";
import { hashText } from "../shared/hash-text.js";
import type { PlannedCall } from "./find-calls.js";

export interface IdentifiedCall extends PlannedCall {
  /** At most 40 characters of `[A-Za-z0-9_-]`, which every provider accepts. */
  readonly id: string;
}

/** Gives ids to the calls of the response to these messages. */
export function identifyCalls(
  calls: readonly PlannedCall[],
  messages: readonly BaseMessage[],
): IdentifiedCall[] {
  // The ids of the messages count too. Two requests of one thread can have the same text and the same history
  // before them after summaries and limits have shortened it.
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
    isAIMessage(message) ? message.tool_calls : undefined,
    isResult(message) ? message.tool_call_id : undefined,
  ];
}
