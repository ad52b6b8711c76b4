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

/** The list in a field of a request. */
export function listIn(body: unknown, name: string): readonly Fields[] {
  return isFields(body) ? listOf(body[name]) : [];
}

/** The name of the function that a call of OpenAI's protocol names. */
export const functionIn = (call: Fields): Fields => listOf([call["function"]])[0] ?? {};

export const NAME = /^[a-zA-Z0-9_-]{1,64}$/;

/** Joins each item with the one before it, where they count as one. */
export function merged<Item>(
  items: readonly Item[],
  join: (one: Item, next: Item) => Item | undefined,
): Item[] {
  const list: Item[] = [];
  for (const item of items) {
    const last = list.at(-1);
    const both = last === undefined ? undefined : join(last, item);
    if (both === undefined) list.push(item);
    else list[list.length - 1] = both;
  }
  return list;
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

/** What the parsers of JSON say of half a surrogate pair. The others are taken to say the same. */
const UNPAIRED = "The request body is not valid JSON: no low surrogate in string: line 1 column 2 (char 1)";
const UNPAIRED_AT_DEEPSEEK =
  "Failed to parse the request body as JSON: messages[0].content: lone leading surrogate in hex escape";

/** JSON writes half a pair as an escape. Clients may also send the bytes of U+FFFD, which every parser takes. */
export function checkText(host: string, text: string): Refusal | undefined {
  if (!/(?<!\\)(?:\\\\)*\\ud[89a-f][0-9a-f]{2}/i.test(text)) return undefined;
  const message = host === "deepseek" ? UNPAIRED_AT_DEEPSEEK : UNPAIRED;
  return { status: 400, body: { type: "error", message, error: { type: "invalid_request_error", message } } };
}
