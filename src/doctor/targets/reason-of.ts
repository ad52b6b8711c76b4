import { isError } from "../../shared/is-error.js";

const LONGEST = 300;

/** The text of an error on one line, without its stack. */
export function reasonOf(error: unknown): string {
  const text = isError(error) ? error.message || error.name : textOf(error);
  const line = text.replaceAll(/\s+/g, " ").trim();
  return line.length > LONGEST ? `${line.slice(0, LONGEST)}…` : line;
}

function textOf(value: unknown): string {
  const { message } = Object(value);
  return typeof message === "string" ? message : String(value);
}
