/** What a thrown value is, whichever copy of a library threw it. */

import { safely } from "./json.js";
import { isRecord } from "./values.js";

/** Whether a value is an error. Recognised by its form, because each realm of a process has its own `Error`. */
export function isError(value: unknown): value is Error {
  return (
    isRecord(value) &&
    typeof value["name"] === "string" &&
    typeof value["message"] === "string" &&
    "stack" in value
  );
}

/** What an error says; any other thrown value as a text. */
export function errorMessage(error: unknown): string {
  return isError(error) ? error.message : String(error);
}

/** Whether a tool only says that it was aborted. That adds nothing to what its run says about the call. */
export function isOfAbort(error: unknown, signal: AbortSignal | undefined): boolean {
  if (signal?.aborted !== true) return false;
  return safely(() => {
    const { name, message } = Object(error);
    const said = causesOf(error).flatMap((each) => [each["message"], each["cause"]]);
    const isReason = [error, ...said].includes(signal.reason);
    return isReason || /abort|cancel/i.test(`${name} ${message ?? error}`);
  }, false);
}

/** The most causes that are read. Each middleware of an agent adds one. */
const LONGEST_CHAIN = 100;

/** The error and its causes. What has no fields ends the chain, and so does a circle. */
export function causesOf(error: unknown): readonly Readonly<Record<string, unknown>>[] {
  const chain = new Set<Readonly<Record<string, unknown>>>();
  for (let each = error; isRecord(each) && !chain.has(each); each = each["cause"]) {
    if (chain.size === LONGEST_CHAIN) break;
    chain.add(each);
  }
  return [...chain];
}

/**
 * The error that was thrown. LangChain's agents wrap it once for each middleware that it passes, in an error without
 * its fields. A wrapper has the name and the message of its cause; an error that says anything else is thrown for a
 * reason of its own.
 */
export function withoutWrappers(error: unknown): unknown {
  const chain = causesOf(error);
  return chain.find((each, place) => !saysTheSame(each, chain[place + 1])) ?? error;
}

function saysTheSame(error: unknown, cause: unknown): boolean {
  return isError(error) && isError(cause) && error.name === cause.name && error.message === cause.message;
}
