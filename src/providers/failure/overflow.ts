/** Reads from a provider's error that the request was too long for the model. */

import { causesOf } from "../../shared/is-error.js";
import { isRecord, least } from "../../shared/values.js";
import { innermost } from "../table/dialect-of.js";
import { PROVIDERS } from "../table/providers.js";
import { type OwnWords, type ProviderWords, wordsOf } from "./own-words.js";

/** A request that a provider refused because it is too long. Numbers are the provider's tokens. */
export interface Overflow {
  /** How many tokens the input may have, if the provider says so. */
  readonly limit: number | undefined;
  /** How many tokens the input had, if the provider says so. */
  readonly sent: number | undefined;
  /** The model's window, input and output together, if the provider states it. Undefined: the numbers may be quoted. */
  readonly window: number | undefined;
  /** Whether the request has too many bytes. That says nothing about tokens. */
  readonly isOfBytes: boolean;
}

/** All providers' words, in which `<name>` is a number. */
const WORDS: readonly RegExp[] = PROVIDERS.flatMap(({ overflow = [] }) => overflow).map(
  (words) => new RegExp(words.replaceAll(/<(limit|input|total|output)>/g, "(?<$1>\\d[\\d,]{0,11})"), "gi"),
);
const WORDS_OF_BYTES: readonly RegExp[] = PROVIDERS.flatMap(({ tooManyBytes = [] }) => tooManyBytes).map(
  (words) => new RegExp(words, "gi"),
);

/** Codes that say it without words. */
const CODES: ReadonlySet<unknown> = new Set([
  "context_length_exceeded",
  "exceed_context_size_error",
  "model_context_window_exceeded",
]);
/** LangChain's name and code for an error with such words or codes anywhere in its text. */
const LANGCHAIN: ReadonlySet<unknown> = new Set(["ContextOverflowError", "CONTEXT_OVERFLOW"]);
const CODE_WORDS = new RegExp([...CODES].join("|"), "gi");
/** The request's body is too large. */
const TOO_LARGE = 413;
/** Statuses that mean something other than a request that is too long. */
const OTHER_STATUSES: ReadonlySet<unknown> = new Set([401, 402, 403, 404, 408, 429]);
/** A rate limit on tokens passes with time. Groq sends it with status 413. */
const RATE_LIMIT = /tokens per (?:minute|min|day)|\bTP[MD]\b|rate limit/gi;

/**
 * Reads a model's error and its causes. Undefined if a shorter input would not help: for any other error, for a rate
 * limit, and if the reserved output alone fills the window.
 *
 * @param words The provider's words in the error. By default, a quotation of the request can count as its words.
 */
export function readOverflow(
  error: unknown,
  words: ProviderWords = wordsOf(error, []),
): Overflow | undefined {
  const chain = causesOf(error);
  const statuses = chain.map(({ status, statusCode }) => status ?? statusCode);
  if (statuses.some((status) => OTHER_STATUSES.has(status))) return undefined;
  if (words.say(RATE_LIMIT)) return undefined;
  const isOfBytes = statuses.includes(TOO_LARGE) || WORDS_OF_BYTES.some((pattern) => words.say(pattern));
  let isQuoted = false;
  for (const pattern of WORDS) {
    const found = words.find(pattern);
    if (typeof found === "object") return numbersOf(found, isOfBytes);
    isQuoted ||= found === "quoted";
  }
  const has = (names: ReadonlySet<unknown>): boolean =>
    chain.some(({ name, code, type, lc_error_code }) =>
      [name, code, type, lc_error_code].some((value) => names.has(value)),
    );
  // LangChain does not tell quotations from the provider's words.
  const mayBeQuoted = isQuoted || !words.isWhole || words.find(CODE_WORDS) === "quoted";
  const isNamed = has(CODES) || (has(LANGCHAIN) && !mayBeQuoted);
  return isNamed || isOfBytes
    ? { limit: undefined, sent: undefined, window: undefined, isOfBytes }
    : undefined;
}

