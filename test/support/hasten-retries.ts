import { onTestFinished, vi } from "vitest";

const TIMES_FASTER = 1000;

/** Shortens the waits of clients before retries. Returns the original waits in milliseconds. */
export function hastenRetries(): readonly number[] {
  const waits: number[] = [];
  const setRealTimeout = globalThis.setTimeout;
  vi.stubGlobal("setTimeout", (run: () => void, delay = 0, ...values: []) => {
    // Timers of `fetch` stay as they are.
    const isRetry = new Error().stack?.split("\n")[2]?.includes("p-retry") === true;
    if (isRetry) waits.push(delay);
    return setRealTimeout(run, isRetry ? delay / TIMES_FASTER : delay, ...values);
  });
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  return waits;
}
