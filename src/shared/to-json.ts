/** JSON of any value; undefined for one that has none (a cycle, a bigint, a function, a getter that throws). */
export function toJson(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    return undefined;
  }
}
