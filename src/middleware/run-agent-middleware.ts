/** One run of an agent graph, through its agent middleware. */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import type { Interrupt } from "@langchain/langgraph";
import { MiddlewareError } from "../errors.js";
import { callsOf, isAIMessage } from "../history/messages/call.js";
import { cloneMessage, isSameMessage } from "../history/messages/clone-message.js";
import { isResult } from "../history/messages/result.js";
import type { AgentContext } from "./agent-context.js";
import { Handoff } from "./handoff.js";
import type { AgentMiddleware } from "./middleware.js";
import { runOnion } from "./run-onion.js";

/** What an agent middleware gives to its thread: the graph writes it instead of asking the model. */
export interface GivenMessages {
  /** An answer without a run, or a correction of the answer that a run has written. */
  readonly kind: "answer" | "correction";
  readonly messages: readonly BaseMessage[];
}

/** What a run came to. Complete when its chunks have ended. */
export interface RunOutcome {
  /** The history as the run left it; undefined if the run did not get so far. */
  readonly history: readonly BaseMessage[] | undefined;
  /** What the run waits for. */
  readonly interrupts: readonly Interrupt[];
  /** What ended the run and is thrown when its chunks have ended. */
  readonly failure: { readonly error: unknown } | undefined;
}

/** Contract: each begins a run of the graph itself, without its agent middleware. */
export interface GraphRuns<Chunk> {
  /** With the messages and options that the context has now. */
  readonly start: () => { readonly chunks: AsyncIterable<Chunk>; readonly record: RunOutcome };
  /** Takes the input, and writes an answer instead of asking the model. */
  readonly answer: (given: GivenMessages) => AsyncIterable<Chunk>;
  /** Changes what a run has left, which is the given history. */
  readonly correct: (given: GivenMessages, history: readonly BaseMessage[]) => AsyncIterable<Chunk>;
}

/** The chunks of a run. Code after `next()` in a middleware runs when the chunks of the graph have ended. */
export async function* runAgentMiddleware<Chunk>(
  layers: readonly AgentMiddleware[],
  context: AgentContext,
  runs: GraphRuns<Chunk>,
): AsyncGenerator<Chunk> {
  const handoff = new Handoff<Chunk>();
  const send = async (chunks: AsyncIterable<Chunk>): Promise<void> => {
    for await (const chunk of chunks) await handoff.give(chunk);
  };
  // A middleware that ignores the signal is not waited for.
  const { signal } = context;
  signal?.throwIfAborted();
  const abort = () => handoff.fail(signal?.reason);
  signal?.addEventListener("abort", abort, { once: true });
  const working = runLayers(layers, context, runs, send).then(
    () => handoff.end(),
    (error) => handoff.fail(error),
  );
  try {
    yield* handoff.take();
  } finally {
    signal?.removeEventListener("abort", abort);
    if (signal?.aborted !== true) await working;
  }
}

async function runLayers<Chunk>(
  layers: readonly AgentMiddleware[],
  context: AgentContext,
  runs: GraphRuns<Chunk>,
  send: (chunks: AsyncIterable<Chunk>) => Promise<void>,
): Promise<void> {
  let record: RunOutcome | undefined;
  /** The result as it is in the thread. */
  let last: BaseMessage | undefined;
  const core = async (): Promise<void> => {
    const run = runs.start();
    record = run.record;
    await send(run.chunks);
    last = resultOf(record.history?.at(-1));
    // A copy: what a middleware writes into it must be seen as a change.
    context.settle(last && cloneMessage(last), record.interrupts);
    if (record.failure !== undefined) throw record.failure.error;
  };
  const exit = await runOnion({ layers, core }, context);
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
  "An agent middleware changed `context.result` of a run that waits for a human, and whose calls are still open. Leave it as it is where `context.interrupts` has any, or set a text, which ends the wait.";

/** Undefined for a run that ended without a response: the user's message is its last one. */
function resultOf(last: BaseMessage | undefined): BaseMessage | undefined {
  return last !== undefined && (isAIMessage(last) || isResult(last)) ? last : undefined;
}

/**
 * A text after a tool result is a message of its own. So is a text that ends a wait: replacing the message with the calls
 * would remove their results, and some of the tools may have run.
 */
function correct(last: BaseMessage | undefined, result: BaseMessage): BaseMessage[] {
  const endsWait = last !== undefined && callsOf(last).length > 0 && callsOf(result).length === 0;
  return last?.id === undefined || last.type !== result.type || endsWait
    ? [result]
    : [new RemoveMessage({ id: last.id }), result];
}
