/** Waits for a database only for as long as a user can be expected to. */

/** What has not answered after this time is given up, in milliseconds. */
const LONGEST_WAIT = 29_000;
/** The same after the abort of the run. */
const LONGEST_WAIT_AFTER_ABORT = 4_000;
/** An answer can be there already if other work has held this process up, so it gets this time to be read. */
const GRACE = 1_000;

export interface Wait {
  /** Who should answer, as the subject of a sentence. */
  readonly what: string;
  /** The abort of the run that waits. */
  readonly signal?: AbortSignal | undefined;
  /** Contract: called if nobody waits any more. It ends what can be ended, and does not throw. */
  readonly giveUp?: () => void;
}

/**
 * Resolves like the work. Without an answer within 30 seconds, or within 5 seconds after the abort, it rejects. The work
 * goes on then: what it writes can still arrive.
 *
 * @throws The error of the work, or an Error that says who has not answered.
 */
export function answered<Result>(work: Promise<Result>, { what, signal, giveUp }: Wait): Promise<Result> {
  return new Promise((resolve, reject) => {
    let timer: ReturnType<typeof setTimeout> | undefined;
    const fail = (): void => {
      end();
      giveUp?.();
      reject(new Error(`${what} has not answered in time. What it was given to write can still arrive.`));
    };
    const start = (time: number): void => {
      clearTimeout(timer);
      timer = setTimeout(() => {
        timer = setTimeout(fail, GRACE);
      }, time);
    };
    const hurry = (): void => start(LONGEST_WAIT_AFTER_ABORT);
    const end = (): void => {
      clearTimeout(timer);
      // A listener keeps a joined signal alive, with everything that it closes over.
      signal?.removeEventListener("abort", hurry);
    };
    signal?.addEventListener("abort", hurry, { once: true });
    if (signal?.aborted) hurry();
    else start(LONGEST_WAIT);
    work.then(resolve, reject).finally(end);
  });
}
