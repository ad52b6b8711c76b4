/** One onion for all three kinds of middleware. */

import { MiddlewareError } from "../errors.js";
import { MiddlewareTermination } from "./termination.js";

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
  /** Is told before a layer runs again what lies further in. */
  readonly onRetry?: (context: Context) => void;
}

export interface WithResult {
  /** Undefined until there is one. */
  result: unknown;
}

/** How an onion was left. */
export type Exit =
  /** The outermost layer returned, with or without having called `next()`. */
  | { readonly kind: "returned" }
  /** A `MiddlewareTermination` came out. Its result is now the context's. */
  | { readonly kind: "terminated" }
  /** By what a layer or the core threw, or by a MiddlewareError for a layer that broke the contract of `Handler`. */
  | { readonly kind: "threw"; readonly error: unknown };

/** Never throws. */
export function runOnion<Context extends WithResult>(
  { layers, core, onRetry }: Onion<Context>,
  context: Context,
): Promise<Exit> {
  const runFrom = async (depth: number): Promise<void> => {
    const layer = layers[depth];
    if (layer === undefined) return core(context);
    return runLayer(layer, context, async (isRetry) => {
      if (isRetry) onRetry?.(context);
      await runFrom(depth + 1);
    });
  };
  return runFrom(0)
    .then(
      (): Exit => ({ kind: "returned" }),
      (error: unknown) => terminate(error, context),
    )
    .catch((error: unknown) => ({ kind: "threw", error }));
}

/** @throws what is not a termination, and what the context throws for a result that it cannot have. */
function terminate(error: unknown, context: WithResult): Exit {
  if (!MiddlewareTermination.isInstance(error)) throw error;
  if (error.result !== undefined) context.result = error.result;
  return { kind: "terminated" };
}

async function runLayer<Context extends WithResult>(
  { name, handle, mayRetry }: Layer<Context>,
  context: Context,
  downstream: (isRetry: boolean) => Promise<void>,
): Promise<void> {
  let calls = 0;
  let running: Promise<void> | undefined;
  let hasReturned = false;
  let misused: MiddlewareError | undefined;
  const misuse = (what: string) => new MiddlewareError(`The middleware \`${name}\` ${what}.`);
  const brokenRule = (): string | undefined => {
    if (hasReturned) return "called `next()` after it had returned";
    if (running !== undefined) return "called `next()` again before it had returned";
    if (calls === 0 || mayRetry) return undefined;
    return "called `next()` twice. Only a function middleware made with `{ retry: true }` may";
  };
  const enter = async (): Promise<void> => {
    const broken = brokenRule();
    if (broken !== undefined) {
      misused ??= misuse(broken);
      throw misused;
    }
    calls += 1;
    running = downstream(calls > 1).finally(() => {
      running = undefined;
    });
    await running;
  };
  const next: Next = () => {
    const entered = enter();
    // A middleware that does not await it is told below; an unhandled rejection would end the process.
    entered.catch(() => {});
    return entered;
  };
  let isAwaited = true;
  try {
    await handle(context, next);
  } finally {
    hasReturned = true;
    isAwaited = running === undefined;
    // Nothing may still run when the layer has ended.
    await Promise.allSettled([running]);
  }
  // Thrown here too, because the middleware may have caught it or not awaited it.
  if (misused !== undefined) throw misused;
  if (!isAwaited) throw misuse("returned before `next()` had. Write `await next()`");
  if (calls === 0 && context.result === undefined)
    throw misuse("neither called `next()` nor set `context.result`");
}
