export interface Deadline {
  /** The run's own signal. */
  readonly signal: AbortSignal | undefined;
  /** Milliseconds; undefined: no limit. */
  readonly timeoutMs: number | undefined;
  /** What is thrown when the time is over. */
  readonly timeoutError: (timeoutMs: number) => Error;
}

/**
 * Runs some work that its run or a time limit may abort. Work that ignores its signal is not waited for.
 *
 * @throws The timeout error, the reason of the run's abort, or what the work throws of itself.
 */
export async function withDeadline<T>(
  work: (signal: AbortSignal) => Promise<T>,
  { signal, timeoutMs, timeoutError }: Deadline,
): Promise<T> {
  const timeout = new AbortController();
  const joined = signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]);
  const timer =
    timeoutMs === undefined ? undefined : setTimeout(() => timeout.abort(timeoutError(timeoutMs)), timeoutMs);
  let stopListening = () => {};
  const aborted = new Promise<never>((_, reject) => {
    const fail = () => reject(joined.reason);
    if (joined.aborted) fail();
    else joined.addEventListener("abort", fail, { once: true });
    stopListening = () => joined.removeEventListener("abort", fail);
  });
  try {
    return await Promise.race([work(joined), aborted]);
  } catch (error) {
    // What is thrown because of the abort is not the work's own failure.
    throw timeout.signal.aborted ? timeout.signal.reason : error;
  } finally {
    clearTimeout(timer);
    // A joined signal with a listener is kept alive, with all that it closes over.
    stopListening();
  }
}
