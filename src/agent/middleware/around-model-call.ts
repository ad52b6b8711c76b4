/** Makes a model call inside its run's chat middleware. */

import type { AIMessage } from "@langchain/core/messages";
import { MiddlewareError } from "../../errors.js";
import { withoutStaleCalls } from "../../history/change-calls.js";
import { cloneMessage, isSameMessage } from "../../history/message.js";
import { deferred } from "../../shared/waiting.js";
import type { ChatContext, Hook } from "./contexts.js";
import type { ChatMiddleware } from "./middleware.js";
import { MiddlewareTermination, runOnion, type Span } from "./run-onion.js";

/** Contract: gets the complete response before the client gets any of it. Resolves to the client's response. */
export type Settle = (response: AIMessage) => Promise<AIMessage>;

/**
 * Contract: makes the model call that the fields describe, and resolves to its response. With `settle`, the client
 * gets nothing before `settle` has resolved, and the response is what `settle` resolved to.
 */
export type ModelCall = (hook: Hook<ChatContext>, settle: Settle | undefined) => Promise<AIMessage>;

export interface ChatOutcome {
  /** Undefined if a middleware ended the run without a result. */
  readonly message: AIMessage | undefined;
  /** Whether the run ends with this message. */
  readonly isTerminated: boolean;
}

/**
 * All listeners of the model's stream, including tracers, see the request that was sent and the final response. A
 * replaced response leaves no trace, because the stream waits for the middleware before it ends:
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
 * A middleware with `retry` can repeat the call. The earlier response is then discarded: its stream ends with an error
 * that only its listeners see. If the client already has it, `discard` takes it back.
 *
 * @param discard Contract: takes back a response that clients have but the history does not.
 * @throws MiddlewareError for a broken contract, and any error of a middleware or the model.
 */
export async function runModelMiddleware(
  layers: readonly ChatMiddleware[],
  hook: Hook<ChatContext>,
  call: ModelCall,
  discard: (response: AIMessage) => Promise<void>,
): Promise<ChatOutcome> {
  const mayChange = layers.some(({ readOnly }) => !readOnly);
  let attempt: Attempt | undefined;
  const core = async (): Promise<void> => {
    const current = beginAttempt((settle) => call(hook, mayChange ? settle : undefined));
    attempt = current;
    current.response = await current.answered;
    hook.settle({ result: cloneMessage(current.response) });
  };
  const drop = async (): Promise<void> => {
    const { response, streamed, end } = attempt ?? {};
    attempt = undefined;
    end?.(undefined);
    await streamed;
    if (response !== undefined && !mayChange) await discard(response);
  };
  const onRetry = (written: Span): Promise<void> => {
    hook.beginAttempt(written, { result: undefined });
    return drop();
  };
  const exit = await runOnion({ layers, core, onRetry, updates: hook.updates }, hook.view);
  try {
    if (exit.kind === "threw") throw exit.error;
    const given = hook.fields.result && cloneMessage(hook.fields.result);
    const response = attempt?.response;
    if (response !== undefined && !mayChange && !isSameMessage(given, response))
      throw new MiddlewareError(CHANGED);
    if (given === undefined && exit.kind === "returned") throw new MiddlewareError(MISSING);
    const message = given && response ? withoutStaleCalls(given, response) : given;
    attempt?.end(message);
    const streamed = await attempt?.streamed;
    return { message: message && (streamed ?? message), isTerminated: exit.kind === "terminated" };
  } catch (error) {
    await drop();
    throw error;
  }
}

interface Attempt {
  /** Resolves to the complete response of the model. */
  readonly answered: Promise<AIMessage>;
  /** The same, once the middleware has seen it. */
  response?: AIMessage;
  /**
   * Resolves when the stream has ended. If the stream waited for the middleware, resolves to the message that clients
   * have, with the id that they know. Never rejects.
   */
  readonly streamed: Promise<AIMessage | undefined>;
  /** Lets the stream end with this message. Undefined: with an error that only its listeners see. */
  readonly end: (message: AIMessage | undefined) => void;
}

function beginAttempt(call: (settle: Settle) => Promise<AIMessage>): Attempt {
  const ended = deferred<AIMessage | undefined>();
  const settled = deferred<AIMessage>();
  let hasSettled = false;
  const streaming = call(async (whole) => {
    hasSettled = true;
    settled.resolve(whole);
    const message = await ended.promise;
    if (message === undefined) throw new MiddlewareTermination();
    return message;
  });
  const streamed = streaming.then(
    (message) => (hasSettled ? message : undefined),
    () => undefined,
  );
  return { answered: Promise.race([settled.promise, streaming]), streamed, end: ended.resolve };
}

const CHANGED =
  "A chat middleware made with `{ readOnly: true }` changed `context.result`, which the client already has.";
const MISSING = "The chat middleware left no `context.result`.";
