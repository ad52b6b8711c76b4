/** Makes a model call with the chat middleware of its run around it. */

import type { AIMessage } from "@langchain/core/messages";
import { MiddlewareError } from "../errors.js";
import { withoutStaleCalls } from "../history/calls/without-stale-calls.js";
import { cloneMessage, isSameMessage } from "../history/messages/clone-message.js";
import type { ChatContext } from "./chat-context.js";
import type { ChatMiddleware } from "./middleware.js";
import { runOnion } from "./run-onion.js";
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
 * @param takeBack Contract: tells the client to remove a response that is not stored.
 * @throws MiddlewareError for a broken contract, and any error of a middleware or of the model.
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
        // Without a response the stream ends with an error that only its listeners see.
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
  // The streamed message has the id that the client knows. If the model failed, a middleware may have set the response.
  const streamed = hasSettled ? await streaming?.catch(() => undefined) : undefined;
  return { ...outcome, message: outcome.message && (streamed ?? outcome.message) };
}

const CHANGED =
  "A chat middleware made with `{ readOnly: true }` changed `context.result`, which the client already has.";
const MISSING = "The chat middleware left no `context.result`.";
