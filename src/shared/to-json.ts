/**
 * The JSON of any value; undefined for a value without JSON (a cycle, a bigint, a function, a throwing
 * getter).
 */
export function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
