import { expect } from "vitest";

/**
 * Starts a run, and aborts it when it has come this far.
 *
 * @param hasBegun Contract: resolves when the run is to be aborted.
 */
export async function abortRun(
  start: (signal: AbortSignal) => Promise<unknown>,
  hasBegun: () => Promise<unknown>,
): Promise<void> {
  const controller = new AbortController();
  const run = start(controller.signal);
  await hasBegun();
  controller.abort();
  await expect(run).rejects.toThrow(/abort/i);
}
