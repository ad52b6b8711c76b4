/** A run's abort, which its caller hears of once the run has ended. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { deferred, onAbort } from "../../shared/waiting.js";

/** The longest time in milliseconds that a hanging run or its database holds an abort back. */
const LONGEST_HOLD = 5_000;

/**
 * The abort of one run. The run sees it at once. LangChain's stream, which tells the caller, sees it when the run has
 * ended, or after `LONGEST_HOLD`.
 *
 * LangChain rejects as soon as its options' signal aborts. The run's last writes are then still on their way to the
 * database, where another process does not find them. So the stream and the run have different signals.
 */
export interface HeldAbort<Options> {
  readonly options: Options;
  /** Aborts for the run, at once. */
  readonly signal: AbortSignal;
  readonly abort: (reason: unknown) => void;
  /** Contract: call it when the run has ended. */
  readonly end: () => void;
  /** Contract: resolves to the same stream. Its `cancel` resolves when the run has ended. */
  readonly attach: <Stream extends { cancel(reason?: unknown): Promise<void> }>(
    starting: Promise<Stream>,
  ) => Promise<Stream>;
}

export function holdAbort<Options extends RunnableConfig>(options: Options): HeldAbort<Options> {
  const { signal: given, timeout } = options;
  const cancelled = new AbortController();
  const signals = [cancelled.signal];
  if (given !== undefined) signals.push(given);
  // LangChain also makes a signal from the timeout, and refuses other values.
  const isTimed = timeout !== undefined && timeout > 0;
  if (isTimed) signals.push(AbortSignal.timeout(timeout));
  const signal = signals.length === 1 ? cancelled.signal : AbortSignal.any(signals);

  const told = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const tell = (): void => told.abort(signal.reason);
  const hold = (): void => {
    timer = setTimeout(tell, LONGEST_HOLD);
  };
  const stopListening = onAbort(signal, hold);
  const { promise: ended, resolve } = deferred<void>();
  told.signal.addEventListener("abort", () => resolve(), { once: true });

  const end = (): void => {
    clearTimeout(timer);
    stopListening();
    if (signal.aborted) tell();
    resolve();
  };

  return {
    options: {
      ...options,
      signal: told.signal,
      ...(isTimed && { timeout: undefined, metadata: { timeoutMs: timeout, ...options.metadata } }),
    },
    signal,
    abort: (reason) => cancelled.abort(reason),
    end,
    attach: async (starting) => {
      const stream = await starting.catch((error: unknown) => {
        // A run that never began ends here.
        end();
        throw error;
      });
      const cancel = stream.cancel.bind(stream);
      stream.cancel = async (reason) => {
        cancelled.abort(reason);
        await ended;
        await cancel(reason);
      };
      return stream;
    },
  };
}

/**
 * Gives a run its own signal. LangGraph's `streamEvents` adds a listener to its options' signal and never removes it,
 * and a caller can use one signal for all runs.
 *
 * @returns The options, whose signal follows the caller's, and a function to call when the run has ended.
 */
export function relayAbort<Options extends RunnableConfig>(options: Options) {
  const { signal: given } = options;
  if (given === undefined) return { options, end: () => {} };
  const own = new AbortController();
  const end = onAbort(given, () => own.abort(given.reason));
  return { options: { ...options, signal: own.signal }, end };
}
