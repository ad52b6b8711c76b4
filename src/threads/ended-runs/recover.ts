/**
 * What a run does with what ended runs left: messages return to their places, calls get their results, and own keys
 * their values. This decides it, and changes nothing. The agents write what it returns, and the doctor and the inspector
 * show it.
 */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { isAIMessage } from "../../history/call.js";
import { toPlain } from "../../history/message.js";
import { type UnansweredCall, unansweredCalls } from "../../history/open-calls.js";
import { publishRepairs } from "../../history/reducer/paired-messages.js";
import { callIdOf } from "../../history/result.js";
import { emitEvent, type OnRepair, tellClosedCall } from "../events.js";
import { addUsage, NO_USAGE, type ThreadUsage } from "../usage.js";
import { closingResult, type ExaminedCall, examineCalls } from "./close-calls.js";
import { type LateResults, placeLateResults } from "./late-results.js";
import { leftoversInPlace, type RecoverableRun } from "./leftovers.js";
import { type OrphanRefused, placeMessages, type RecoveredValue, recoverValues } from "./put-back.js";

/** What ended runs left. */
export interface EndedRuns {
  /** Oldest first. */
  readonly runs: readonly RecoverableRun[];
  /** What tools returned after their calls were closed. */
  readonly late?: LateResults;
}

/** How a run, or whoever foretells it, recovers. */
export interface RecoveryPolicy {
  /**
   * The runs whose messages return, besides results. `in-place`: those whose last message is still there, for a run
   * whose input cannot be read.
   */
  readonly putsBack: "all" | "in-place" | "none";
  /** Whether the run asks the model before anything else comes, unless its history ends with a response. */
  readonly asksAtOnce: boolean;
  /** The calls without a result. @default those of the history with the messages that return */
  readonly calls?: readonly UnansweredCall[];
  /** Contract: returns the calls that get a result now. @default all */
  readonly closed?: (calls: readonly ExaminedCall[]) => readonly ExaminedCall[];
  /** Whether the history ends where its last run was stopped. @default false */
  readonly wasCut?: boolean;
  /** Contract: whether a key combines its value with what is written to it. @default no key */
  readonly isReduced?: (key: string) => boolean;
}

/** A call without a result, and the one that it gets; undefined for a call that stays open. */
export interface RecoveredCall extends ExaminedCall {
  readonly result: ToolMessage | undefined;
}

export interface Recovery {
  /** What is written to the history, in order: messages that return, results of calls, and late results. */
  readonly messages: readonly BaseMessage[];
  /** The messages that return. */
  readonly returned: readonly BaseMessage[];
  readonly calls: readonly RecoveredCall[];
  readonly late: readonly ToolMessage[];
  /** What is written to own keys, in order. */
  readonly values: readonly RecoveredValue[];
  /** What the ended runs used of the thread's budgets. */
  readonly usage: ThreadUsage;
  /** Results that have no place in the history. */
  readonly dropped: readonly OrphanRefused[];
}

/** What a run with this history recovers. Pure. */
export function recover(
  history: readonly BaseMessage[],
  { runs, late = NONE }: EndedRuns,
  { putsBack, asksAtOnce, calls, wasCut, closed = (all) => all, isReduced = () => false }: RecoveryPolicy,
): Recovery {
  const placed = putsBack === "in-place" ? leftoversInPlace(history, runs) : putsBack === "all" ? runs : [];
  const { update: returned, current, dropped } = placeMessages(history, placed, asksAtOnce);
  const examined = examineCalls(calls ?? unansweredCalls(current).all, runs, current, wasCut);
  const ending = new Set(closed(examined));
  const recovered = examined.map((call) => ({
    ...call,
    result: ending.has(call) ? closingResult(call) : undefined,
  }));
  const found = late.size === 0 ? [] : placeLateResults(current, late);
  const results = recovered.flatMap(({ result }) => result ?? []);
  const lateResults = found.map(({ result }) => result);
  const used = new Set(
    recovered.flatMap(({ remains }) => (remains?.kind === "result" ? remains.result : [])),
  );
  return {
    messages: [...returned, ...results, ...lateResults],
    returned,
    calls: recovered,
    late: lateResults,
    values: recoverValues(runs, used, found, isReduced),
    usage: runs.map(({ usage = NO_USAGE }) => usage).reduce(addUsage, NO_USAGE),
    dropped,
  };
}

const NONE: LateResults = new Map();

/** Tells clients what a run recovers, and subscribers which results have no place. */
export function announce(
  { returned, calls, late, dropped }: Recovery,
  config: LangGraphRunnableConfig,
  onRepair?: OnRepair,
): void {
  for (const repair of dropped) {
    const { message } = repair;
    publishRepairs([repair]);
    emitEvent(config, { type: "result-dropped", callId: callIdOf(message), message: toPlain(message) });
  }
  for (const { id = "" } of returned.filter(isAIMessage))
    emitEvent(config, { type: "response-recovered", messageId: id });
  for (const { call, remains, cause, result } of calls) {
    if (result === undefined) continue;
    if (remains?.kind === "result")
      emitEvent(config, { type: "result-recovered", tool: call.name, callId: call.id });
    else tellClosedCall({ call, cause, message: result }, config, onRepair);
  }
  for (const result of late)
    emitEvent(config, { type: "result-recovered", tool: result.name ?? "", callId: callIdOf(result) });
}
