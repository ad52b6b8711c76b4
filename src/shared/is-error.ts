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
    const { name, message, cause } = Object(error);
    const isReason = [error, message, cause].includes(signal.reason);
    return isReason || /abort|cancel/i.test(`${name} ${message ?? error}`);
  }, false);
}

/** How many errors of a chain of causes are read. */
export const LONGEST_CHAIN = 5;

/** The error and its causes. What has no fields ends the chain. */
export function causesOf(error: unknown, depth = 0): Readonly<Record<string, unknown>>[] {
  if (!isRecord(error) || depth === LONGEST_CHAIN) return [];
  return [error, ...causesOf(error["cause"], depth + 1)];
}
