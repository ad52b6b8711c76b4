import { toJson } from "./to-json.js";

const LONGEST_VALUE = 200;

/** The text of an error about a value that is not what it must be. */
export function refusalText(name: string, expectation: string, value: unknown): string {
  return `Expected \`${name}\` to be ${expectation}, got \`${formatValue(value)}\`.`;
}

function formatValue(value: unknown): string {
  if (typeof value === "function") return "a function";
  const text = typeof value === "number" ? String(value) : (toJson(value) ?? typeof value);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}
