/** Waits only as long as can be expected: for a signal, a time or a database. */

import { madeOnce } from "./values.js";

/**
 * Waits for work until a signal, if there is one, aborts. The work then continues, and nobody waits for it.
 *
 * @throws The abort's reason, or the work's error.
 */
export async function untilAborted<Result>(
  work: Promise<Result>,
  signal: AbortSignal | undefined,
): Promise<Result> {
  if (signal === undefined) return work;
  let stopListening = () => {};
  const aborted = new Promise<never>((_, reject) => {
    stopListening = onAbort(signal, () => reject(signal.reason));
  });
  try {
    return await Promise.race([work, aborted]);
  } finally {
    stopListening();
  }
}

/** A promise and its resolver. Newer versions of Node have it as `Promise.withResolvers`. */
export function deferred<Value>() {
  let resolve: (value: Value) => void = () => {};
  const promise = new Promise<Value>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

/** What waits for a signal's abort. Node warns about many listeners, and many of a run's calls and writes can wait. */
const listening = new WeakMap<
  AbortSignal,
  { readonly callbacks: Set<() => void>; readonly call: () => void }
>();

/**
 * Calls back when the signal aborts, and at once if it has.
 *
 * @returns The function that stops it. The last one leaves no listener, which would keep a joined signal alive.
 */
export function onAbort(signal: AbortSignal, callback: () => void): () => void {
  if (signal.aborted) {
    callback();
    return () => {};
  }
  const { callbacks, call } = madeOnce(listening, signal, () => {
    const callbacks = new Set<() => void>();
    const call = (): void => {
      for (const each of callbacks) each();
    };
    signal.addEventListener("abort", call, { once: true });
    return { callbacks, call };
  });
  callbacks.add(callback);
  return () => {
    callbacks.delete(callback);
    if (callbacks.size > 0) return;
    signal.removeEventListener("abort", call);
    listening.delete(signal);
  };
}

interface Deadline {
  /** The run's own signal. */
  readonly signal: AbortSignal | undefined;
  /** Milliseconds; undefined: no limit. */
  readonly timeoutMs: number | undefined;
  /** Makes the error that is thrown when the time is over. */
  readonly timeoutError: (timeoutMs: number) => Error;
  /** Whether to wait for the work after the run's abort. Then there is no time limit. */
  readonly outlivesAbort?: boolean;
}

/** Contract: waits for an answer. Until it comes, the time of the work stands still. */
export type StopClock = <Answer>(answer: Promise<Answer>) => Promise<Answer>;

/** For work without a limit, whose time nobody counts. */
export const asItIs: StopClock = (answer) => answer;

/**
 * Runs work that the run's signal or a time limit can abort. Work that ignores its signal is abandoned.
 *
 * @throws The timeout error, the reason of the run's abort, or the work's error.
 */
export async function withDeadline<T>(
  work: (signal: AbortSignal, stopClock: StopClock) => Promise<T>,
  { signal, timeoutMs, timeoutError, outlivesAbort = false }: Deadline,
): Promise<T> {
  const timeout = new AbortController();
  const joined = signal === undefined ? timeout.signal : AbortSignal.any([signal, timeout.signal]);
  let left = timeoutMs;
  let since = performance.now();
  let waiting = 0;
  let isOver = false;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const start = (): void => {
    if (left === undefined || isOver) return;
    since = performance.now();
    timer = setTimeout(() => timeout.abort(timeoutError(timeoutMs ?? 0)), left);
  };
  const stop = (): void => {
    isOver = true;
    clearTimeout(timer);
  };
  const stopClock: StopClock = async (answer) => {
    if (waiting === 0 && left !== undefined) {
      clearTimeout(timer);
      left = Math.max(0, left - (performance.now() - since));
    }
    waiting += 1;
    try {
      return await answer;
    } finally {
      waiting -= 1;
      if (waiting === 0) start();
    }
  };
  start();
  const stopListening = outlivesAbort && signal !== undefined ? onAbort(signal, stop) : undefined;
  try {
    return await untilAborted(work(joined, stopClock), outlivesAbort ? timeout.signal : joined);
  } catch (error) {
    // After a timeout, the work's error is only a consequence of the abort.
    throw timeout.signal.aborted ? timeout.signal.reason : error;
  } finally {
    stop();
    stopListening?.();
  }
}

/**
 * Waits for work, and abandons it if one of its steps takes too long. The work has its own signal, which then aborts,
 * and also aborts with the run's. `end` must be called, so that no timer or listener is left.
 */
export class Patience {
  readonly #controller = new AbortController();
  readonly #timeoutMs: number | undefined;
  readonly #stopListening: (() => void) | undefined;
  #isOver = false;
  #isWaiting = false;
  #giveUp: (reason: unknown) => void = () => {};
  #timer: ReturnType<typeof setTimeout> | undefined;

  /** @param timeoutMs How long a step may take. Undefined: no limit. */
  constructor(timeoutMs: number | undefined, signal: AbortSignal | undefined) {
    this.#timeoutMs = timeoutMs;
    this.#stopListening = signal && onAbort(signal, () => this.#end(signal.reason));
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Whether a step has taken too long. */
  get isOver(): boolean {
    return this.#isOver;
  }

  /**
   * Resolves like the work. Work that ignores its signal continues, and nobody waits for it. There is one promise and one
   * timer for all its steps, because a token is a step.
   *
   * @throws The work's error, an Error if a step takes too long, or the reason of the run's abort.
   */
  waitFor<Result>(work: Promise<Result>): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.#giveUp = reject;
      if (this.signal.aborted) reject(this.signal.reason);
      else this.begin();
      work.then(
        (result) => {
          this.rest();
          resolve(result);
        },
        (error: unknown) => {
          this.rest();
          reject(error);
        },
      );
    });
  }

  /** The work calls it between two steps, while nothing is expected of the other side. */
  rest(): void {
    this.#isWaiting = false;
  }

  /** The work calls it when its next step begins. */
  begin(): void {
    if (this.#timeoutMs === undefined) return;
    this.#isWaiting = true;
    if (this.#timer === undefined) this.#timer = setTimeout(() => this.#runOut(), this.#timeoutMs);
    else this.#timer.refresh();
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#stopListening?.();
  }

  #runOut(): void {
    // Between two steps nobody waits.
    if (!this.#isWaiting) return;
    this.#isOver = true;
    this.#end(new Error(`Nothing came for ${this.#timeoutMs} ms.`));
  }

  #end(reason: unknown): void {
    clearTimeout(this.#timer);
    this.#controller.abort(reason);
    this.#giveUp(reason);
  }
}

/*
 * Waits for a database only for as long as a user can be expected to.
 */

/** How long an answer is waited for, in milliseconds. */
const LONGEST_WAIT = 29_000;
/** The same after the run's abort. */
const LONGEST_WAIT_AFTER_ABORT = 4_000;
/** If other work has held this process up, an answer can be there already, so it gets this time to be read. */
const GRACE = 1_000;

interface Wait {
  /** Who should answer, as the subject of a sentence. */
  readonly what: string;
  /** The abort of the run that waits. */
  readonly signal?: AbortSignal | undefined;
  /** Contract: called when nobody waits any more. It ends what can be ended, and does not throw. */
  readonly giveUp?: () => void;
}

/**
 * Resolves like the work. Without an answer within 30 seconds, or within 5 seconds after the abort, it rejects. The
 * work then continues: its writes can still arrive.
 *
 * @throws The work's error, or an Error that says who has not answered.
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
    start(LONGEST_WAIT);
    const stopListening = signal && onAbort(signal, () => start(LONGEST_WAIT_AFTER_ABORT));
    const end = (): void => {
      clearTimeout(timer);
      stopListening?.();
    };
    work.then(
      (result) => {
        end();
        resolve(result);
      },
      (error: unknown) => {
        end();
        reject(error);
      },
    );
  });
}

/*
 * What work yields while it is running, even if nobody takes it.
 */

/** Who reads what work gives. */
export interface Reader<Item> {
  /** Gives an item. What nobody has taken yet is kept. */
  give(item: Item): void;
  /** Whether nobody takes any more. The work should then end soon. */
  hasLeft(): boolean;
}

type End = { readonly kind: "done" } | { readonly kind: "failed"; readonly error: unknown };

/**
 * Work as a generator of what it gives. It begins with the first `next`, and then continues even if nobody reads. A
 * caller that stops reading waits for its end.
 *
 * @throws The work's error, after everything that it has given.
 */
export async function* whileWorking<Item>(
  work: (reader: Reader<Item>) => Promise<void>,
): AsyncGenerator<Item, undefined> {
  let items: Item[] = [];
  let end: End | undefined;
  let hasLeft = false;
  let wake = (): void => {};
  const give = (item: Item): void => {
    items.push(item);
    wake();
  };
  const finish = (reached: End): void => {
    end = reached;
    wake();
  };
  const working = work({ give, hasLeft: () => hasLeft }).then(
    () => finish({ kind: "done" }),
    (error: unknown) => finish({ kind: "failed", error }),
  );
  try {
    for (;;) {
      const taken = items;
      items = [];
      for (const item of taken) yield item;
      if (items.length > 0) continue;
      if (end?.kind === "failed") throw end.error;
      if (end !== undefined) return undefined;
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  } finally {
    hasLeft = true;
    await working;
  }
}
