/** One onion for all three layers. */

import { MiddlewareError } from "../errors.js";

/** Runs what lies further in. It may be called once, and must be awaited. */
export type Next = () => Promise<void>;

/**
 * Contract: calls `next` once and awaits it, or does not call it and sets `context.result`. It may throw:
 * `MiddlewareTermination` ends the layer with a result, anything else reaches the caller of the run.
 */
export type Handler<Context> = (context: Context, next: Next) => Promise<void>;

export interface Layer<Context> {
  /** What errors call it. */
  readonly name: string;
  readonly handle: Handler<Context>;
  /** Whether `next` may be called again once it has settled. */
  readonly mayRetry: boolean;
}

export interface Onion<Context> {
  /** The first one is outermost. */
  readonly layers: readonly Layer<Context>[];
  /** What is wrapped. */
  readonly core: (context: Context) => Promise<void>;
  /** Is told before a layer has it done all over again. */
  readonly onRetry?: (context: Context) => void;
}

export interface WithResult {
  /** Undefined as long as there is none. */
  result: unknown;
}

/** @throws MiddlewareError for a layer that breaks the contract of {@link Handler}, and what a layer or the core throws. */
export function compose<Context extends WithResult>({ layers, core, onRetry }: Onion<Context>) {
  const runFrom = (depth: number, context: Context): Promise<void> => {
    const layer = layers[depth];
    if (layer === undefined) return core(context);
    return runLayer(layer, context, async (isRetry) => {
      if (isRetry) onRetry?.(context);
      await runFrom(depth + 1, context);
    });
  };
  return (context: Context): Promise<void> => runFrom(0, context);
}

type Downstream = (isRetry: boolean) => Promise<void>;

async function runLayer<Context extends WithResult>(
  { name, handle, mayRetry }: Layer<Context>,
  context: Context,
  downstream: Downstream,
): Promise<void> {
  let calls = 0;
  let running: Promise<void> | undefined;
  let hasReturned = false;
  let misused: MiddlewareError | undefined;
  const misuse = (what: string) => new MiddlewareError(`The middleware \`${name}\` ${what}.`);
  const next = (): Promise<void> => {
    const broken = brokenRule({
      hasReturned,
      isRunning: running !== undefined,
      isSecond: calls > 0,
      mayRetry,
    });
    if (broken !== undefined) {
      misused ??= misuse(broken);
      return rejected(misused);
    }
    calls += 1;
    const settled = downstream(calls > 1).finally(() => {
      running = undefined;
    });
    running = settled;
    settled.catch(() => {});
    return settled;
  };
  let isAwaited = true;
  try {
    await handle(context, next);
  } finally {
    hasReturned = true;
    isAwaited = running === undefined;
    // Nothing may go on behind the back of a run that has ended.
    await Promise.allSettled([running]);
  }
  // Also one that the middleware caught, or did not wait for.
  if (misused !== undefined) throw misused;
  if (!isAwaited) throw misuse("returned before `next()` had. Write `await next()`");
  if (calls === 0 && context.result === undefined)
    throw misuse("neither called `next()` nor set `context.result`");
}

/** Whoever awaits it is told; whoever does not must not end the process. */
function rejected(error: Error): Promise<never> {
  const rejection = Promise.reject(error);
  rejection.catch(() => {});
  return rejection;
}

interface NextState {
  readonly hasReturned: boolean;
  readonly isRunning: boolean;
  readonly isSecond: boolean;
  readonly mayRetry: boolean;
}

function brokenRule({ hasReturned, isRunning, isSecond, mayRetry }: NextState): string | undefined {
  if (hasReturned) return "called `next()` after it had returned";
  if (isRunning) return "called `next()` again before it had returned";
  if (isSecond && !mayRetry) {
    return "called `next()` twice. Only a function middleware made with `{ retry: true }` may";
  }
  return undefined;
}
