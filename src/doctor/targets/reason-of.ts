import { errorText } from "../error-text.js";

const LONGEST = 300;

/** The text of an error on one line, without its stack. */
export function reasonOf(error: unknown): string {
  const line = errorText(error).replaceAll(/\s+/g, " ").trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}
