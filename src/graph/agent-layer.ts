/** One run of an agent graph, through its agent middleware. */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { MiddlewareError } from "../errors.js";
import { callsOf, isAIMessage } from "../history/call.js";
import { cloneMessage, isSameMessage } from "../history/clone-message.js";
import { isResult } from "../history/result.js";
import type { AgentContext } from "../middleware/agent-context.js";
import { Handoff } from "../middleware/handoff.js";
import type { AgentMiddleware } from "../middleware/middleware.js";
import { runOnion } from "../middleware/run-onion.js";
import type { GivenMessages } from "../nodes/run/run-inputs.js";
import type { RunRecord } from "../nodes/run/run-record.js";

/** Contract: begins a run of the graph itself. What the run comes to is in its record when the chunks have ended. */
export interface GraphRuns<Chunk> {
  /** With the messages and options that the context has now. */
  readonly start: () => { readonly chunks: AsyncIterable<Chunk>; readonly record: RunRecord };
  /** Takes the input, and writes an answer instead of asking the model. */
  readonly answer: (given: GivenMessages) => AsyncIterable<Chunk>;
  /** Changes what a run has left, which is the given history. */
  readonly correct: (given: GivenMessages, history: readonly BaseMessage[]) => AsyncIterable<Chunk>;
}

/**
 * The chunks of a run, while its middleware goes on beside them: what a middleware does after `next()` it does when the
 * chunks of the graph have ended.
 */
export async function* throughAgentMiddleware<Chunk>(
  layers: readonly AgentMiddleware[],
  context: AgentContext,
  runs: GraphRuns<Chunk>,
): AsyncGenerator<Chunk> {
  const handoff = new Handoff<Chunk>();
  const send = async (chunks: AsyncIterable<Chunk>): Promise<void> => {
    for await (const chunk of chunks) await handoff.give(chunk);
  };
  // A middleware that does not heed the signal is not waited for.
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
  let record: RunRecord | undefined;
  /** The result as the thread has it. */
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

/** What the run came to; a run that was ended without an answer leaves the user's message last. */
function resultOf(last: BaseMessage | undefined): BaseMessage | undefined {
  return last !== undefined && (isAIMessage(last) || isResult(last)) ? last : undefined;
}

/**
 * A text behind the result of a tool is an answer of its own. So is one behind calls that wait: a message that goes takes
 * its results with it, and some of its tools may have run.
 */
function correct(last: BaseMessage | undefined, result: BaseMessage): BaseMessage[] {
  const endsWait = last !== undefined && callsOf(last).length > 0 && callsOf(result).length === 0;
  return last?.id === undefined || last.type !== result.type || endsWait
    ? [result]
    : [new RemoveMessage({ id: last.id }), result];
}
