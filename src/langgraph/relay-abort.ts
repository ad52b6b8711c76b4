import type { RunnableConfig } from "@langchain/core/runnables";

/** The options of one run, whose signal follows the caller's until the run ends. */
export interface RelayedAbort<Options> {
  readonly options: Options;
  /** Contract: call it when the run has ended. */
  readonly end: () => void;
}

/**
 * Gives a run a signal of its own. LangGraph's `streamEvents` adds a listener to the signal of its options and never removes
 * it, and a caller can have one signal for all of his runs.
 */
export function relayAbort<Options extends RunnableConfig>(options: Options): RelayedAbort<Options> {
  const { signal: given } = options;
  if (given === undefined) return { options, end: () => {} };
  // Node warns of more than ten listeners, and a caller can have as many runs at once.
  const signal = AbortSignal.any([given]);
  const own = new AbortController();
  const abort = (): void => own.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener("abort", abort, { once: true });
  return {
    options: { ...options, signal: own.signal },
    end: () => signal.removeEventListener("abort", abort),
  };
}
