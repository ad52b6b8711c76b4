import { createStyle, readWidth, type Style } from "../terminal/style.js";

/** What the account is written on. */
export interface Page {
  readonly style: Style;
  readonly width: number;
  readonly write: (text: string) => void;
  readonly line: (text?: string) => void;
  /** Text that is broken into lines between words. */
  readonly paragraph: (text: string) => void;
  readonly heading: (text: string) => void;
}

export function createPage(stream: NodeJS.WriteStream): Page {
  const style = createStyle(stream);
  const width = readWidth(stream);
  const write = (text: string) => {
    stream.write(text);
  };
  const line = (text = "") => write(`${text}\n`);
  return {
    style,
    width,
    write,
    line,
    paragraph: (text) => {
      for (const part of breakLines(text, width)) line(part);
    },
    heading: (text) => {
      line();
      line(style("bold", text));
      line(style("dim", "─".repeat(Math.min(width, text.length))));
    },
  };
}

function breakLines(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/u)) {
    const last = lines.at(-1);
    if (last !== undefined && last.length + 1 + word.length <= width) lines.splice(-1, 1, `${last} ${word}`);
    else lines.push(word);
  }
  return lines;
}
