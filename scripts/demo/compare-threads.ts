import type { Message } from "@langchain/langgraph-sdk";
import { callsOf } from "../terminal/describe.js";

/** A message of the thread as it is, with its number, or one that has left it. */
export interface ComparedMessage {
  readonly kind: "kept" | "added" | "removed";
  readonly message: Message;
  /** Undefined for a message that has left. */
  readonly number: number | undefined;
}

/** What has changed between two states of a thread, in which messages never change their order. */
export function compareThreads(before: readonly Message[], after: readonly Message[]): ComparedMessage[] {
  const left = after.map(keyOf);
  const compared: ComparedMessage[] = [];
  let position = 0;
  const addUntil = (end: number) => {
    for (; position < end; position += 1) {
      const message = after[position];
      if (message !== undefined) compared.push({ kind: "added", message, number: position + 1 });
    }
  };
  for (const message of before) {
    const found = left.indexOf(keyOf(message), position);
    if (found === -1) {
      compared.push({ kind: "removed", message, number: undefined });
      continue;
    }
    addUntil(found);
    compared.push({ kind: "kept", message, number: found + 1 });
    position = found + 1;
  }
  addUntil(after.length);
  return compared;
}

/** What a message says: ids may be given to it later. */
function keyOf(message: Message): string {
  const calls = message.type === "ai" ? callsOf(message).map(({ id }) => id) : [];
  const answers = message.type === "tool" ? message.tool_call_id : undefined;
  return JSON.stringify([message.type, message.content, calls, answers]);
}
