/**
 * Decides which failed requests the clients of `createModel` send again. The waits are those of LangChain's
 * `AsyncCaller`.
 */

import type { AsyncCallerParams } from "@langchain/core/utils/async_caller";
import { classifyRateLimitError } from "@langchain/core/utils/async_caller";
import { isAbortError, statusOf } from "./transport-error.js";

/**
 * Fields of a client. It waits 1 to 2 s before the first retry and doubles the wait each time, 15 to 30 s in total.
 * If the provider names a wait, it waits that long, up to a minute each time.
 */
export const RETRY_FIELDS = { maxRetries: 4, onFailedAttempt } as const satisfies AsyncCallerParams;

/** Refusals that can pass after a moment. Any other status from 400 to 499 would be the same for the same request. */
const PASSING: ReadonlySet<number> = new Set([408, 425, 429]);
/** Gemini's text for how long to wait. Gemini calls every exhausted minute an exceeded quota. */
const RETRY_IN_SECONDS = /\bretry in (\d+(?:\.\d+)?)s/i;
const LONGEST_WAIT_MS = 60_000;

/**
 * Contract of `AsyncCaller`: returns for a request that is sent again, throws for any other.
 *
 * The default of `AsyncCaller` gives up on a 429 without `Retry-After`, such as all of Gemini's, whose client keeps
 * no headers. It also retries failures that a retry cannot fix, such as a 422. A body that is not valid JSON is not
 * retried here, because the stream guard asks the model again.
 */
function onFailedAttempt(error: unknown): void {
  if (isAbortError(error) || Reflect.get(Object(error), "name") === "SyntaxError") throw error;
  const status = statusOf(error);
  if (status === undefined || status >= 500) return;
  if (!PASSING.has(status)) throw error;
  const waitMs = namedWait(error);
  if (waitMs === "never") throw error;
  // `AsyncCaller` reads it from the error.
  if (waitMs !== undefined) Object.assign(Object(error), { retryAfterMs: waitMs });
}

/**
 * The wait that the provider asks for, in milliseconds. Undefined if it does not say, `"never"` if waiting does not
 * help.
 */
function namedWait(error: unknown): number | "never" | undefined {
  const limit = classifyRateLimitError(error);
  if (limit?.reason === "insufficient_quota") return "never";
  const [, seconds] = RETRY_IN_SECONDS.exec(String(Reflect.get(Object(error), "message"))) ?? [];
  const waitMs = seconds === undefined ? limit?.retryAfterMs : Number(seconds) * 1000;
  if (waitMs === undefined) return limit?.action === "stop" ? "never" : undefined;
  return waitMs <= LONGEST_WAIT_MS ? waitMs : "never";
}
