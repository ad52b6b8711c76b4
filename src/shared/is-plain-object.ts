import { isRecord } from "./is-record.js";

/** Whether a value was written as `{}` or has no prototype. The prototype is not compared: each realm has its own. */
export function isPlainObject(value: unknown): value is Record<string, unknown> {
  if (!isRecord(value)) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || Object.getPrototypeOf(prototype) === null;
}
