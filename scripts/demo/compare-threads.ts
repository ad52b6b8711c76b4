import type { Message } from "@langchain/langgraph-sdk";
import { callsOf } from "./describe.js";

/** A message of the current thread with its number, or a message that was removed. */
export interface ComparedMessage {
  readonly kind: "kept" | "added" | "removed";
  readonly message: Message;
  /** Undefined for a removed message. */
  readonly number: number | undefined;
}

/** The changes between two states of a thread. Messages never change their order. */
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

/** The content of a message as a key, because ids can be added later. */
function keyOf(message: Message): string {
  const calls = message.type === "ai" ? callsOf(message).map(({ id }) => id) : [];
  const answers = message.type === "tool" ? message.tool_call_id : undefined;
  return JSON.stringify([message.type, message.content, calls, answers]);
}
