/**
 * Conversations of gpt-4o with the shape of recorded ones. The roles, call ids, results and lengths are recorded. The
 * words are made up. `scripts/write-recorded-shapes.ts` documents where the shapes come from.
 */

import { readFileSync } from "node:fs";

export interface RecordedMessage {
  readonly role: "system" | "user" | "assistant" | "tool";
  readonly content: string | null;
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: "function";
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
  readonly tool_call_id?: string;
  readonly name?: string;
}

/**
 * The messages of a conversation, separated by spaces. A text is its role's letter and its length: `s` system, `u`
 * user, `a` assistant. A message with a call is `c` with the numbers of the call's id and tool, the length of its
 * arguments and that of the text. A result is `r` with the same two numbers and the length of its text.
 */
type Shape = string;

const SHAPES: readonly Shape[] = JSON.parse(
  readFileSync(new URL("recorded-shapes.json", import.meta.url), "utf8"),
);
const EMPTY_TEXT_ARGUMENT = '{"text":""}';

export const recordedConversations: readonly (readonly RecordedMessage[])[] = SHAPES.map(
  (shape, conversation) =>
    shape.split(" ").map((message, index) => messageOf(message, `${conversation}.${index}`)),
);

/** @param name The beginning of the text, so that texts of the same role differ. */
function messageOf(shape: string, name: string): RecordedMessage {
  const [first = 0, tool = 0, length = 0, textLength = 0] = shape.slice(1).split(".").map(Number);
  switch (shape[0]) {
    case "s":
      return { role: "system", content: textOfLength(first, name) };
    case "u":
      return { role: "user", content: textOfLength(first, name) };
    case "a":
      return { role: "assistant", content: textOfLength(first, name) };
    case "c": {
      const called = { name: `tool_${tool}`, arguments: argumentsOfLength(length, name) };
      return {
        role: "assistant",
        content: textLength === 0 ? null : textOfLength(textLength, name),
        tool_calls: [{ id: idOf(first), type: "function", function: called }],
      };
    }
    case "r":
      return {
        role: "tool",
        tool_call_id: idOf(first),
        name: `tool_${tool}`,
        content: textOfLength(length, name),
      };
    default:
      throw new Error(`There is no message of the shape ${shape}.`);
  }
}

/** An id with the length of OpenAI's ids. */
function idOf(number: number): string {
  return `call_${String(number).padStart(24, "0")}`;
}

/** A text with numbered words, so that a missing piece is noticed. */
function textOfLength(length: number, name: string): string {
  const words = Array.from({ length: Math.ceil(length / 2) }, (_, index) => index);
  return [name, ...words].join(" ").slice(0, length).replace(/ $/, ".");
}

function argumentsOfLength(length: number, name: string): string {
  if (length < EMPTY_TEXT_ARGUMENT.length) return "{}";
  return JSON.stringify({ text: textOfLength(length - EMPTY_TEXT_ARGUMENT.length, name) });
}
