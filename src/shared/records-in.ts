import { isRecord } from "./is-record.js";

/** The objects of a list. None if the value is not a list. */
export function recordsIn(list: unknown): readonly Record<string, unknown>[] {
  return Array.isArray(list) ? list.filter(isRecord) : [];
}
