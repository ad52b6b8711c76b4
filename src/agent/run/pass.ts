/** One pass through the graph: what its nodes share, and what is left to do after the last chunk. */

import { setImmediate as yieldToEvents } from "node:timers/promises";
import { isCommand } from "@langchain/langgraph";
import { InvalidMessageError, isTetherError, type ThreadConflictError } from "../../errors.js";
import { publishRepairs } from "../../history/reducer/paired-messages.js";
import { createRepair } from "../../history/repair.js";
import { isPlaceholder } from "../../history/result.js";
import type { Reader } from "../../shared/waiting.js";
import { diaryWritten } from "../../threads/diary.js";
import { awaitLate } from "../../threads/ended-runs/late-results.js";
import { withGraphType } from "../../threads/events.js";
import { clearInbox } from "../../threads/inbox.js";
import {
  innerOptions,
  isReadAsEvents,
  StreamedQuestions,
  savesAtExit,
} from "../../threads/langgraph/run-host.js";
import { threadIdOf } from "../../threads/stores.js";
import type { RunContext } from "../settings/run-context.js";
import type { AdmittedRun, RunConfig } from "./admit.js";
import { lateResultIn, RunHandle, type RunInputs } from "./handle.js";

/** What a pass starts with. */
export interface Pass extends Pick<RunInputs, "input" | "given" | "structuredResponse"> {
  /** What the run has chosen. */
  readonly chosen: RunContext;
  /** @default the options of the run */
  readonly options?: RunConfig;
}

/**
 * Starts the graph. A run with agent middleware starts it again if the middleware changes its result.
 *
 * @returns What its nodes record, and its end: all its chunks are given, and everything is saved.
 */
export function startPass<Chunk>(
  run: AdmittedRun<Chunk>,
  { input, chosen, options = run.options, given, structuredResponse }: Pass,
) {
  const { plan, saver } = run;
  saver.restart(savesAtExit(options), isCommand(input) ? input.resume : undefined);
  const handle = new RunHandle({ ...run, input, given, structuredResponse });
  const { record } = handle;
  record.inputEvents.push(...run.events.splice(0));
  const inner = innerOptions(options, {
    hasStrictResume: plan.callPolicy.asksHumans,
    holdsResult: run.middleware.agent.length > 0,
  });
  const chunks = run.stream(input, {
    ...inner,
    metadata: withGraphType(inner.metadata, run.isSubgraph),
    context: { ...run.ownContext, ...chosen },
    configurable: { ...inner.configurable, ...handle.toConfigurable() },
  });
  return { record, ended: untilSaved(run, chunks, handle) };
}

/** Ends when everything is saved. The inbox can be cleared only then. */
async function untilSaved<Chunk>(
  run: AdmittedRun<Chunk>,
  chunks: AsyncGenerator<Chunk>,
  handle: RunHandle,
): Promise<void> {
  const { saver, options, store } = run;
  try {
    try {
      await passOn(run, chunks);
    } finally {
      await saver.saved();
      await diaryWritten(options.configurable?.["thread_id"], options.signal);
    }
    await saver.assertKept();
  } catch (error) {
    // LangGraph's own error names a channel.
    if (handle.inputs.input == null && Reflect.get(Object(error), "name") === "EmptyInputError")
      throw new InvalidMessageError(
        "input",
        handle.inputs.input,
        "an object with `messages`",
        " The thread has nothing that could be continued.",
      );
    const conflict = [error, options.signal?.reason].find(isConflict);
    if (conflict !== undefined) await reportReturned(run, handle, conflict.isInThread);
    throw error;
  }
  if (store !== undefined) await clearInbox(store, threadIdOf(options), handle.record.steered);
}

/** Gives the graph's chunks to the reader. The graph stops when the reader has left. */
async function passOn<Chunk>(
  { reader, isSubgraph, options }: AdmittedRun<Chunk>,
  chunks: AsyncGenerator<Chunk>,
): Promise<void> {
  const questions = new StreamedQuestions<Chunk>();
  let mustBeRead = isReadAsEvents(options);
  for await (const chunk of chunks) {
    assertRead(reader);
    questions.note(chunk);
    reader.give(chunk);
    // The graph can end before the first chunk is read.
    if (mustBeRead) await yieldToEvents();
    mustBeRead = false;
  }
  const repeated = isSubgraph ? undefined : questions.repeated();
  if (repeated !== undefined) reader.give(repeated);
}

/** @throws Error if nobody reads the run any more. */
export function assertRead(reader: Reader<never>): void {
  if (reader.hasLeft()) throw new Error("The stream was closed by its reader.");
}

/**
 * Reports what tools returned that no checkpoint of the run has, because another process moved the thread on. If the
 * thread has their calls, its next run finds the results in the diary.
 */
async function reportReturned(
  { saver }: AdmittedRun<unknown>,
  { running }: RunHandle,
  isInThread: boolean,
): Promise<void> {
  const { savedStep = Number.NEGATIVE_INFINITY } = saver.checkpoints;
  if (running.step === undefined || running.step <= savedStep) return;
  for (const answered of await running.settled()) {
    const { result, values } = lateResultIn(answered);
    if (result === undefined || isPlaceholder(result)) continue;
    publishRepairs([createRepair({ kind: "result-late", message: result })]);
    const coming = Promise.resolve({ result, values });
    if (isInThread) await awaitLate(answered.task.place, coming, answered.config);
  }
}

/** Whether another process has moved the thread on. */
export function isConflict(error: unknown): error is ThreadConflictError {
  return isTetherError(error) && error.code === "THREAD_MOVED";
}
