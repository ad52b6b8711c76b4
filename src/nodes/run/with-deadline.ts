import { untilAborted } from "../../shared/until-aborted.js";

export interface Deadline {
  /** The run's own signal. */
  readonly signal: AbortSignal | undefined;
  /** Milliseconds; undefined: no limit. */
  readonly timeoutMs: number | undefined;
  /** Makes the error that is thrown when the time is over. */
  readonly timeoutError: (timeoutMs: number) => Error;
  /** Whether the work is waited for after the abort of the run. There is no time limit any more then. */
  readonly outlivesAbort?: boolean;
}

/**
 * Runs work that the run's signal or a time limit can abort. Work that ignores its signal is abandoned.
 *
 * @throws The timeout error, the reason of the run's abort, or the error of the work.
 */
export async function withDeadline<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { signal, timeoutMs, timeoutError, outlivesAbort = false }: Deadline,
): Promise<T> {
  const timeout = new AbortController();
  const joined = signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]);
  const timer =
    timeoutMs === undefined ? undefined : setTimeout(() => timeout.abort(timeoutError(timeoutMs)), timeoutMs);
  const stop = (): void => clearTimeout(timer);
  if (outlivesAbort) signal?.addEventListener("abort", stop, { once: true });
  try {
    return await untilAborted(work(joined), outlivesAbort ? timeout.signal : joined);
  } catch (error) {
    // After a timeout, an error of the work is only a consequence of the abort.
    throw timeout.signal.aborted ? timeout.signal.reason : error;
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", stop);
  }
}
