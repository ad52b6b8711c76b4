/** What is wrong with the messages of a thread. The report and the plan are made from the same examination. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { type Group, groupMessages, placeOfCall } from "../../history/calls/group.js";
import type { UnansweredCall } from "../../history/calls/open-calls.js";
import { isAIMessage } from "../../history/messages/call.js";
import { copyMessage } from "../../history/messages/copy-message.js";
import { deriveId } from "../../history/messages/message-id.js";
import { markRecoveredResult } from "../../history/messages/recovered.js";
import { callIdOf, isPlaceholder, isResult } from "../../history/messages/result.js";
import { coerceMessage } from "../../history/reading/coerce-message.js";
import { recoverCalls } from "../../nodes/recovery/recover-calls.js";
import type { StoredThread } from "../stored-thread.js";
import { type ReadList, readList } from "./read-list.js";
import { type UnsentCall, unsentCallsIn } from "./unsent-calls.js";

/** A call that no tool has answered. */
export interface OpenCall extends UnansweredCall {
  /** The place of the call in its group. */
  readonly place: number;
  /** The result that its tool returned, found beside the state; undefined if there is none. */
  readonly recovered: ToolMessage | undefined;
  /** A result that somebody wrote in place of the real one. Only a recovered result replaces it. */
  readonly standIn: ToolMessage | undefined;
  /** Whether the call is left open, because the caller may still answer it. */
  readonly isLeftOpen: boolean;
}

export interface Examination {
  readonly list: ReadList;
  readonly groups: readonly Group[];
  readonly openCalls: readonly OpenCall[];
  readonly unsentCalls: readonly UnsentCall[];
  readonly orphans: readonly ToolMessage[];
  readonly duplicates: readonly ToolMessage[];
  /** Results that do not stand at their call, although they answer it. */
  readonly misplaced: ReadonlySet<BaseMessage>;
  /** Results that runs have left, and that answer no call of the list. */
  readonly unplaced: readonly ToolMessage[];
}

/** The key of the state in which LangChain's agents store a structured response. */
const STRUCTURED_RESPONSE = "structuredResponse";

/** @param values The stored list. */
export function examineThread(
  thread: StoredThread,
  values: readonly unknown[],
  {
    harvest = true,
    closeOpenCalls = false,
  }: { readonly harvest?: boolean | undefined; readonly closeOpenCalls?: boolean | undefined } = {},
): Examination {
  const list = readList(values);
  const messages = list.messages.map(({ message }) => message);
  const { groups, orphans, duplicates } = groupMessages(messages);
  const runs = harvest ? thread.endedRuns.map(resultsOf) : [];
  // A summary can stand for calls too. Their results come late, and nobody waits for them.
  const open = groups
    .filter(({ head }) => isAIMessage(head))
    .flatMap((group) =>
      group.calls.flatMap((call, place) => {
        const result = group.results[place];
        if (call.kind === "answered" || (result !== undefined && !isPlaceholder(result))) return [];
        return [{ group, call, place, standIn: result }];
      }),
    );
  const found = recoverCalls(open, runs);
  // A run whose result was found did not end on purpose.
  const cut = new Set(open.flatMap(({ group }, index) => (found[index]?.kind === "result" ? group : [])));
  const used = new Set<ToolMessage>();
  const openCalls = open.flatMap((unanswered, index): OpenCall[] => {
    const remains = found[index];
    const recovered = remains?.kind === "result" ? remains.result : undefined;
    if (recovered !== undefined) used.add(recovered);
    if (unanswered.standIn !== undefined && recovered === undefined) return [];
    const { group } = unanswered;
    const isLeftOpen = !closeOpenCalls && !cut.has(group) && mayBeAnswered(group, groups, thread);
    return [{ ...unanswered, recovered: recovered && withId(recovered, unanswered), isLeftOpen }];
  });
  const known = new Set(messages.map(({ id }) => id));
  const listed = new Set(messages.filter(isResult).map(describe));
  const unplaced = runs
    .flatMap(({ written }) => written.filter(isResult))
    .filter(
      (result) =>
        !used.has(result) && !isPlaceholder(result) && !known.has(result.id) && !listed.has(describe(result)),
    );
  return {
    list,
    groups,
    openCalls,
    // A message that has to be mended gets usable calls anyway.
    unsentCalls: unsentCallsIn(groups).filter(
      ({ group }) => list.byMessage.get(group.head)?.issue === undefined,
    ),
    orphans,
    duplicates,
    misplaced: misplacedIn(messages, groups),
    unplaced,
  };
}

/** A tool writes no id. The reducer gives one when a result enters the thread. */
function withId(found: ToolMessage, { group, place }: Pick<OpenCall, "group" | "place">): ToolMessage {
  const result = markRecoveredResult(found);
  return copyMessage(result, { id: result.id || deriveId(result, placeOfCall(group, place)) });
}

function resultsOf({ knownMessageIds, written }: StoredThread["endedRuns"][number]) {
  const messages = written.flatMap((value) => coerceMessage(value) ?? []);
  return { history: knownMessageIds.map((id) => ({ id })), written: messages, questions: [] };
}

/**
 * Whether the run ended on purpose with these calls: its graph has nothing left to do, and no call of the group was
 * answered. A client of the graph may be about to send their results.
 */
function mayBeAnswered(group: Group, groups: readonly Group[], thread: StoredThread): boolean {
  // A graph that cannot read its thread shows no tasks, although the thread has some.
  if (thread.content.kind === "bricked") return false;
  if (group !== groups.at(-1) || thread.openTasks === undefined || thread.openTasks.length > 0) return false;
  if (thread.otherChannels.includes(STRUCTURED_RESPONSE)) return false;
  return group.results.every((result) => result === undefined);
}

/** A result that a run wrote can have reached the list by another way, with another id. */
function describe(result: ToolMessage): string {
  return JSON.stringify([callIdOf(result), result.content]);
}

/**
 * Results that stand among others, directly after the message with their calls, are in their place in any order.
 * LangGraph's delta channel has them in the order in which their tools ended, and no provider is known to mind.
 */
function misplacedIn(messages: readonly BaseMessage[], groups: readonly Group[]): ReadonlySet<BaseMessage> {
  const placeOf = new Map(messages.map((message, index) => [message, index]));
  const misplaced = new Set<BaseMessage>();
  for (const { head, results } of groups) {
    const start = placeOf.get(head) ?? -1;
    let end = start + 1;
    for (let next = messages[end]; next !== undefined && isResult(next); next = messages[end]) end += 1;
    for (const result of results) {
      const place = result === undefined ? undefined : placeOf.get(result);
      if (result !== undefined && place !== undefined && (place < start || place >= end))
        misplaced.add(result);
    }
  }
  return misplaced;
}
