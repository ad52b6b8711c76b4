/** One model call, through the chat middleware of its run. */

import type { AIMessage } from "@langchain/core/messages";
import { MiddlewareError } from "../errors.js";
import { withoutStaleCalls } from "../history/calls/without-stale-calls.js";
import { cloneMessage, isSameMessage } from "../history/messages/clone-message.js";
import type { ChatContext } from "./chat-context.js";
import type { ChatMiddleware } from "./middleware.js";
import { runOnion } from "./run-onion.js";
import { MiddlewareTermination } from "./termination.js";

/** Contract: is handed the whole answer before the client has any of it; resolves to what the client gets. */
export type Settle = (answer: AIMessage) => Promise<AIMessage>;

/**
 * Contract: makes the model call that the context describes and resolves to its answer. With `settle`, nothing goes to
 * the client before that has resolved, and what it resolves to is the answer.
 */
export type ModelCall = (context: ChatContext, settle: Settle | undefined) => Promise<AIMessage>;

export interface ChatOutcome {
  /** Undefined if a middleware ended the run without a result. */
  readonly message: AIMessage | undefined;
  /** Whether the run ends with it. */
  readonly isTerminated: boolean;
}

/**
 * Everything that listens to the model's stream, tracers too, sees the request that was sent and the final answer. An
 * answer that a middleware replaces leaves no trace, because the stream waits for the middleware before it ends:
 *
 * ```text
 *  client            model stream             settle             middleware
 *    │                    │ ◄───────────────────────────────── next() ─┤
 *    │                    │ receives all pieces                        │ waits
 *    │                    ├─ whole answer ──► │ ─── resolves next() ─► │
 *    │                    │ waits             │ waits                  │ may change the result
 *    │                    │ ◄── final answer ─┤ ◄──────────── returns ─┤
 *    │ ◄── final answer ──┤ ends              │                        │
 * ```
 *
 * If all middleware is read-only there is no settle: the client receives each piece as it comes, the stream ends, and
 * only then `next()` resolves.
 *
 * @param takeBack Contract: takes back what the client has of an answer that is not kept.
 * @throws what a middleware throws, or the model, or MiddlewareError.
 */
export async function runModelMiddleware(
  layers: readonly ChatMiddleware[],
  context: ChatContext,
  call: ModelCall,
  takeBack: (answer: AIMessage) => Promise<void>,
): Promise<ChatOutcome> {
  const mayChange = layers.some(({ readOnly }) => !readOnly);
  let streaming: Promise<AIMessage> | undefined;
  let hasSettled = false;
  let answer: AIMessage | undefined;
  const core = async (): Promise<void> => {
    const whole = await new Promise<AIMessage>((resolve, reject) => {
      const settle: Settle = async (whole) => {
        hasSettled = true;
        resolve(whole);
        const { message } = await leaving;
        // Without an answer the stream ends with an error that only its listeners see.
        if (message === undefined) throw new MiddlewareTermination();
        return message;
      };
      streaming = call(context, mayChange ? settle : undefined);
      streaming.then(resolve, reject);
    });
    answer = whole;
    context.result = cloneMessage(whole);
  };
  const leave = async (): Promise<ChatOutcome> => {
    const exit = await runOnion({ layers, core }, context);
    if (exit.kind === "threw") throw exit.error;
    const given = context.result && cloneMessage(context.result);
    if (answer !== undefined && !mayChange && !isSameMessage(given, answer))
      throw new MiddlewareError(CHANGED);
    if (given === undefined && exit.kind === "returned") throw new MiddlewareError(MISSING);
    const message = given && answer ? withoutStaleCalls(given, answer) : given;
    return { message, isTerminated: exit.kind === "terminated" };
  };
  const leaving = leave();
  const outcome = await leaving.catch(async (error: unknown) => {
    await Promise.allSettled([streaming]);
    if (answer !== undefined && !mayChange) await takeBack(answer);
    throw error;
  });
  await Promise.allSettled([streaming]);
  // With the id under which the client has it. A middleware may also have answered for a model that failed.
  const streamed = hasSettled ? await streaming?.catch(() => undefined) : undefined;
  return { ...outcome, message: outcome.message && (streamed ?? outcome.message) };
}

const CHANGED =
  "A chat middleware made with `{ readOnly: true }` changed `context.result`, which the client already has.";
const MISSING = "The chat middleware left no `context.result`.";
