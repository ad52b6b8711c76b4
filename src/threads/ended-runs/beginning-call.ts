/**
 * A call of a LangChain agent that is about to run its tool. A run that continues its thread, with the input `null` or
 * with a decision, sends the calls of the last step again. A note in the diary says which of them had started, as in
 * `started-calls.ts`. A call without a note is run.
 */

import type { ToolMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { Call } from "../../history/call.js";
import { callIdOf, isResult, markRecoveredResult } from "../../history/result.js";
import { madeOnce } from "../../shared/values.js";
import { onAbort } from "../../shared/waiting.js";
import { readWrites } from "../commands.js";
import { diaryOf, diaryWritten, type LateResult, notesOf, pageOf, writeEntry, writeLate } from "../diary.js";
import { emitEvent, type OnRepair } from "../events.js";
import { hasInterrupt, keptWrites } from "../langgraph/read-checkpoints.js";
import { isContinuedStep, ownTaskOf, questionsNamedIn } from "../langgraph/run-host.js";
import { isStepSaved } from "../saver/patient-saver.js";
import { isPassed } from "../saver/run-checkpoints.js";
import { closeLostCall } from "./started-calls.js";

/** What happens to a call before its tool runs. */
export type BeginningCall =
  /** An ended run has started it. It gets what its tool returned since, or a placeholder. */
  | {
      readonly kind: "ended";
      readonly result: ToolMessage;
      /** What the tool wrote to the state's own keys. */
      readonly values: LateResult["values"];
    }
  | {
      readonly kind: "new";
      /** Contract: call it before the tool runs. It resolves once the call and its start are saved. */
      readonly begin: () => Promise<void>;
      /** Contract: call it when the tool asks a human, and will run again with the answer. */
      readonly wait: () => Promise<void>;
    };

/** The places of the calls that each task has begun. A middleware can run a call's tool several times. */
const begun = new WeakMap<object, Set<string>>();

/**
 * @param place The call's place: its message's id, and the call's index in it.
 * @param isSafe Whether the tool may run again after it has started.
 * @param config The task's config.
 */
export async function beginningCall(
  call: Call,
  place: string,
  isSafe: boolean,
  config: LangGraphRunnableConfig,
  onRepair: OnRepair | undefined,
): Promise<BeginningCall> {
  const page = pageOf(config);
  const ofTask = madeOnce(begun, config.configurable ?? config, () => new Set<string>());
  if (page === undefined || ofTask.has(place)) return UNNOTED;
  ofTask.add(place);
  const isContinued = isContinuedStep(config);
  if (isContinued) await diaryWritten(page.config.configurable?.["thread_id"], config.signal);
  const tuple = isContinued ? await page.saver.getTuple(page.config) : undefined;
  const task = ownTaskOf(config);
  const named = questionsNamedIn(config);
  // Its question may be answered again, in a branch that begins here.
  const isAsked =
    tuple !== undefined &&
    hasInterrupt(tuple, task, named) &&
    (await isPassed(tuple, page.config, (latest) => page.saver.getTuple(latest)));
  const { results } = tuple === undefined || isAsked ? { results: [] } : diaryOf(tuple);
  const isOfCall = (result: ToolMessage) => callIdOf(result) === call.id;
  const { messages, values } = readWrites(tuple === undefined ? [] : keptWrites(tuple, task, named));
  const kept = messages.filter(isResult).find(isOfCall);
  if (kept !== undefined) return { kind: "ended", result: kept, values };
  const late = results.find((one) => one.place === place && isOfCall(one.result));
  if (late !== undefined) {
    emitEvent(config, { type: "result-recovered", tool: call.name, callId: call.id });
    return { kind: "ended", result: markRecoveredResult(late.result), values: late.values };
  }
  const { start, wait } = notesOf(tuple, place);
  if (start > wait && !isSafe && !isAsked)
    return { kind: "ended", result: closeLostCall({ call, place }, config, onRepair), values: [] };
  if (isSafe) return UNNOTED;
  const note = (kind: "start" | "wait") => writeEntry(page, [place, kind], wait);
  let isSaved = isContinued;
  let stopListening = () => {};
  return {
    kind: "new",
    begin: async () => {
      isSaved ||= await isStepSaved(config);
      if (isSaved) return note("start");
      // With the durability `exit`, the checkpoint is saved when the run ends. A killed run leaves none.
      if (config.signal !== undefined)
        stopListening = onAbort(config.signal, () => void writeLate([place, "start"], page));
    },
    wait: async () => {
      stopListening();
      if (isSaved) await note("wait");
    },
  };
}

/** A call whose start needs no note, or has one. */
const UNNOTED: BeginningCall = { kind: "new", begin: async () => {}, wait: async () => {} };
