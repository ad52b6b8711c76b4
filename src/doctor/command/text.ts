/** Texts for a terminal. */

import { contentText } from "../../history/message.js";
import { coerceMessage } from "../../history/read-messages.js";
import type { StoredThread } from "../thread-store.js";
import type { CommandIo } from "./command-io.js";

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

/** The columns of a line. Terminals of operators are often this wide. */
const WIDTH = 80;

/** The text in lines of 80 columns, each with this indent. A longer word has a line of its own. */
export function wrapText(text: string, indent: string, hanging = indent): string {
  const lines: string[] = [];
  let line = indent;
  let isEmpty = true;
  for (const word of text.split(/\s+/)) {
    if (!isEmpty && line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = hanging;
      isEmpty = true;
    }
    line += isEmpty ? word : ` ${word}`;
    isEmpty = false;
  }
  return [...lines, line].join("\n");
}

/**
 * A command line, at most 80 columns wide as far as its words allow. Each line but the last ends with a backslash, so
 * that it can be pasted.
 */
export function wrapCommand(command: string, indent: string): string {
  // A quoted word stays whole, and an option and its value stay on one line.
  const words = command.match(WORDS) ?? [];
  const whole = words.map((word) => word.replaceAll(" ", JOINT)).join(" ");
  const kept = whole.replaceAll(/(--[\w-]+) (?!--)/g, `$1${JOINT}`);
  return wrapText(kept, indent, `${indent}  `).replaceAll("\n", " \\\n").replaceAll(JOINT, " ");
}

const JOINT = "\u0001";
/** The words of a command, as a shell divides it. */
const WORDS = /(?:\\.|\$'(?:\\.|[^'\\])*'|'[^']*'|"[^"]*"|[^\s'"])+/g;

/** How often the line is written again. */
const INTERVAL_MS = 200;
const CLEAR = "\r\u001b[K";

interface Progress {
  readonly count: () => Promise<void>;
  /** Contract: removes the line, and says how long it took. */
  readonly end: () => Promise<void>;
}

/** A line on the terminal that says how many threads were read. Nothing is written to a pipe or a file. */
export function startProgress({ errors, now }: Pick<CommandIo, "errors" | "now">, quiet: boolean): Progress {
  const start = now();
  let threads = 0;
  let shown = start;
  const line = (): string => {
    const seconds = (now() - start) / 1000;
    const rate = seconds > 0 ? Math.round(threads / seconds) : threads;
    return `${amount(threads, "thread")} · ${Math.round(seconds)} s · ${rate.toLocaleString("en-US")} threads/s`;
  };
  const isShown = errors.isTerminal && !quiet;
  return {
    count: async () => {
      threads += 1;
      if (!isShown || now() - shown < INTERVAL_MS) return;
      shown = now();
      await errors.write(`${CLEAR}${line()}`);
    },
    end: async () => {
      if (isShown) await errors.write(`${CLEAR}${line()}\n`);
    },
  };
}

/** A number with its noun: `1 thread`, `1,204 threads`. */
export function amount(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}

const LONGEST = 120;

/** The beginning of a message of the thread, on one line; empty if it has no text. */
export function excerptOf({ content }: StoredThread, index: number): string {
  const values = "messages" in content ? (content.messages ?? []) : [];
  const message = coerceMessage(values[index]);
  const text = message === undefined ? "" : contentText(message).replaceAll(/\s+/g, " ").trim();
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
