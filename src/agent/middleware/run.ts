/** Runs the middleware around a run, a model call and a tool call. */

import { type AIMessage, type BaseMessage, RemoveMessage, type ToolMessage } from "@langchain/core/messages";
import type { Interrupt } from "@langchain/langgraph";
import { MiddlewareError } from "../../errors.js";
import { callsOf, isAIMessage } from "../../history/call.js";
import { withoutStaleCalls } from "../../history/change-calls.js";
import { cloneMessage, isSameMessage } from "../../history/message.js";
import { isResult } from "../../history/result.js";
import { isLangGraphSignal } from "../../providers/failure/langgraph-signal.js";
import { isRecord } from "../../shared/values.js";
import type { AgentContext, ChatContext, FunctionContext, Hook } from "./contexts.js";
import type { AgentMiddleware, ChatMiddleware, FunctionMiddleware } from "./middleware.js";
import { type Exit, Handoff, MiddlewareTermination, runOnion, type Span } from "./run-onion.js";

/** Messages that an agent middleware set. The graph stores them instead of asking the model. */
export interface GivenMessages {
  /** `"answer"`: the response of a run without a model call. `"correction"`: it replaces the response of a run. */
  readonly kind: "answer" | "correction";
  readonly messages: readonly BaseMessage[];
}

/** The outcome of a run. It is complete when the chunks of the run have ended. */
interface RunOutcome {
  /** The history at the end of the run; undefined if the run did not begin. */
  readonly history: readonly BaseMessage[] | undefined;
  /** The questions that the run waits for. */
  readonly interrupts: readonly Interrupt[];
  /** The error that ended the run. It is thrown after the chunks of the run. */
  readonly failure: { readonly error: unknown } | undefined;
}

/** Contract: each function starts a run of the graph without its agent middleware. */
interface GraphRuns<Chunk> {
  /** Runs the graph with the messages and options that the context has now. */
  readonly start: () => { readonly chunks: AsyncIterable<Chunk>; readonly record: RunOutcome };
  /** Stores the input, and the given messages as the response instead of asking the model. */
  readonly answer: (given: GivenMessages) => AsyncIterable<Chunk>;
  /** Changes the result of a finished run. `history` is the one that the run left. */
  readonly correct: (given: GivenMessages, history: readonly BaseMessage[]) => AsyncIterable<Chunk>;
  /** Contract: calls `give` with each chunk that a middleware writes. */
  readonly onWrite: (give: (chunk: Chunk) => void) => void;
}

