/** Which failed requests the clients of `createModel` send again. How is their own: LangChain's `AsyncCaller` waits. */

import type { AsyncCallerParams } from "@langchain/core/utils/async_caller";
import { classifyRateLimitError } from "@langchain/core/utils/async_caller";
import { isAbortError, statusOf } from "./transport-error.js";

/**
 * Fields of a client. Between requests it waits 1 to 2 s, then twice as long each time, so 15 to 30 s in all, or as
 * long as the provider says, up to a minute each time.
 */
export const RETRY_FIELDS = { maxRetries: 4, onFailedAttempt } as const satisfies AsyncCallerParams;

/** Refusals that may be gone in a moment. All others of 400 to 499 answer the same request in the same way. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);
/** Gemini's way to say how long to wait; it calls every exhausted minute an exceeded quota. */
const RETRY_IN_SECONDS = /\bretry in (\d+(?:\.\d+)?)s/i;
const LONGEST_WAIT_MS = 60_000;

/**
 * Contract of `AsyncCaller`: returns for what is to be sent again, throws what is not.
 *
 * Its default gives up on a 429 without `Retry-After`, such as all of Gemini's, whose client keeps no headers; and it
 * repeats what no repetition cures, such as a 422. After a body that is no JSON, the stream guard asks again.
 */
function onFailedAttempt(error: unknown): void {
  if (isAbortError(error) || error instanceof SyntaxError) throw error;
  const status = statusOf(error);
  if (status === undefined || status >= 500) return;
  if (!PASSING.has(status)) throw error;
  const waitMs = namedWait(error);
  if (waitMs === "never") throw error;
  // `AsyncCaller` reads it from the error.
  if (waitMs !== undefined) Object.assign(Object(error), { retryAfterMs: waitMs });
}

/** Milliseconds that the provider asks for; undefined if it does not say; `"never"` if waiting will not help. */
function namedWait(error: unknown): number | "never" | undefined {
  const limit = classifyRateLimitError(error);
  if (limit?.reason === "insufficient_quota") return "never";
  const [, seconds] = RETRY_IN_SECONDS.exec(String(Reflect.get(Object(error), "message"))) ?? [];
  const waitMs = seconds === undefined ? limit?.retryAfterMs : Number(seconds) * 1000;
  if (waitMs === undefined) return limit?.action === "stop" ? "never" : undefined;
  return waitMs <= LONGEST_WAIT_MS ? waitMs : "never";
}
