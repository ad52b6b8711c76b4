/** Runs the middleware around a run and around a model call. That of a tool call is in `agent/calls/call.ts`. */

import { type AIMessage, type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import type { Interrupt } from "@langchain/langgraph";
import { MiddlewareError } from "../../errors.js";
import { callsOf, isAIMessage } from "../../history/call.js";
import { withoutStaleCalls } from "../../history/change-calls.js";
import { cloneMessage, isSameMessage } from "../../history/message.js";
import { isResult } from "../../history/result.js";
import { deferred, untilAborted } from "../../shared/waiting.js";
import type { AgentContext, ChatContext, Hook } from "./contexts.js";
import type { AgentMiddleware, ChatMiddleware } from "./middleware.js";
import { MiddlewareTermination, runOnion, type Span } from "./run-onion.js";

/** Messages that an agent middleware set. The graph stores them instead of asking the model. */
export interface GivenMessages {
  /**
   * `"response"`: the response of a run without a model call. `"correction"`: a message that replaces a run's response.
   */
  readonly kind: "response" | "correction";
  readonly messages: readonly BaseMessage[];
}

/** The outcome of a run. It is complete once the run's chunks have ended. */
interface RunOutcome {
  /** The history at the end of the run; undefined if the run did not begin. */
  readonly history: readonly BaseMessage[] | undefined;
  /** The questions that the run waits for. */
  readonly interrupts: readonly Interrupt[];
  /** The error that ended the run. It is thrown after the chunks of the run. */
  readonly failure: { readonly error: unknown } | undefined;
}

/** Contract: each function that starts a run of the graph starts it without its agent middleware. */
export interface GraphRuns {
  /** Runs the graph with the messages and options that the context has now. */
  readonly start: () => { readonly ended: Promise<void>; readonly record: RunOutcome };
  /** Stores the input, with the given messages as the response. The model is not asked. */
  readonly respond: (given: GivenMessages) => Promise<void>;
  /** Changes the result of a finished run. `history` is the one that the run left. */
  readonly correct: (given: GivenMessages, history: readonly BaseMessage[]) => Promise<void>;
  /** Contract: throws if nobody reads the run any more. */
  readonly assertRead: () => void;
}

/** Runs the graph inside middleware. A middleware continues after `next()` once the graph's run has ended. */
export async function runAgentMiddleware(
  layers: readonly AgentMiddleware[],
  hook: Hook<AgentContext>,
  runs: GraphRuns,
): Promise<void> {
  const { signal } = hook.fields;
  let running: Promise<void> | undefined;
  const assertGoesOn = (): void => {
    signal?.throwIfAborted();
    runs.assertRead();
  };
  const pass = async (start: () => Promise<void>): Promise<void> => {
    assertGoesOn();
    try {
      running = start();
      await running;
    } finally {
      // A middleware gets the abort's reason, not what the graph makes of it.
      assertGoesOn();
    }
  };
  const work = async (): Promise<void> => {
    assertGoesOn();
    let record: RunOutcome | undefined;
    /** The result that is stored in the thread. */
    let last: BaseMessage | undefined;
    const core = async (): Promise<void> => {
      await pass(() => {
        const run = runs.start();
        record = run.record;
        return run.ended;
      });
      last = resultOfRun(record?.history?.at(-1));
      // A copy, so that a middleware's changes are noticed.
      hook.settle({ result: last && cloneMessage(last), interrupts: record?.interrupts ?? [] });
      if (record?.failure !== undefined) throw record.failure.error;
    };
    const exit = await runOnion({ layers, core }, hook.view);
    if (exit.kind === "threw") throw exit.error;
    const { result: left, messages: given } = hook.fields;
    const result = left && cloneMessage(left);
    if (record === undefined) {
      const messages = result === undefined ? [] : [result];
      await pass(() => runs.respond({ kind: "response", messages }));
    } else if (result !== undefined && !isSameMessage(result, last)) {
      const { interrupts, history = given } = record;
      const isAnswer = isAIMessage(result) && callsOf(result).length === 0;
      if (interrupts.length > 0 && !isAnswer) throw new MiddlewareError(WAITING);
      const messages = correct(last, result);
      await pass(() => runs.correct({ kind: "correction", messages }, history));
    } else assertGoesOn();
  };
  try {
    // After an abort, a middleware that ignores the signal is abandoned.
    await untilAborted(work(), signal);
  } finally {
    // The run still saves its last writes.
    await running?.catch(() => {});
  }
}

const WAITING =
  "An agent middleware changed `context.result` of a run that waits for a human. Leave it as it is while `context.interrupts` is not empty, or set a text, which ends the wait.";

/** The result of a run: its last message, if that is a response or a tool result. */
function resultOfRun(last: BaseMessage | undefined): BaseMessage | undefined {
  return last !== undefined && (isAIMessage(last) || isResult(last)) ? last : undefined;
}

/**
 * A text after a tool result is a new message. So is a text that ends a wait: replacing the message with the calls
 * would remove their results, though some tools may have run.
 */
function correct(last: BaseMessage | undefined, result: BaseMessage): BaseMessage[] {
  const endsWait = last !== undefined && callsOf(last).length > 0 && callsOf(result).length === 0;
  return last?.id === undefined || last.type !== result.type || endsWait
    ? [result]
    : [new RemoveMessage({ id: last.id }), result];
}

/*
 * Makes a model call inside its run's chat middleware.
 */

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
