/** Plans what a repair does with a thread. Pure: nothing is read or written. */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { placeOfCall } from "../../history/calls/group.js";
import { withSentCalls } from "../../history/calls/listed-calls.js";
import { callIdOf, causeInHistory, createPlaceholder, isResult } from "../../history/messages/result.js";
import { coerceMessage } from "../../history/reading/coerce-message.js";
import { mendMessage } from "../../history/reading/message-shape.js";
import { isSerializedForm } from "../../history/reading/storable.js";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import { addToList } from "../../shared/add-to-list.js";
import { type Examination, examineThread, type OpenCall } from "../examine/examine-thread.js";
import { storedValueOf } from "../examine/read-list.js";
import type { RepairPlan, RepairStep } from "../repair-plan.js";
import type { StoredThread } from "../stored-thread.js";
import { messageOf, stepsOf } from "./repair-steps.js";
import { skipOf } from "./skip-of.js";
import { unplacedOf } from "./unplaced-of.js";

/** The options of `planRepair`. */
export interface PlanOptions {
  /** Whether results of ended runs are looked for. @default true */
  readonly harvest?: boolean | undefined;
  /**
   * Whether calls are closed that the last run left open on purpose: its graph had nothing left to do, and a client may
   * be about to send their results. @default false
   */
  readonly closeOpenCalls?: boolean | undefined;
}

/** Contract: changes nothing of the thread. */
export function planFor(thread: StoredThread, options: PlanOptions = {}): RepairPlan {
  const { threadId, namespace, content } = thread;
  const base = { schemaVersion: 1, threadId, namespace, checkpointId: thread.checkpointId ?? null } as const;
  const skip = skipOf(thread);
  if (skip !== undefined) return { ...base, kind: "skip", ...skip };
  if (content.kind === "none" || content.kind === "unreadable" || content.messages === undefined)
    return { ...base, kind: "nothing" };
  const found = examineThread(thread, content.messages, options);
  const messages = withPendingWrites(arrange(found, thread), thread, found);
  const before = content.messages;
  const written = writtenHeads(found);
  const after = messages.map((message) => {
    const usable = written.has(message) ? withSentCalls(message) : message;
    if (usable !== message) return usable;
    const value = storedValueOf(message, found.list);
    // The graph has not read what is still in its serialized form, and would not read it again.
    return content.kind === "bricked" && isSerializedForm(value) ? mendMessage(message) : value;
  });
  const steps: RepairStep[] = stepsOf(found, messages);
  if (content.kind === "bricked") {
    const description = "The thread is written again, so that its own graph can read it.";
    steps.unshift({ ...messageOf(undefined), kind: "unbrick", from: null, to: null, description });
  }
  if (steps.length === 0) return { ...base, kind: "nothing" };
  if (thread.otherGraph !== undefined)
    return { ...base, kind: "skip", reason: "other-graph", description: thread.otherGraph };
  return { ...base, kind: "write", steps, unplaced: unplacedOf(found), before, after };
}

/** Messages that get a result, whose calls are not sent, or that are written anew. */
function writtenHeads({ openCalls, unsentCalls, list }: Examination): ReadonlySet<BaseMessage> {
  const closed = openCalls.filter(({ isLeftOpen }) => !isLeftOpen).map(({ group }) => group.head);
  const mended = list.messages.filter(({ issue }) => issue !== undefined).map(({ message }) => message);
  return new Set<BaseMessage>([...closed, ...unsentCalls.map(({ group }) => group.head), ...mended]);
}

/** The list with each message directly followed by its results, in call order. */
function arrange({ groups, openCalls }: Examination, thread: StoredThread): BaseMessage[] {
  const openIn = new Map<unknown, OpenCall[]>();
  for (const open of openCalls) addToList(openIn, open.group, open);
  return groups.flatMap((group, index) => {
    const next = groups[index + 1]?.head;
    const openAt = new Map(openIn.get(group)?.map((open) => [open.place, open]));
    const results = group.calls.map((_, place) => {
      const open = openAt.get(place);
      if (open === undefined) return group.results[place];
      if (open.recovered !== undefined) return open.recovered;
      return open.isLeftOpen ? undefined : closing(open, next, thread);
    });
    return [group.head, ...results.filter((result) => result !== undefined)];
  });
}

function closing({ group, call, place }: OpenCall, next: BaseMessage | undefined, thread: StoredThread) {
  const cause = causeInHistory(call, next);
  const isCut = next === undefined && cause === "unrecorded" && (thread.openTasks?.length ?? 0) > 0;
  return createPlaceholder(call, isCut ? "interrupted" : cause, placeOfCall(group, place));
}

/**
 * The next update of the state applies what finished tasks wrote at the latest checkpoint. Results are placed already.
 * A removal of an unknown message changes nothing here.
 */
function withPendingWrites(
  messages: BaseMessage[],
  { endedRuns }: StoredThread,
  { list }: Examination,
): BaseMessage[] {
  const known = new Set(list.messages.map(({ message }) => message.id));
  const writes = endedRuns
    .filter(({ fate }) => fate === "pending")
    .flatMap(({ written }) => written.flatMap((value) => coerceMessage(value) ?? []))
    .filter((message) => !isResult(message) || (known.has(message.id) && callIdOf(message) === ""))
    .filter((message) => !RemoveMessage.isInstance(message) || known.has(message.id));
  return writes.length === 0 ? messages : reduceMessages(messages, writes).messages;
}
