/**
 * The JSON of any value; undefined for a value without JSON (a cycle, a bigint, a function, a throwing
 * getter).
 */
export function toJson(
  value: unknown,
  replace?: (this: unknown, key: string, value: unknown) => unknown,
): string | undefined {
  try {
    return JSON.stringify(value, replace);
  } catch {
    return undefined;
  }
}
