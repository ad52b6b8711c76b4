/** Puts back what ended runs had saved, and closes the calls that they left without a result. */

import type { BaseMessage } from "@langchain/core/messages";
import { placeOfCall } from "../history/calls/group.js";
import { type UnansweredCall, unansweredCalls } from "../history/calls/open-calls.js";
import { callsOf, isAIMessage } from "../history/messages/call.js";
import { markRecoveredResult } from "../history/messages/recovered.js";
import { createRepair } from "../history/messages/repair.js";
import { causeInHistory, createPlaceholder, type PlaceholderCause } from "../history/messages/result.js";
import { toPlain } from "../history/messages/to-plain.js";
import { reduceMessages } from "../history/reducer/reduce-messages.js";
import { isBeforeModel, savedCheckpoints } from "../langgraph/checkpoints/saved-checkpoints.js";
import { findLeftovers, type Leftovers } from "../nodes/recovery/leftovers.js";
import { recoverCalls } from "../nodes/recovery/recover-calls.js";
import { emitEvent } from "../nodes/run/agent-event.js";
import { followSpans } from "../nodes/telemetry/span-events.js";
import { safely } from "../shared/safely.js";
import { declinedCalls, notStartedCalls } from "./calls-not-run.js";
import { lostMessages } from "./lost-messages.js";
import type { TetherMiddlewareOptions } from "./options.js";
import { configOf, type HookRuntime, threadIdOf } from "./runtime.js";

type Options = Pick<TetherMiddlewareOptions, "onRepair">;

/** The messages of an update. Responses are plain objects: see `toPlain`. */
export type Written = BaseMessage | Record<string, unknown>;

/**
 * What a run that begins has to write to the thread first: the messages that an ended run had shown and not stored, and
 * then the results of `closeCalls`. Empty for a sound thread, which costs one look at the history.
 */
export async function recoverThread(
  history: readonly BaseMessage[],
  runtime: HookRuntime,
  options: Options,
): Promise<Written[]> {
  await followSpans();
  if (!mayLackResponse(history)) return closeCalls(history, runtime, options);
  const leftovers = await readLeftovers(runtime);
  const lost = lostMessages(history, leftovers, configOf(runtime));
  for (const { id = "" } of lost.filter(isAIMessage))
    emitEvent(configOf(runtime), { type: "response-recovered", messageId: id });
  const whole = lost.length === 0 ? history : reduceMessages(history, lost).messages;
  const closing = await closeCalls(whole, runtime, options, leftovers);
  // LangGraph streams each message instance that a node writes. Clients have the pieces of a response already.
  return [...lost.map((message) => (isAIMessage(message) ? toPlain(message) : message)), ...closing];
}

/**
 * Whether the run before this one may have ended without storing what it had written: the message before the new input
 * is no final response.
 */
function mayLackResponse(history: readonly BaseMessage[]): boolean {
  const before = history.at(-1)?.type === "human" ? history.at(-2) : history.at(-1);
  return before !== undefined && !(isAIMessage(before) && callsOf(before).length === 0);
}

/**
 * The results that close all calls of the history, to be written to the thread. A call gets the result that its tool
 * returned before its run ended, if it can be found. Otherwise it gets a placeholder that says what is known. Empty if
 * every call has a result, which costs one look at the history.
 */
export async function closeCalls(
  history: readonly BaseMessage[],
  runtime: HookRuntime,
  { onRepair }: Options,
  known?: readonly Leftovers[],
): Promise<BaseMessage[]> {
  await followSpans();
  const { dangling, pending } = unansweredCalls(history);
  const calls = [...dangling, ...pending];
  if (calls.length === 0) return [];
  const config = configOf(runtime);
  const leftovers = known ?? (await readLeftovers(runtime));
  const found = recoverCalls(calls, leftovers);
  const declined = declinedCalls(calls, leftovers);
  const notStarted = notStartedCalls(calls, leftovers);
  const causeOf = (unanswered: UnansweredCall): PlaceholderCause => {
    if (declined.has(unanswered)) return "declined";
    const { call, group } = unanswered;
    const isKnown = call.kind !== "invalid" && notStarted.has(unanswered);
    return isKnown ? "not-started" : causeInHistory(call, history[group.end]);
  };
  return calls.map((unanswered, index) => {
    const { call, group, place } = unanswered;
    const remains = found[index];
    if (remains?.kind === "result") {
      emitEvent(config, { type: "result-recovered", tool: call.name, callId: call.id });
      return markRecoveredResult(remains.result);
    }
    const cause = causeOf(unanswered);
    const placeholder = createPlaceholder(call, cause, placeOfCall(group, place));
    emitEvent(config, { type: "call-closed", tool: call.name, callId: call.id, cause });
    const repair = createRepair({ kind: "call-closed", call, message: placeholder });
    safely(() => onRepair?.(repair, { threadId: threadIdOf(runtime) }), undefined);
    return placeholder;
  });
}

/** A saver that cannot be read does not fail the run: its calls get placeholders. */
async function readLeftovers(runtime: HookRuntime): Promise<readonly Leftovers[]> {
  try {
    const checkpoints = await savedCheckpoints(configOf(runtime));
    if (checkpoints === undefined) return [];
    return await findLeftovers({ input: {}, checkpoints, ownState: { keys: [] } }, isBeforeModel);
  } catch {
    return [];
  }
}
