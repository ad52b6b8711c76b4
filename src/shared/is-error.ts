import { isRecord } from "./is-record.js";

/** Whether a value is an error. Recognised by its form, because each realm of a process has its own `Error`. */
export function isError(value: unknown): value is Error {
  return (
    isRecord(value) &&
    typeof value["name"] === "string" &&
    typeof value["message"] === "string" &&
    "stack" in value
  );
}
