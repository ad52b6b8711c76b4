/** Ids for messages that come without one: derived, so that a replay of the same writes gives the same thread. */

import { createHash } from "node:crypto";
import type { BaseMessage } from "@langchain/core/messages";

/**
 * A hash of what precedes the message, what it is, and what it says. `salt` tells apart messages for which all
 * of that is the same.
 */
export function deriveId(message: BaseMessage, previousId: string, salt = 0): string {
  const identity = [previousId, message.type, message.name, message.content, salt];
  const calls = "tool_calls" in message ? message.tool_calls : undefined;
  const answers = "tool_call_id" in message ? message.tool_call_id : undefined;
  return createHash("sha256")
    .update(stringify([...identity, calls, answers]))
    .digest("hex")
    .slice(0, 32);
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

/** What cannot be written as JSON (a cycle, a bigint) is told apart by its place and type alone. */
function stringify(value: unknown): string {
  try {
    return JSON.stringify(value);
  } catch {
    return Array.isArray(value)
      ? value.map((part) => (typeof part === "string" ? part : typeof part)).join("\n")
      : "";
  }
}
