/** The parts of a client's error that can be kept and shown. */

import { isError } from "../../shared/is-error.js";
import type { Redact } from "./redact.js";

/** Fields with the kind of the error. All other fields may hold the request, its headers or the client. */
const CODES = ["status", "code", "type", "param", "lc_error_code", "requestID"] as const;

const LONGEST_CHAIN = 5;
const LONGEST_MESSAGE = 2000;
const LONGEST_TEXT = 500;
/** The text of OpenAI's client for a body that is not in OpenAI's form. */
const NO_BODY = "status code (no body)";
/** What {@link providerTextOf} says in its place. */
export const NO_REASON = "no reason given";

/** A copy of an error and of its causes: name, texts and codes without keys, and stack. */
export function toPlainError(error: unknown, redact: Redact, depth = 0): Error {
  const read = (field: string): unknown => Reflect.get(Object(error), field);
  const isObject = typeof error === "object" && error !== null;
  const message = String(isObject ? read("message") || read("code") || "" : error);
  const inner = read("cause");
  const hasCause = typeof inner === "object" && inner !== null && depth < LONGEST_CHAIN;
  const plain = new Error(
    shorten(redact(message), LONGEST_MESSAGE),
    hasCause ? { cause: toPlainError(inner, redact, depth + 1) } : {},
  );
  // The OpenAI client leaves `name` as "Error"; the name is in the class.
  const name = read("name") === "Error" ? Object(error).constructor?.name : (read("name") ?? "Error");
  const frames = String(read("stack"))
    .split("\n")
    .filter((line) => /^\s+at /.test(line));
  Object.defineProperties(plain, {
    name: { value: String(name), configurable: true, writable: true },
    stack: { value: [`${name}: ${plain.message}`, ...frames].join("\n"), configurable: true, writable: true },
  });
  for (const field of CODES) {
    const value = read(field);
    if (typeof value === "number") Reflect.set(plain, field, value);
    if (typeof value === "string") Reflect.set(plain, field, redact(value));
  }
  return plain;
}

/** The provider's text, as one line. Some clients show its JSON, and some add their own words. */
export function providerTextOf(error: Error): string {
  const { message } = error;
  const json = message.slice(message.indexOf("{"), message.lastIndexOf("}") + 1);
  const text = (json === "" ? undefined : findMessage(parse(json))) ?? message;
  // OpenAI's and Anthropic's clients begin with the status.
  const begin = "status" in error && text.startsWith(`${error.status} `) ? `${error.status} `.length : 0;
  const words = text.slice(begin).replace(/\s*Troubleshooting URL: \S+\s*$/, "");
  const own = words === NO_BODY ? NO_REASON : words;
  const root = rootOf(error);
  const whole = root === error || own.includes(root.message) ? own : `${own} (${root.message})`;
  return shorten(whole.replace(/\s+/g, " ").trim(), LONGEST_TEXT);
}

/** The first cause of an error. It says most. */
export function rootOf(error: Error): Error {
  return isError(error.cause) ? rootOf(error.cause) : error;
}

/** The message in the JSON of an error. It is in `message` or `detail`, possibly within `error`. */
function findMessage(answer: unknown): string | undefined {
  if (typeof answer !== "object" || answer === null) return undefined;
  const read = (field: string): unknown => Reflect.get(answer, field);
  const own = [read("message"), read("detail"), read("error")].find((value) => typeof value === "string");
  return typeof own === "string" ? own : findMessage(read("error"));
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function shorten(text: string, longest: number): string {
  return text.length > longest ? `${text.slice(0, longest)}…` : text;
}
