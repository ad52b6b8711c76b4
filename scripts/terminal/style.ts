import { styleText } from "node:util";

type Format = "bold" | "dim" | "red" | "green" | "yellow" | "cyan";

/** Text in a colour or a weight. */
export type Style = (format: Format, text: string) => string;

/** Colours for a terminal. Plain text for files and pipes, and if `NO_COLOR` is set. */
export function createStyle(stream: { readonly isTTY?: boolean }): Style {
  const isPlain = stream.isTTY !== true || Boolean(process.env["NO_COLOR"]);
  return isPlain ? (_format, text) => text : styleText;
}

/** The number of columns to fill: those of the terminal, at most 100. */
export function readWidth({ columns = 96 }: { readonly columns?: number }): number {
  return Math.max(40, Math.min(columns, 100));
}

/** One line of at most `width` characters. */
export function toLine(text: string, width: number): string {
  const characters = [...text.replace(/\s+/gu, " ").trim()];
  return characters.length <= width ? characters.join("") : `${characters.slice(0, width - 1).join("")}…`;
}
