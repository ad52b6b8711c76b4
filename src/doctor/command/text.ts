/** Texts for a terminal. */

import { styleText } from "node:util";
import { contentText } from "../../history/message.js";
import { coerceMessage } from "../../history/read-messages.js";
import { oneLine, printableLine } from "../../shared/text.js";
import { madeOnce } from "../../shared/values.js";
import { type StoredThread, storedListOf } from "../thread-store.js";

const COLOURS = { "✗": "red", "!": "yellow", "✓": "green", "→": "cyan", "·": "dim" } as const;

/** The report with colours: its head, and the marks of its lines with the ids that they are about. */
export function withColours(report: string): string {
  const styled = (style: Parameters<typeof styleText>[0], text: string) =>
    styleText(style, text, { validateStream: false });
  return report
    .replace(/^tether .*$/m, (head) => styled("bold", head))
    .replaceAll(/^ {2}([✗!✓→·]) (.*)$/gm, (_, mark: keyof typeof COLOURS, rest: string) => {
      return `  ${styled(COLOURS[mark], mark)} ${mark === "·" ? rest : styled("bold", rest)}`;
    });
}

/** A word of a command line, as a shell takes it. One with control characters is in the form of bash and zsh. */
export function quoted(word: string): string {
  const escaped = printableLine(word.replaceAll(/[\\']/g, "\\$&"));
  if (printableLine(word) !== word) return `$'${escaped}'`;
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** What is said of one thread: a mark, its name, and lines below. */
export const entryText = (mark: keyof typeof COLOURS, name: string, lines: readonly string[]): string =>
  `${[`  ${mark} ${printableLine(name)}`, ...lines].join("\n")}\n`;

/** The columns of a line. Terminals of operators are often this wide. */
export const WIDTH = 80;

/** The text in lines of 80 columns, each with this indent. A longer word has a line of its own. */
export function wrapText(text: string, indent: string, hanging = indent): string {
  return wrapWords(text.split(/\s+/), indent, hanging).join("\n");
}

/**
 * What can be done next, with a command line that can be pasted.
 *
 * @param parts What stays on one line, such as an option with its value.
 */
export function nextCommand(title: string, parts: readonly string[]): string {
  return `\n  ${title}\n${wrapWords(parts, "    ", "      ").join(" \\\n")}\n`;
}

function wrapWords(words: readonly string[], indent: string, hanging: string): string[] {
  const lines: string[] = [];
  for (const word of words) {
    const line = lines.at(-1);
    if (line === undefined) lines.push(`${indent}${word}`);
    else if (line.length + 1 + word.length > WIDTH) lines.push(`${hanging}${word}`);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}

const LONGEST = 120;

/**
 * Makes the function that gives the beginning of a message of the thread, on one line; empty if it has no text. Many
 * findings can be about one message, so each is read once.
 */
export function excerptsOf(thread: StoredThread): (index: number) => string {
  const known = new Map<number, string>();
  return (index) =>
    madeOnce(known, index, () => {
      const message = coerceMessage(storedListOf(thread)?.[index]);
      const text = message === undefined ? "" : contentText(message);
      return oneLine(text, LONGEST);
    });
}
