/** Derives ids for messages without one, so that a replay of the same writes gives the same thread. */

import type { BaseMessage } from "@langchain/core/messages";
import { hashText } from "../../shared/hash-text.js";
import { toJson } from "../../shared/to-json.js";

/**
 * A hash of the previous message's id, the message's type and its content. `salt` distinguishes messages for
 * which all of these are equal.
 */
export function deriveId(message: BaseMessage, previousId: string, salt = 0): string {
  const calls = "tool_calls" in message ? message.tool_calls : undefined;
  const answeredCallId = "tool_call_id" in message ? message.tool_call_id : undefined;
  // A part that cannot be written as JSON counts by its type only.
  const parts = [previousId, salt, message.type, message.name, message.content, calls, answeredCallId].map(
    (part) => toJson(part) ?? typeof part,
  );
  return hashText(parts.join("\n")).slice(0, 32);
}

/**
 * The id of a placeholder. It is not hashed: its parts are short, they say all that distinguishes it from other messages,
 * and a list can need thousands of placeholders.
 *
 * @param place Identifies the call among all calls of its list.
 */
export function placeholderId(place: string, cause: string, callId: string): string {
  return `placeholder:${place}:${cause}:${callId}`;
}

/** Whether this library has derived the id. Ids of LangGraph and of providers have another form. */
export function isDerivedId(id: string | undefined): boolean {
  return id !== undefined && /^([0-9a-f]{32}$|placeholder:)/.test(id);
}

/** A derived id that is not yet taken. */
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
