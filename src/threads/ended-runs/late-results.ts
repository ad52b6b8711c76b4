/**
 * Results of tools that finished after their run was aborted. Each goes into the diary beside the checkpoint that sent
 * its call, where the next run finds it. If that run is faster, the call gets a placeholder that names the checkpoint,
 * so later runs look there.
 */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { copyMessage, deriveId, toPlain } from "../../history/message.js";
import {
  type AwaitedCall,
  awaitedCallOf,
  callIdOf,
  isPlaceholder,
  markRecoveredResult,
} from "../../history/result.js";
import { archiveOf, isUserMessage } from "../../history/summary.js";
import { coveringSummaries } from "../../history/visible-history.js";
import { onAbort } from "../../shared/waiting.js";
import { diaryOf, diaryWritten, type LateResult, pageOf, writeLate } from "../diary.js";
import { emitEvent, publishEvent } from "../events.js";

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
  const { thread_id } = { ...config.configurable };
  publishEvent({
    type: "result-late",
    tool: result.name ?? "",
    callId: callIdOf(result),
    threadId: thread_id === undefined ? undefined : String(thread_id),
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

/** Placeholders older than this many turns are not looked up: the event has reported their results. */
const TURNS = 8;

/** A late result as the history takes it, and what its tool wrote to own keys. */
type PlacedResult = Pick<LateResult, "result" | "values">;

/**
 * The late results for the history's placeholders, in call order. Each checkpoint that a placeholder names is read
 * once. Without such a placeholder, none is read.
 */
export async function findLateResults(
  messages: readonly BaseMessage[],
  config: RunnableConfig,
): Promise<readonly PlacedResult[]> {
  const awaited = awaitedCheckpoints(messages);
  if (awaited.size > 0) await diaryWritten(config.configurable?.["thread_id"], config.signal);
  const found = new Map<string, readonly LateResult[]>();
  for (const checkpoint of awaited) {
    const page = pageOf(config, checkpoint);
    const tuple = await page?.saver.getTuple(page.config);
    if (tuple !== undefined) found.set(checkpoint, diaryOf(tuple).results);
  }
  return found.size === 0 ? [] : placeLateResults(messages, found);
}

/** The ids of the checkpoints that placeholders name. */
export function awaitedCheckpoints(messages: readonly BaseMessage[]): ReadonlySet<string> {
  return new Set(awaitedCalls(messages).map(({ checkpoint }) => checkpoint));
}

/** @param found Late results, by checkpoint id. */
export function placeLateResults(
  messages: readonly BaseMessage[],
  found: ReadonlyMap<string, readonly LateResult[]>,
): readonly PlacedResult[] {
  const covered = coveringSummaries(messages);
  return awaitedCalls(messages).flatMap(({ checkpoint, place, callId, placeholder }) => {
    const late = found.get(checkpoint)?.find((one) => one.place === place);
    // A client may have replaced the message with the call since.
    if (late === undefined || callIdOf(late.result) !== callId) return [];
    const result = markRecoveredResult(late.result);
    // With its id, the result replaces the placeholder, even if another call has the same id. The model does not see
    // messages with a covered message's id. A summary does not say which results came, so these get their own id.
    const replaces = placeholder !== undefined && !covered.has(placeholder);
    const id = replaces ? placeholder : deriveId(result, place);
    if (!replaces && messages.some((message) => message.id === id)) return [];
    return [{ result: copyMessage(result, { id }), values: late.values }];
  });
}

/**
 * The calls whose tools may still return, with their placeholders' ids. A call without one is in a summary's archive.
 */
function awaitedCalls(messages: readonly BaseMessage[]) {
  const awaited: (AwaitedCall & { readonly placeholder?: string | undefined })[] = [];
  for (const message of messages.slice(Math.max(startOfTurns(messages), 0))) {
    awaited.push(...(archiveOf(message)?.awaited ?? []));
    const call = awaitedCallOf(message);
    if (call !== undefined) awaited.push({ ...call, placeholder: message.id });
  }
  return awaited;
}

/** Where the last turns begin; -1 if there is no message. */
function startOfTurns(messages: readonly BaseMessage[]): number {
  let turns = 0;
  return messages.findLastIndex((message, index) => {
    if (isUserMessage(message)) turns += 1;
    return turns === TURNS || index === 0;
  });
}

export function tellLate(found: readonly Pick<LateResult, "result">[], config: RunnableConfig): void {
  for (const { result } of found)
    emitEvent(config, { type: "result-recovered", tool: result.name ?? "", callId: callIdOf(result) });
}
