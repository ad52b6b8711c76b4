/**
 * Results of tools that finished after their run was aborted. Each goes into the diary beside the checkpoint that sent
 * its call, where the next run finds it. If that run is faster, the call gets a placeholder that names the checkpoint,
 * so later runs look there.
 */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { CheckpointTuple } from "@langchain/langgraph";
import { awaitedCalls, lateResultId } from "../../history/awaited-calls.js";
import { copyMessage, toPlain } from "../../history/message.js";
import { callIdOf, isPlaceholder, markRecoveredResult } from "../../history/result.js";
import { coveringSummaries } from "../../history/visible-history.js";
import { onAbort } from "../../shared/waiting.js";
import { diaryOf, diaryWritten, type LateResult, pageOf, writeLate } from "../diary.js";
import { publishEvent } from "../events.js";

/** What a tool returned for its call, and what it wrote to own keys. */
interface Outcome {
  readonly result: ToolMessage | undefined;
  readonly values: readonly Readonly<Record<string, unknown>>[];
}

/**
 * Writes a result into the diary when it comes. An event also reports it, in case no other run of the thread follows.
 * Never rejects.
 *
 * @param place The call's place: its message's id, and the call's index in it.
 * @param config The task's config.
 */
export async function awaitLate(
  place: string,
  coming: Promise<Outcome>,
  config: RunnableConfig,
): Promise<void> {
  // A tool that ends with the abort has nothing to tell.
  const { result, values } = await coming.catch(() => NOTHING);
  if (result === undefined || isPlaceholder(result)) return;
  publishEvent(config, {
    type: "result-late",
    tool: result.name ?? "",
    callId: callIdOf(result),
    message: toPlain(result),
  });
  await note(place, result, values, config);
}

/**
 * Writes a result into the diary if its superstep ends before LangGraph gets it: a wrapper around the tool can throw,
 * or still be at work. What LangGraph has saved is then also in the diary, where nothing looks for it.
 *
 * @param config The task's config. Its signal aborts if any task of the superstep fails, and is gone after the
 * superstep.
 */
export function keepUntilSaved(place: string, coming: Promise<Outcome>, config: RunnableConfig): void {
  let come: Outcome | undefined;
  coming.then(
    (outcome) => {
      come = outcome;
    },
    () => {},
  );
  if (config.signal === undefined) return;
  onAbort(config.signal, () => {
    if (come === undefined) void awaitLate(place, coming, config);
    else if (come.result !== undefined) void note(place, come.result, come.values, config);
  });
}

const NOTHING: Outcome = { result: undefined, values: [] };

function note(place: string, result: ToolMessage, values: Outcome["values"], config: RunnableConfig) {
  return writeLate([place, "result", { message: { ...toPlain(result) }, values }], pageOf(config));
}

/** Late results, by the id of the checkpoint that sent their calls. */
export type LateResults = ReadonlyMap<string, readonly LateResult[]>;

/**
 * What is in the diaries of the checkpoints that awaited calls name. Each is read once. Without such a call, none is
 * read.
 *
 * @param rewrittenSince Contract: which of these own keys were written since a checkpoint.
 */
export async function findLateResults(
  messages: readonly BaseMessage[],
  config: RunnableConfig,
  rewrittenSince: (checkpoint: CheckpointTuple, keys: readonly string[]) => readonly string[],
): Promise<LateResults> {
  const awaited = awaitedCheckpoints(messages);
  if (awaited.size > 0) await diaryWritten(config.configurable?.["thread_id"], config.signal);
  const found = new Map<string, readonly LateResult[]>();
  for (const checkpoint of awaited) {
    const page = pageOf(config, checkpoint);
    const tuple = await page?.saver.getTuple(page.config);
    if (tuple === undefined) continue;
    const { results } = diaryOf(tuple);
    const keys = results.flatMap(({ values }) => values.map(([key]) => key));
    const rewritten = new Set(rewrittenSince(tuple, keys));
    found.set(
      checkpoint,
      results.map((late) => ({ ...late, rewritten })),
    );
  }
  return found;
}

/** The ids of the checkpoints that awaited calls name. */
export function awaitedCheckpoints(messages: readonly BaseMessage[]): ReadonlySet<string> {
  return new Set(awaitedCalls(messages).map(({ checkpoint }) => checkpoint));
}

/** The late results for the calls that the history awaits, in call order, as the history takes them. */
export function placeLateResults(
  messages: readonly BaseMessage[],
  found: LateResults,
): readonly Omit<LateResult, "place">[] {
  const covered = coveringSummaries(messages);
  const ids = new Set(messages.map(({ id }) => id));
  // Of two results of one call, the first counts.
  const lateAt = new Map(
    [...found].map(([checkpoint, all]) => [
      checkpoint,
      new Map(all.toReversed().map((one) => [one.place, one])),
    ]),
  );
  return awaitedCalls(messages).flatMap(({ checkpoint, place, callId, holder }) => {
    const late = lateAt.get(checkpoint)?.get(place);
    // A client may have replaced the message with the call since.
    if (late === undefined || callIdOf(late.result) !== callId) return [];
    const result = markRecoveredResult(late.result);
    // With its id, the result replaces the placeholder, even if another call has the same id. The model does not see
    // messages with a covered message's id. A summary does not say which results came, so these get their own id.
    const replaced = isPlaceholder(holder) && !covered.has(holder.id ?? "") ? holder.id : undefined;
    const id = replaced ?? lateResultId(result, place);
    if (replaced === undefined && ids.has(id)) return [];
    return [{ ...late, result: copyMessage(result, { id }) }];
  });
}
