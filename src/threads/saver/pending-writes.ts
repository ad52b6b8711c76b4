/**
 * Writes to a checkpointer that have begun and not ended.
 *
 * LangGraph tells the caller of an aborted run before the run's last writes are saved. A run that begins at once would
 * not find them, and would continue the thread from before. A graph of this library waits for the writes of its own
 * runs: `run-saver.ts`. A middleware does not see a run's end, so it lets the reads of the checkpointer itself wait:
 * `patient-saver.ts`.
 */

import { withDeadline } from "../../shared/waiting.js";

/** How long a read waits for one write, in milliseconds. */
const LONGEST_WRITE = 5_000;
/** How long it waits for writes that follow one another, and for how long a write that does not end is waited for. */
export const LONGEST_WAIT = 30_000;

interface Write {
  readonly ended: Promise<unknown>;
  /** When it began, from `performance.now()`. */
  readonly since: number;
  /** Whether somebody has waited in vain. */
  isLate: boolean;
}

/** Some of a checkpointer's writes. */
export class PendingWrites {
  readonly #pending = new Set<Write>();

  /** Begins a write. Resolves like it. */
  async during<Result>(begin: () => Promise<Result>): Promise<Result> {
    const ended = begin();
    const write: Write = { ended, since: performance.now(), isLate: false };
    this.#pending.add(write);
    try {
      return await ended;
    } finally {
      this.#pending.delete(write);
    }
  }

  get areSome(): boolean {
    return this.#pending.size > 0;
  }

  /** Contract: resolves once all have ended, and those that begin meanwhile. Never rejects. */
  async ended(): Promise<void> {
    while (this.areSome) await Promise.allSettled([...this.#pending].map(({ ended }) => ended));
  }

  /**
   * Contract: resolves once all that have begun have ended, whether or not they failed. A write that began long ago is
   * given up, so that a lost one does not stop the thread for ever.
   *
   * @throws Error if one does not end in time.
   */
  async endedInTime(threadId: unknown): Promise<void> {
    const now = performance.now();
    for (const write of this.#pending) if (now - write.since >= LONGEST_WAIT) this.#pending.delete(write);
    const awaited = [...this.#pending];
    const timeoutError = () =>
      new Error(
        `Expected the checkpointer to save what an earlier run has written to the thread \`${threadId}\`, but a ` +
          `write has not ended for ${LONGEST_WRITE / 1_000} seconds. It can still arrive. Begin the run again later.`,
      );
    if (awaited.some(({ isLate }) => isLate)) throw timeoutError();
    const all = () => Promise.allSettled(awaited.map(({ ended }) => ended));
    try {
      await withDeadline(all, { signal: undefined, timeoutMs: LONGEST_WRITE, timeoutError });
    } catch (error) {
      for (const write of awaited) write.isLate = true;
      throw error;
    }
  }
}
