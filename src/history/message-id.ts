/** Ids for messages that come without one: derived, so that a replay of the same writes gives the same thread. */

import type { BaseMessage } from "@langchain/core/messages";
import { hashText } from "../shared/hash-text.js";
import { toJson } from "../shared/to-json.js";

/**
 * A hash of what precedes the message, what it is, and what it says. `salt` tells apart messages for which all
 * of that is the same.
 */
export function deriveId(message: BaseMessage, previousId: string, salt = 0): string {
  const calls = "tool_calls" in message ? message.tool_calls : undefined;
  const answers = "tool_call_id" in message ? message.tool_call_id : undefined;
  // What cannot be written as JSON is told apart by its type and its place alone.
  const parts = [previousId, salt, message.type, message.name, message.content, calls, answers].map(
    (part) => toJson(part) ?? typeof part,
  );
  return hashText(parts.join("\n")).slice(0, 32);
}

/** A derived id that is not taken. */
export function deriveUnusedId(
  message: BaseMessage,
  previousId: string,
  isTaken: (id: string) => boolean,
): string {
  for (let salt = 0; ; salt += 1) {
    const id = deriveId(message, previousId, salt);
    if (!isTaken(id)) return id;
  }
}
