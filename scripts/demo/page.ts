/** The output of the demo: a terminal, a pipe or a file. */

import { stripVTControlCharacters, styleText } from "node:util";

type Format = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Text in a colour or a weight. */
export type Style = (format: Format, text: string) => string;

export interface Page {
  readonly style: Style;
  /** The columns to fill: those of the terminal, at most 100. */
  readonly width: number;
  readonly line: (text?: string) => void;
  /** Text that is wrapped between words. */
  readonly paragraph: (text: string) => void;
  readonly heading: (text: string) => void;
}

/** The parts of a stream that a page needs. */
export interface PageStream {
  readonly isTTY?: boolean;
  readonly columns?: number;
  write(text: string): unknown;
}

export function createPage(stream: PageStream): Page {
  const isPlain = stream.isTTY !== true || Boolean(process.env["NO_COLOR"]);
  const style: Style = isPlain ? (_format, text) => text : styleText;
  const width = Math.max(40, Math.min(stream.columns ?? 96, 100));
  const line = (text = ""): void => void stream.write(`${text}\n`);
  return {
    style,
    width,
    line,
    paragraph: (text) => line(wrapped(text, width)),
    heading: (text) => {
      line();
      line(style("bold", text));
      line(style("dim", "─".repeat(Math.min(width, text.length))));
    },
  };
}

/** Breaks a text between words. The next lines of a step are below its words, not below its sign. */
function wrapped(text: string, width: number): string {
  const indent = /^ *(?:✗ )?/.exec(stripVTControlCharacters(text))?.[0].length ?? 0;
  const lines: string[] = [];
  for (const word of text.split(/(?<=\S) /)) {
    const joined = `${lines.at(-1)} ${word}`;
    const isFirst = lines.length === 0;
    if (!isFirst && stripVTControlCharacters(joined).length <= width) lines[lines.length - 1] = joined;
    else lines.push(isFirst ? word : " ".repeat(indent) + word);
  }
  return lines.join("\n");
}
