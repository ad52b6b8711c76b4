/** The input window of a model: what its client states, and what a refusal taught this process. */

import { isRecord } from "../../shared/is-record.js";
import { innermost } from "../dialects/dialect-of.js";

const learned = new WeakMap<object, number>();

/** The window that LangChain's client states in `profile`, in tokens. Undefined if it states none. */
export function statedWindowOf(model: unknown): number | undefined {
  const profile: unknown = isRecord(model) ? model["profile"] : undefined;
  const window: unknown = isRecord(profile) ? profile["maxInputTokens"] : undefined;
  return typeof window === "number" && window > 0 ? window : undefined;
}

/** The most tokens, by our estimate, of a request that the model may accept. Undefined if none was refused. */
export function learnedWindowOf(model: object): number | undefined {
  return learned.get(innermost(model));
}

/** Remembers that the model refused a longer request. A larger value than before changes nothing. */
export function learnWindow(model: object, tokens: number): void {
  learned.set(innermost(model), Math.min(tokens, learnedWindowOf(model) ?? tokens));
}

/** The bound of a request: the smaller of both. Undefined if neither is known. */
export function windowOf(model: object): number | undefined {
  const known = [statedWindowOf(model), learnedWindowOf(model)].filter((window) => window !== undefined);
  return known.length === 0 ? undefined : Math.min(...known);
}
