/** Texts for a terminal. */

import { contentText } from "../../history/message.js";
import { coerceMessage } from "../../history/read-messages.js";
import { type StoredThread, valuesOf } from "../thread-store.js";

/** Characters that move the cursor, change colours, or turn the direction of the text. A line break and a tab are not among them. */
const CONTROLS = /[^\P{Cc}\n\t]|[\u200e\u200f\u2028-\u202e\u2066-\u2069]/gu;

/**
 * The text with `\u001b` in place of an escape character, and so on. Ids and names of tools come from clients and models,
 * and a terminal must not obey them. JSON stays the same JSON.
 */
export function printable(text: string): string {
  return text.replaceAll(CONTROLS, escapeOf);
}

/** The same on one line. */
export function printableLine(text: string): string {
  return printable(text).replaceAll(/[\n\t]/g, escapeOf);
}

function escapeOf(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** A word of a command line, as a shell takes it. One with control characters is in the form of bash and zsh. */
export function quoted(word: string): string {
  const escaped = printableLine(word.replaceAll(/[\\']/g, "\\$&"));
  if (printableLine(word) !== word) return `$'${escaped}'`;
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** The columns of a line. Terminals of operators are often this wide. */
export const WIDTH = 80;

/** The text in lines of 80 columns, each with this indent. A longer word has a line of its own. */
export function wrapText(text: string, indent: string, hanging = indent): string {
  return wrapWords(text.split(/\s+/), indent, hanging).join("\n");
}

/** A command line as lines that can be pasted. @param parts What stays on one line, such as an option with its value. */
export function wrapCommand(parts: readonly string[], indent: string): string {
  return wrapWords(parts, indent, `${indent}  `).join(" \\\n");
}

function wrapWords(words: readonly string[], indent: string, hanging: string): string[] {
  const lines: string[] = [];
  let line: string | undefined;
  for (const word of words) {
    if (line !== undefined && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = `${hanging}${word}`;
    } else line = line === undefined ? `${indent}${word}` : `${line} ${word}`;
  }
  return line === undefined ? lines : [...lines, line];
}

/** A number with its noun: `1 thread`, `1,204 threads`. */
export function amount(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}

const LONGEST = 120;

/** The beginning of a message of the thread, on one line; empty if it has no text. */
export function excerptOf(thread: StoredThread, index: number): string {
  const message = coerceMessage(valuesOf(thread)?.[index]);
  const text = message === undefined ? "" : contentText(message).replaceAll(/\s+/g, " ").trim();
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
