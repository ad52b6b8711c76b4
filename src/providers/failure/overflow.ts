/** Reads from a provider's error that the request was too long for the model. */

import { causesOf } from "../../shared/is-error.js";
import { isRecord } from "../../shared/values.js";
import { innermost } from "../dialect-of.js";
import { PROVIDERS } from "../providers.js";

/** A request that a provider refused because it is too long. Numbers are the provider's tokens. */
export interface Overflow {
  /** How many tokens the input may have, if the provider says so. */
  readonly limit: number | undefined;
  /** How many tokens the input had, if the provider says so. */
  readonly sent: number | undefined;
}

/** All providers' words, in which `<name>` is a number. */
const WORDS: readonly RegExp[] = PROVIDERS.flatMap(({ overflow = [] }) => overflow).map(
  (words) => new RegExp(words.replaceAll(/<(limit|input|total|output)>/g, "(?<$1>[\\d,]+)"), "is"),
);

/** Names and codes that say it without words. `ContextOverflowError` is LangChain's. */
const NAMES: ReadonlySet<unknown> = new Set([
  "ContextOverflowError",
  "CONTEXT_OVERFLOW",
  "context_length_exceeded",
  "exceed_context_size_error",
  "model_context_window_exceeded",
]);
/** The request's body is too large. */
const TOO_LARGE = 413;
/** Statuses that mean something other than a request that is too long. */
const OTHER_STATUSES: ReadonlySet<unknown> = new Set([401, 402, 403, 404, 408, 429]);
/** A rate limit on tokens passes with time. Groq sends it with status 413. */
const RATE_LIMIT = /tokens per (?:minute|min|day)|\bTP[MD]\b|rate limit/i;

/**
 * Reads a model's error and its causes. Undefined if a shorter input would not help: for any other error, for a rate
 * limit, and if the reserved output alone fills the window.
 */
export function readOverflow(error: unknown): Overflow | undefined {
  const chain = causesOf(error);
  const statuses = chain.map(({ status, statusCode }) => status ?? statusCode);
  if (statuses.some((status) => OTHER_STATUSES.has(status))) return undefined;
  const texts = chain.map(({ message }) => (typeof message === "string" ? message : ""));
  if (texts.some((text) => RATE_LIMIT.test(text))) return undefined;
  for (const pattern of WORDS) {
    for (const text of texts) {
      const match = pattern.exec(text);
      if (match !== null) return numbersOf(match.groups ?? {});
    }
  }
  const isNamed = chain.some(({ name, code, type, lc_error_code }) =>
    [name, code, type, lc_error_code].some((value) => NAMES.has(value)),
  );
  return isNamed || statuses.includes(TOO_LARGE) ? { limit: undefined, sent: undefined } : undefined;
}

function numbersOf(groups: Readonly<Record<string, string | undefined>>): Overflow | undefined {
  const read = (name: string): number | undefined => {
    const digits = groups[name]?.replaceAll(",", "");
    return digits === undefined ? undefined : Number(digits);
  };
  const [window, output = 0, total] = [read("limit"), read("output"), read("total")];
  const limit = window === undefined ? undefined : window - output;
  if (limit !== undefined && limit <= 0) return undefined;
  return { limit, sent: read("input") ?? (total === undefined ? undefined : total - output) };
}

/*
 * A model's input window: what its client states, and what a refusal taught this process.
 */

const learned = new WeakMap<object, number>();

/** The window that LangChain's client states in `profile`, in tokens. Undefined if it states none. */
function statedWindowOf(model: unknown): number | undefined {
  const profile: unknown = isRecord(model) ? model["profile"] : undefined;
  const window: unknown = isRecord(profile) ? profile["maxInputTokens"] : undefined;
  return typeof window === "number" && window > 0 ? window : undefined;
}

/** The most request tokens that the model may accept. Undefined if no request was refused. */
export function learnedWindowOf(model: object): number | undefined {
  return learned.get(innermost(model));
}

/** Remembers that the model refused a longer request. A larger value than before changes nothing. */
export function learnWindow(model: object, tokens: number): void {
  learned.set(innermost(model), Math.min(tokens, learnedWindowOf(model) ?? tokens));
}

/** A request's bound: the smaller of both. Undefined if neither is known. */
export function windowOf(model: object): number | undefined {
  const known = [statedWindowOf(model), learnedWindowOf(model)].filter((window) => window !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}

/** A response needs room in the window, at most this many tokens and this share of it. */
const MOST_ROOM = 8_192;
const SHARE_OF_ROOM = 0.1;

/**
 * How many tokens a request may have, so that the window has room for the response. Undefined if no window is known.
 */
export function boundOf(model: object): number | undefined {
  const stated = statedWindowOf(model);
  const own = stated && Math.ceil(stated - Math.min(stated * SHARE_OF_ROOM, MOST_ROOM));
  // A refusal names what it reserves for the response, and what is learned keeps a distance.
  const known = [own, learnedWindowOf(model)].filter((bound) => bound !== undefined);
  return known.length === 0 ? undefined : Math.max(Math.min(...known), 1);
}

/** The share that each attempt takes of the bound that the provider's numbers name. Our estimate may be far off. */
const MARGINS = [0.95, 0.8, 0.5] as const;
/** Shares of the refused request, for a provider that names no numbers. */
const SHARES = [0.7, 0.3, 0.1] as const;
/** Every chat model takes this much. It is tried last, for a provider that names no numbers. */
const LEAST_WINDOW = 4_000;

/** How many times in a row a request that is too long is made again. */
export const MOST_OVERFLOWS = MARGINS.length;

/**
 * The next request's bound, in tokens as we counted those of the refused one.
 *
 * @param estimate The refused request's tokens, as we counted them.
 * @param attempt How many requests in a row were refused before it.
 */
export function lowerBound({ limit, sent }: Overflow, estimate: number, attempt: number): number {
  const margin = MARGINS[attempt] ?? 0;
  const share = estimate * (SHARES[attempt] ?? 0);
  if (limit !== undefined && sent !== undefined && sent > limit)
    return Math.floor(estimate * (limit / sent) * margin);
  if (limit !== undefined) return Math.floor(Math.min(limit * margin, share));
  return Math.floor(attempt === MOST_OVERFLOWS - 1 ? Math.min(share, LEAST_WINDOW) : share);
}
