/** What a strict provider answers, and how requests are read. Nothing here is shared with the library. */

export interface Refusal {
  readonly status: number;
  readonly body: object;
}

/**
 * Contract: finds the first fault of a request's history, and answers it as the provider would.
 *
 * @param stored The ids of the items that this provider gave out.
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
