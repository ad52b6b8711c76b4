/** Runs layers of middleware around a core. All three kinds of middleware use it. */

import type { BaseMessage } from "@langchain/core/messages";
import { MiddlewareError } from "../../errors.js";

/** Runs the inner layers and the core. Call it once and await it. With `retry`, it can be called again. */
export type Next = () => Promise<void>;

/**
 * Contract: calls `next` once and awaits it, or sets `context.result` without calling it. It may throw. A
 * `MiddlewareTermination` ends the layer with a result. Any other error reaches the run's caller.
 */
export type Handler<Context> = (context: Context, next: Next) => Promise<void>;

export interface Layer<Context> {
  /** The name in error messages. */
  readonly name: string;
  readonly handle: Handler<Context>;
  /** Whether `next` can be called again after it has settled. */
  readonly mayRetry: boolean;
}

interface Onion<Context> {
  /** The first layer is the outermost. */
  readonly layers: readonly Layer<Context>[];
  /** The work inside all layers. */
  readonly core: (context: Context) => Promise<void>;
  /**
   * Contract: called before a layer runs the inner layers again, which waits for it. The span covers what the inner
   * layers wrote last time.
   */
  readonly onRetry?: (written: Span) => void | Promise<void>;
  /** The state updates that the layers wrote. @default none */
  readonly updates?: readonly unknown[];
}

/** Positions in a list: `from` is the first one, and `to` is after the last one. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

interface WithResult {
  /** Undefined until there is a result. */
  result: unknown;
}

/** How an onion was left. */
export type Exit =
  /** The outermost layer returned, with or without having called `next()`. */
  | { readonly kind: "returned" }
  /** The layers ended with a `MiddlewareTermination`. Its result is in the context. */
  | { readonly kind: "terminated" }
  /** A layer or the core threw, or a layer broke the contract of `Handler`. */
  | { readonly kind: "threw"; readonly error: unknown };

/** Runs the layers around the core. Never rejects: errors are part of the `Exit`. */
export function runOnion<Context extends WithResult>(
  { layers, core, onRetry, updates = [] }: Onion<Context>,
  context: Context,
): Promise<Exit> {
  const runFrom = async (depth: number): Promise<void> => {
    const layer = layers[depth];
    if (layer === undefined) return core(context);
    let written: Span = { from: 0, to: 0 };
    return runLayer(layer, context, async (isRetry) => {
      if (isRetry) await onRetry?.(written);
      const from = updates.length;
      await runFrom(depth + 1).finally(() => {
        written = { from, to: updates.length };
      });
    });
  };
  return runFrom(0)
    .then(
      (): Exit => ({ kind: "returned" }),
      (error: unknown) => terminate(error, context),
    )
    .catch((error: unknown) => ({ kind: "threw", error }));
}

/** @throws any error that is not a termination, and the error of the context for an invalid result. */
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
    return "called `next()` twice. Only a chat or function middleware made with `{ retry: true }` can do so";
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
    // A middleware that does not await it is reported below. An unhandled rejection would end the process.
    entered.catch(() => {});
    return entered;
  };
  let isAwaited = true;
  try {
    await handle(context, next);
  } finally {
    hasReturned = true;
    isAwaited = running === undefined;
    // The inner layers must not run after the layer has ended.
    await Promise.allSettled([running]);
  }
  // Thrown again, because the middleware may have caught the error or not awaited it.
  if (misused !== undefined) throw misused;
  if (!isAwaited) throw misuse("returned before `next()` had. Write `await next()`");
  if (calls === 0 && context.result === undefined)
    throw misuse("neither called `next()` nor set `context.result`");
}

const TERMINATION = Symbol.for("langgraph-tether.termination");

/**
 * Ends the layer of the middleware that throws it, without a failure. Outer middleware of the same kind skips its code
 * after `next()`. The result is the one that it carries, or else `context.result`.
 *
 * - agent: the run ends with that response.
 * - chat: the run ends after this model call. Its tool calls are not run.
 * - function: the other calls of the batch finish, and the model is not asked again.
 *
 * @example
 * ```ts
 * import { tool } from "@langchain/core/tools";
 * import { createAgentGraph, functionMiddleware, MiddlewareTermination } from "langgraph-tether";
 * import { z } from "zod";
 *
 * const sky = tool(async () => "clear", { name: "sky", description: "Looks up.", schema: z.object({}) });
 * const quota = functionMiddleware(async function quota() {
 *   throw new MiddlewareTermination("The quota is used up.");
 * });
 * const agent = createAgentGraph({ model: "offline:", tools: [sky], middleware: [quota] });
 * const { messages } = await agent.invoke({ messages: [{ role: "user", content: "call sky" }] });
 * console.log(messages.at(-1)?.text); // The quota is used up.
 * ```
 */
export class MiddlewareTermination extends Error {
  override readonly name = "MiddlewareTermination";
  readonly result: BaseMessage | string | undefined;
  readonly [TERMINATION] = true;

  constructor(result?: BaseMessage | string) {
    super("A middleware has ended its layer.");
    this.result = result;
  }

  /** Like `instanceof`, but also true for an error of another copy of this package. */
  static isInstance(error: unknown): error is MiddlewareTermination {
    return typeof error === "object" && error !== null && TERMINATION in error;
  }
}