/** Yields the chunks of a run. A middleware continues after `next()` when the chunks of the graph have ended. */
export async function* runAgentMiddleware<Chunk>(
  layers: readonly AgentMiddleware[],
  hook: Hook<AgentContext>,
  runs: GraphRuns<Chunk>,
): AsyncGenerator<Chunk> {
  const { signal } = hook.fields;
  const handoff = new Handoff<Chunk>();
  /** The last chunk that was given. One is given at a time, in order. */
  let last: Promise<void> = Promise.resolve();
  const give = (chunk: Chunk): Promise<void> => {
    last = last.then(() => handoff.give(chunk));
    return last;
  };
  /** The run of the graph that goes on, without its error. */
  let running: Promise<unknown> = Promise.resolve();
  const send = (chunks: AsyncIterable<Chunk>): Promise<void> => {
    const sending = giveAll(chunks);
    running = sending.catch(() => {});
    return sending;
  };
  const giveAll = async (chunks: AsyncIterable<Chunk>): Promise<void> => {
    signal?.throwIfAborted();
    for await (const chunk of chunks) await give(chunk);
  };
  runs.onWrite((chunk) => {
    // A caller who has left does not need it.
    give(chunk).catch(() => {});
  });
  // After an abort, a middleware that ignores the signal is abandoned. The graph is not: it saves its last writes.
  signal?.throwIfAborted();
  const abort = () => handoff.fail(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  const working = runLayers(layers, hook, runs, send)
    .finally(() => last)
    .then(
      () => handoff.end(),
      (error) => handoff.fail(error),
    );
  try {
    yield* handoff.take();
  } finally {
    signal?.removeEventListener("abort", abort);
    await (signal?.aborted === true ? running : working);
  }
}

async function runLayers<Chunk>(
  layers: readonly AgentMiddleware[],
  hook: Hook<AgentContext>,
  runs: GraphRuns<Chunk>,
  send: (chunks: AsyncIterable<Chunk>) => Promise<void>,
): Promise<void> {
  let record: RunOutcome | undefined;
  /** The result that is stored in the thread. */
  let last: BaseMessage | undefined;
  const core = async (): Promise<void> => {
    const run = runs.start();
    record = run.record;
    await send(run.chunks);
    last = resultOf(record.history?.at(-1));
    // A copy, so that changes of a middleware are noticed.
    hook.settle({ result: last && cloneMessage(last), interrupts: record.interrupts });
    if (record.failure !== undefined) throw record.failure.error;
  };
  const exit = await runOnion({ layers, core }, hook.view);
  if (exit.kind === "threw") throw exit.error;
  const { result: left, messages: given } = hook.fields;
  const result = left && cloneMessage(left);
  if (record === undefined) {
    await send(runs.answer({ kind: "answer", messages: result === undefined ? [] : [result] }));
  } else if (result !== undefined && !isSameMessage(result, last)) {
    const isAnswer = isAIMessage(result) && callsOf(result).length === 0;
    if (record.interrupts.length > 0 && !isAnswer) throw new MiddlewareError(WAITING);
    const history = record.history ?? given;
    await send(runs.correct({ kind: "correction", messages: correct(last, result) }, history));
  }
}

const WAITING =
  "An agent middleware changed `context.result` of a run that waits for a human. Leave it as it is while `context.interrupts` is not empty, or set a text, which ends the wait.";

/** The result of a run: its last message, if it is a response or a tool result. */
function resultOf(last: BaseMessage | undefined): BaseMessage | undefined {
  return last !== undefined && (isAIMessage(last) || isResult(last)) ? last : undefined;
}

/**
 * A text after a tool result is a new message. A text that ends a wait is a new message too: if it replaced the message
 * with the calls, their results would be removed, though some of the tools may have run.
 */
function correct(last: BaseMessage | undefined, result: BaseMessage): BaseMessage[] {
  const endsWait = last !== undefined && callsOf(last).length > 0 && callsOf(result).length === 0;
  return last?.id === undefined || last.type !== result.type || endsWait
    ? [result]
    : [new RemoveMessage({ id: last.id }), result];
}

/*
 * Makes a model call with the chat middleware of its run around it.
 */

/**
 * Contract: gets the complete response before the client gets any of it. Resolves to the response that the client gets.
 */
export type Settle = (answer: AIMessage) => Promise<AIMessage>;

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
  hook: Hook<ChatContext>,
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
      current.streaming = call(hook, mayChange ? settle : undefined);
      current.streaming.then(resolve, reject);
    });
    current.answer = whole;
    hook.settle({ result: cloneMessage(whole) });
  };
  const onRetry = async (written: Span): Promise<void> => {
    hook.beginAttempt(written, { result: undefined });
    const { answer, streaming } = attempt ?? {};
    attempt?.abandon();
    attempt = undefined;
    await Promise.allSettled([streaming]);
    if (answer !== undefined) await discard(answer, !mayChange);
  };
  const leave = async (): Promise<ChatOutcome> => {
    const exit = await runOnion({ layers, core, onRetry, updates: hook.updates }, hook.view);
    if (exit.kind === "threw") throw exit.error;
    const given = hook.fields.result && cloneMessage(hook.fields.result);
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

/*
 * Runs a tool call with the function middleware of its run around it.
 */

/** How a tool call can end without running its tool. */
type SkippedCall =
  | { readonly kind: "invalid-arguments"; readonly detail: string }
  | { readonly kind: "threw"; readonly error: unknown }
  | { readonly kind: "ended" };

export interface FinalizedCall<Update> {
  readonly result: ToolMessage;
  /** What the tool threw; undefined if it returned. */
  readonly error?: unknown;
  /** Whether the run ends if the result stays as it is. */
  readonly endsRun?: boolean;
  /** Makes the update that the call writes to the thread, with the given result in place of its own. */
  readonly updateWith: (given: ToolMessage, options?: { readonly endsRun: boolean }) => Update;
}

/** What the middleware needs to run a call. */
interface ToolRun<Outcome, Update> {
  /** Contract: runs the tool once. It throws only LangGraph's own signals and the abort of the run. */
  readonly execute: (args: Readonly<Record<string, unknown>>) => Promise<Outcome>;
  /** Contract: makes the result of the call, no matter how it ended. */
  readonly finalize: (outcome: Outcome | SkippedCall) => FinalizedCall<Update>;
  /**
   * Contract: stores the error of a middleware without throwing it. The gate ends the run, and its caller gets the
   * error after the other calls of the batch have finished.
   */
  readonly noteFailure: (error: unknown) => void;
}

/** @throws only LangGraph's own signals and the reason of the run's abort. */
export async function runToolMiddleware<Outcome, Update>(
  layers: readonly FunctionMiddleware[],
  hook: Hook<FunctionContext>,
  { execute, finalize, noteFailure }: ToolRun<Outcome, Update>,
): Promise<Update> {
  let done: FinalizedCall<Update> | undefined;
  let thrown: { readonly error: unknown } | undefined;
  const core = async (): Promise<void> => {
    try {
      const { arguments: args } = hook.fields;
      done = finalize(isRecord(args) ? await execute(args) : INVALID_ARGUMENTS);
      hook.settle({ result: done.result, error: done.error });
    } catch (error) {
      thrown = { error };
      throw error;
    }
  };
  const onRetry = (written: Span): void => hook.beginAttempt(written, { error: undefined });
  const exit = await runOnion({ layers, core, onRetry, updates: hook.updates }, hook.view);
  // An interrupt must pass even if a middleware catches every error.
  if (thrown !== undefined) throw thrown.error;
  if (exit.kind === "threw") {
    if (isLangGraphSignal(exit.error) || hook.fields.signal?.aborted === true) throw exit.error;
    noteFailure(exit.error);
  }
  // The result of the tool is kept even if a middleware threw after it.
  const { result, updateWith, endsRun = false } = done ?? finalize(outcomeWithoutTool(exit));
  const last = hook.fields.result ?? result;
  return updateWith(last, { endsRun: exit.kind === "terminated" || (endsRun && last === result) });
}

const INVALID_ARGUMENTS = {
  kind: "invalid-arguments",
  detail: "A function middleware set `context.arguments` to a value that is not an object.",
} as const satisfies SkippedCall;

function outcomeWithoutTool(exit: Exit): SkippedCall {
  return exit.kind === "threw" ? exit : { kind: "ended" };
}
