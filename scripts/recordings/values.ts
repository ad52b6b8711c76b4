/** Reads values of foreign JSON. */

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export const listOf = (value: unknown): readonly Fields[] =>
  Array.isArray(value) ? value.filter(isFields) : [];

export const textOf = (value: unknown): string =>
  value instanceof Uint8Array ? Buffer.from(value).toString() : typeof value === "string" ? value : "";

/** Undefined for a text that is no JSON. */
export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