function numbersOf({ groups, isStatement }: OwnWords, isOfBytes: boolean): Overflow | undefined {
  const read = (name: string): number | undefined => {
    const digits = groups[name]?.replaceAll(",", "");
    return digits === undefined ? undefined : Number(digits);
  };
  const [window, output = 0, total] = [read("limit"), read("output"), read("total")];
  const limit = window === undefined ? undefined : window - output;
  if (limit !== undefined && limit <= 0) return undefined;
  const sent = read("input") ?? (total === undefined ? undefined : total - output);
  return { limit, sent, window: isStatement && !isOfBytes ? window : undefined, isOfBytes };
}

/*
 * A model's input window: what its client states, and what its provider has stated to this process.
 */

const learned = new WeakMap<object, number>();

/** The window that LangChain's client states in `profile`, in tokens. Undefined if it states none. */
function statedWindowOf(model: unknown): number | undefined {
  const profile: unknown = isRecord(model) ? model["profile"] : undefined;
  const window: unknown = isRecord(profile) ? profile["maxInputTokens"] : undefined;
  return typeof window === "number" && window > 0 ? window : undefined;
}

/** The window that the model's provider has stated in a refusal. Undefined if it has not. */
export function learnedWindowOf(model: object): number | undefined {
  return learned.get(innermost(model));
}

/** The provider's count of a request and our estimate differ by at most this factor. */
const LARGEST_DIFFERENCE = 4;
/** A deployment's window can be smaller than its model's, but not by more than this share. */
const LEAST_SHARE_OF_STATED = 0.5;

/**
 * Remembers the window that a refusal states, for all threads of the model. A larger window than before changes
 * nothing. A window far from the refused request, or far below what the client states, is not believed.
 *
 * @param estimate The refused request's tokens, as we counted them.
 */
export function learnWindow(model: object, { window, sent = window }: Overflow, estimate: number): void {
  if (window === undefined || sent === undefined || sent * LARGEST_DIFFERENCE < estimate) return;
  if (sent > estimate * LARGEST_DIFFERENCE || window < (statedWindowOf(model) ?? 0) * LEAST_SHARE_OF_STATED)
    return;
  learned.set(innermost(model), Math.min(window, learnedWindowOf(model) ?? window));
}

/** The smaller of both windows. Undefined if neither is known. */
export function windowOf(model: object): number | undefined {
  return least(statedWindowOf(model), learnedWindowOf(model));
}

/** A response needs room in the window, at most this many tokens and this share of it. */
const MOST_ROOM = 8_192;
const SHARE_OF_ROOM = 0.1;

/**
 * How many tokens a request may have, so that the window has room for the response. Undefined if no window is known.
 */
export function requestLimitOf(model: object): number | undefined {
  const window = windowOf(model);
  return window && Math.max(Math.ceil(window - Math.min(window * SHARE_OF_ROOM, MOST_ROOM)), 1);
}

/** The share that each attempt takes of the bound that the provider's numbers name. Our estimate may be far off. */
const MARGINS = [0.95, 0.8, 0.5] as const;
/** Shares of the refused request, for a provider that names no numbers. */
const SHARES = [0.7, 0.3, 0.1] as const;
/** Every chat model takes this much. It is tried last, for a provider that names no numbers. */
export const LEAST_WINDOW = 4_000;

/** How many times in a row a request that is too long is made again. */
export const MOST_OVERFLOWS = MARGINS.length;

/**
 * The next request's bound, in tokens as we counted those of the refused one.
 *
 * @param estimate The refused request's tokens, as we counted them.
 * @param attempt How many requests in a row were refused before it.
 */
export function lowerBound(
  { limit, sent }: Pick<Overflow, "limit" | "sent">,
  estimate: number,
  attempt: number,
): number {
  const margin = MARGINS[attempt] ?? 0;
  const share = estimate * (SHARES[attempt] ?? 0);
  if (limit !== undefined && sent !== undefined && sent > limit)
    return Math.floor(estimate * (limit / sent) * margin);
  if (limit !== undefined) return Math.floor(Math.min(limit * margin, share));
  return Math.floor(attempt === MOST_OVERFLOWS - 1 ? Math.min(share, LEAST_WINDOW) : share);
}
