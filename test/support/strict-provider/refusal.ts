/** The errors of strict providers, and helpers to read requests. It is independent of the library. */

export interface Refusal {
  readonly status: number;
  readonly body: object;
  /** The events of a stream that begins with status 200. Undefined: a stream is refused like any request. */
  readonly events?: readonly string[];
}

/**
 * Contract: returns the provider's error for the first fault of a request's history; undefined for a valid one.
 *
 * @param stored The ids of the items that this provider has sent.
 */
export type RequestCheck = (body: unknown, stored: ReadonlySet<string>) => Refusal | undefined;

export type Fields = Readonly<Record<string, unknown>>;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function listOf(value: unknown): readonly Fields[] {
  return Array.isArray(value) ? value.filter(isFields) : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

export function isJsonObject(text: unknown): boolean {
  try {
    return isFields(JSON.parse(textOf(text)));
  } catch {
    return false;
  }
}

/** The first repeated value; undefined if there is none. */
export function firstRepeated(values: readonly string[]): string | undefined {
  return values.find((value, index) => values.indexOf(value) < index);
}
