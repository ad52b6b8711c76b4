import { onTestFinished, vi } from "vitest";

const TIMES_FASTER = 1000;

/** Clients wait less before they ask again. Returns how long they meant to wait, in milliseconds. */
export function hastenRetries(): readonly number[] {
  const waits: number[] = [];
  const setRealTimeout = globalThis.setTimeout;
  vi.stubGlobal("setTimeout", (run: () => void, delay = 0, ...values: []) => {
    // What `fetch` waits for stays as it is.
    const isRetry = new Error().stack?.split("\n")[2]?.includes("p-retry") === true;
    if (isRetry) waits.push(delay);
    return setRealTimeout(run, isRetry ? delay / TIMES_FASTER : delay, ...values);
  });
  onTestFinished(() => {
    vi.unstubAllGlobals();
  });
  return waits;
}
