import { isRecord } from "./is-record.js";

/** The objects of a list; the same list if it holds nothing else. None if the value is not a list. */
export function recordsIn(list: unknown): readonly Record<string, unknown>[] {
  if (!Array.isArray(list)) return [];
  // `every` would skip the holes of a list.
  for (const item of list) if (!isRecord(item)) return list.filter(isRecord);
  return list;
}
