/** Makes a model call with the chat middleware of its run around it. */

import type { AIMessage } from "@langchain/core/messages";
import { MiddlewareError } from "../errors.js";
import { withoutStaleCalls } from "../history/calls/without-stale-calls.js";
import { cloneMessage, isSameMessage } from "../history/messages/clone-message.js";
import type { ChatContext } from "./chat-context.js";
import { withGuardedContext } from "./guard-writes.js";
import type { ChatMiddleware } from "./middleware.js";
import { runOnion, type Span } from "./run-onion.js";
import { MiddlewareTermination } from "./termination.js";

/**
 * Contract: gets the complete response before the client gets any of it. Resolves to the response that the client gets.
 */
export type Settle = (answer: AIMessage) => Promise<AIMessage>;

/**
 * Contract: makes the model call that the context describes, and resolves to its response. With `settle`, the client
 * gets nothing before `settle` has resolved, and the response is what `settle` resolved to.
 */
export type ModelCall = (context: ChatContext, settle: Settle | undefined) => Promise<AIMessage>;

export interface ChatOutcome {
  /** Undefined if a middleware ended the run without a result. */
  readonly message: AIMessage | undefined;
  /** Whether the run ends with this message. */
  readonly isTerminated: boolean;
}

/**
 * Every listener of the model's stream, tracers included, sees the request that was sent and the final response. A
 * response that a middleware replaces leaves no trace, because the stream waits for the middleware before it ends:
 *
 * ```text
 *  client            model stream             settle             middleware
 *    │                    │ ◄───────────────────────────────── next() ─┤
 *    │                    │ receives all pieces                        │ waits
 *    │                    ├─ response ──────► │ ─── resolves next() ─► │
 *    │                    │ waits             │ waits                  │ may change the result
 *    │                    │ ◄ final response ─┤ ◄──────────── returns ─┤
 *    │ ◄─ final response ─┤ ends              │                        │
 * ```
 *
 * If all middleware is read-only, `settle` is undefined. The client receives each piece as it arrives, and `next()`
 * resolves after the stream has ended.
 *
 * A middleware with `retry` can make the call again. The response before is then discarded: its stream ends with an
 * error that only its listeners see, or, if the client has it already, `discard` takes it back.
 *
 * @param discard Contract: called with a response that is not stored. Takes it back if clients have it.
 * @throws MiddlewareError for a broken contract, and any error of a middleware or of the model.
 */
export async function runModelMiddleware(
  layers: readonly ChatMiddleware[],
  context: ChatContext,
  call: ModelCall,
  discard: (answer: AIMessage, isShown: boolean) => Promise<void>,
): Promise<ChatOutcome> {
  const mayChange = layers.some(({ readOnly }) => !readOnly);
  let attempt: Attempt | undefined;
  const core = async (): Promise<void> => {
    const current = new Attempt();
    attempt = current;
    const whole = await new Promise<AIMessage>((resolve, reject) => {
      const settle: Settle = async (whole) => {
        current.hasSettled = true;
        resolve(whole);
        const left = await Promise.race([leaving, current.abandoned]);
        // Without a response the stream ends with an error that only its listeners see.
        if (left?.message === undefined) throw new MiddlewareTermination();
        return left.message;
      };
      current.streaming = call(context, mayChange ? settle : undefined);
      current.streaming.then(resolve, reject);
    });
    current.answer = whole;
    context.settle(cloneMessage(whole));
  };
  const countUpdates = (): number => context.updates.length;
  const onRetry = async (_context: ChatContext, written: Span): Promise<void> => {
    context.beginAttempt(written);
    const { answer, streaming } = attempt ?? {};
    attempt?.abandon();
    attempt = undefined;
    await Promise.allSettled([streaming]);
    if (answer !== undefined) await discard(answer, !mayChange);
  };
  const leave = async (): Promise<ChatOutcome> => {
    const guarded = withGuardedContext(layers, context, "chat");
    const exit = await runOnion({ layers: guarded, core, onRetry, countUpdates }, context);
    if (exit.kind === "threw") throw exit.error;
    const given = context.result && cloneMessage(context.result);
    const answer = attempt?.answer;
    if (answer !== undefined && !mayChange && !isSameMessage(given, answer))
      throw new MiddlewareError(CHANGED);
    if (given === undefined && exit.kind === "returned") throw new MiddlewareError(MISSING);
    const message = given && answer ? withoutStaleCalls(given, answer) : given;
    return { message, isTerminated: exit.kind === "terminated" };
  };
  const leaving = leave();
  const outcome = await leaving.catch(async (error: unknown) => {
    await Promise.allSettled([attempt?.streaming]);
    if (attempt?.answer !== undefined && !mayChange) await discard(attempt.answer, true);
    throw error;
  });
  await Promise.allSettled([attempt?.streaming]);
  // The streamed message has the id that the client knows. If the model failed, a middleware may have set the response.
  const streamed = attempt?.hasSettled ? await attempt.streaming?.catch(() => undefined) : undefined;
  return { ...outcome, message: outcome.message && (streamed ?? outcome.message) };
}

/** One call of the model. */
class Attempt {
  streaming: Promise<AIMessage> | undefined;
  answer: AIMessage | undefined;
  hasSettled = false;
  /** Resolves when a middleware makes the call again. */
  readonly abandoned: Promise<undefined>;
  abandon: () => void = () => {};

  constructor() {
    this.abandoned = new Promise((resolve) => {
      this.abandon = () => resolve(undefined);
    });
  }
}

const CHANGED =
  "A chat middleware made with `{ readOnly: true }` changed `context.result`, which the client already has.";
const MISSING = "The chat middleware left no `context.result`.";
