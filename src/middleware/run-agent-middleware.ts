/** Runs an agent graph with its agent middleware around it. */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import type { Interrupt } from "@langchain/langgraph";
import { MiddlewareError } from "../errors.js";
import { callsOf, isAIMessage } from "../history/messages/call.js";
import { cloneMessage, isSameMessage } from "../history/messages/clone-message.js";
import { isResult } from "../history/messages/result.js";
import type { AgentContext } from "./agent-context.js";
import { withGuardedContext } from "./guard-writes.js";
import { Handoff } from "./handoff.js";
import type { AgentMiddleware } from "./middleware.js";
import { runOnion } from "./run-onion.js";

/** Messages that an agent middleware set. The graph stores them instead of asking the model. */
export interface GivenMessages {
  /** `"answer"`: the response of a run without a model call. `"correction"`: it replaces the response of a run. */
  readonly kind: "answer" | "correction";
  readonly messages: readonly BaseMessage[];
}

/** The outcome of a run. It is complete when the chunks of the run have ended. */
export interface RunOutcome {
  /** The history at the end of the run; undefined if the run did not begin. */
  readonly history: readonly BaseMessage[] | undefined;
  /** The questions that the run waits for. */
  readonly interrupts: readonly Interrupt[];
  /** The error that ended the run. It is thrown after the chunks of the run. */
  readonly failure: { readonly error: unknown } | undefined;
}

/** Contract: each function starts a run of the graph without its agent middleware. */
export interface GraphRuns<Chunk> {
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
  context: AgentContext,
  runs: GraphRuns<Chunk>,
): AsyncGenerator<Chunk> {
  const { signal } = context;
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
  const working = runLayers(layers, context, runs, send)
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
  context: AgentContext,
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
    context.settle(last && cloneMessage(last), record.interrupts);
    if (record.failure !== undefined) throw record.failure.error;
  };
  const guarded = withGuardedContext(layers, context, "agent");
  const exit = await runOnion({ layers: guarded, core }, context);
  if (exit.kind === "threw") throw exit.error;
  const result = context.result && cloneMessage(context.result);
  if (record === undefined) {
    await send(runs.answer({ kind: "answer", messages: result === undefined ? [] : [result] }));
  } else if (result !== undefined && !isSameMessage(result, last)) {
    const isAnswer = isAIMessage(result) && callsOf(result).length === 0;
    if (record.interrupts.length > 0 && !isAnswer) throw new MiddlewareError(WAITING);
    const history = record.history ?? context.messages;
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
