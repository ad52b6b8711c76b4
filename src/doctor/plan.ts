/** Plans the repair of a thread. */

import { type BaseMessage, RemoveMessage, type ToolMessage } from "@langchain/core/messages";
import { withSentCalls } from "../history/change-calls.js";
import { repairMessage } from "../history/message-shape.js";
import { coerceMessage } from "../history/read-messages.js";
import { reduceMessages } from "../history/reducer/reduce-messages.js";
import { callIdOf, causeText, isResult } from "../history/result.js";
import { isSerializedForm } from "../history/storable.js";
import { flag, type Rules } from "../shared/check-settings.js";
import {
  type Examination,
  examineThread,
  idIn,
  isOfOthers,
  OF_OTHERS,
  type OpenCall,
  storedValueOf,
} from "./examine.js";
import type { RepairStepKind } from "./finding.js";
import { type StoredThread, storedListOf, toStoredJson } from "./thread-store.js";

/** The options of `planRepair`. */
export interface PlanOptions {
  /**
   * Whether to close calls that the last run left open on purpose: its graph had nothing left to do, and a client may
   * be about to send their results. @default false
   */
  readonly closeOpenCalls?: boolean | undefined;
}

export const PLAN_RULES = { closeOpenCalls: flag } satisfies Rules;

/** Contract: changes nothing of the thread. */
export function planFor(thread: StoredThread, options: PlanOptions = {}): RepairPlan {
  const { threadId, namespace, content } = thread;
  const base = { schemaVersion: 1, threadId, namespace, checkpointId: thread.checkpointId ?? null } as const;
  const skip = skipOf(thread);
  if (skip !== undefined) return { ...base, kind: "skip", ...skip };
  const before = storedListOf(thread);
  if (before === undefined) return { ...base, kind: "nothing" };
  if (isOfOthers(thread)) return { ...base, kind: "skip", reason: "other-messages", description: OF_OTHERS };
  const found = examineThread(thread, before, options);
  const messages = withPendingWrites(arrange(found), thread, found);
  const written = writtenHeads(found);
  const after = messages.map((message) => {
    const usable = written.has(message) ? withSentCalls(message) : message;
    if (usable !== message) return usable;
    const value = storedValueOf(message, found.list);
    // The graph did not read what is still serialized, and would not read it again.
    return content.kind === "bricked" && isSerializedForm(value) ? repairMessage(message) : value;
  });
  const steps = stepsOf(found, messages);
  if (content.kind === "bricked") {
    const description = "The thread is written again, so that its own graph can read it.";
    steps.unshift({ ...OF_THREAD, kind: "unbrick", description });
  }
  if (steps.length === 0) return { ...base, kind: "nothing" };
  const obstacle = obstacleIn(thread);
  if (obstacle !== undefined) return { ...base, kind: "skip", ...obstacle };
  return { ...base, kind: "write", steps, unplaced: unplacedOf(found), before, after };
}

/** Messages that get a result, whose calls are not sent, or that are written anew. */
function writtenHeads({ openCalls, unsentCalls, list }: Examination): ReadonlySet<BaseMessage> {
  const closed = openCalls.filter(({ result }) => result !== undefined).map(({ group }) => group.head);
  const repaired = list.messages.filter(({ issue }) => issue !== undefined).map(({ message }) => message);
  return new Set<BaseMessage>([...closed, ...unsentCalls.map(({ group }) => group.head), ...repaired]);
}

/** The list with each message directly followed by its results, in call order. */
function arrange({ groups, openCalls }: Examination): BaseMessage[] {
  const openOf = new Map(openCalls.map((open) => [open.call, open]));
  return groups.flatMap((group) => {
    const results = group.calls.map((call, index) => {
      const open = openOf.get(call);
      return open === undefined ? group.results[index] : open.result;
    });
    return [group.head, ...results.filter((result) => result !== undefined)];
  });
}

/**
 * The next state update applies what finished tasks wrote at the latest checkpoint. Results are already placed.
 * Removing an unknown message changes nothing here.
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

/*
 * What a repair would do with a thread. Planning it writes nothing.
 */

/** One change of a plan. It contains no text of messages. */
export interface RepairStep {
  readonly kind: RepairStepKind;
  readonly messageId: string | null;
  readonly callId: string | null;
  readonly tool: string | null;
  /** The index in the list before; null for a new message. */
  readonly from: number | null;
  /** The index in the list after; null for a message that leaves the list. */
  readonly to: number | null;
  /** One sentence. */
  readonly description: string;
}

/** Why a thread is not written. */
export type SkipReason =
  /** A run is going on. Try again later. */
  | "busy"
  /** The thread waits for a human. It is never changed. */
  | "waiting"
  /** The messages could not be read. */
  | "unreadable"
  /** The state of a subgraph. */
  | "subgraph"
  /** The thread belongs to another graph than the one that it was read with. */
  | "other-graph"
  /** The messages are in another channel than `messages`. */
  | "other-channel"
  /** The list has no message of LangChain, but values of another kind. */
  | "other-messages";

/** Something that a tool returned or a message said, but that has no place in the list. The receipt keeps it. */
export interface Unplaced {
  readonly messageId: string | null;
  readonly callId: string | null;
  readonly tool: string | null;
  /** One sentence that says why. */
  readonly reason: string;
  /** The message, in JSON. */
  readonly message: unknown;
}

interface PlanBase {
  readonly schemaVersion: 1;
  readonly threadId: string;
  readonly namespace: string;
  readonly checkpointId: string | null;
}

/** What a repair would do with a thread. */
export type RepairPlan =
  /** The thread needs no write. */
  | (PlanBase & { readonly kind: "nothing" })
  | (PlanBase & { readonly kind: "skip"; readonly reason: SkipReason; readonly description: string })
  | (PlanBase & {
      readonly kind: "write";
      readonly steps: readonly RepairStep[];
      readonly unplaced: readonly Unplaced[];
      /** The thread's current list, as its store returned it. Not for output: it contains the messages. */
      readonly before: readonly unknown[];
      /** The list that the thread gets. Not for output: it contains the messages. */
      readonly after: readonly unknown[];
    });

/*
 * The steps of a plan: how a list differs from the one before.
 */

/** @param after The list that the thread gets. */
function stepsOf(found: Examination, after: readonly BaseMessage[]): RepairStep[] {
  const { list, openCalls, unsentCalls, orphans, duplicates, misplaced } = found;
  const to = new Map(after.map((message, index) => [message, index]));
  const step = (
    kind: RepairStepKind,
    message: BaseMessage,
    description: string,
    fields: Partial<RepairStep> = {},
  ): RepairStep => ({
    kind,
    messageId: message.id ?? null,
    callId: isResult(message) ? callIdOf(message) : null,
    tool: isResult(message) ? (message.name ?? null) : null,
    from: list.byMessage.get(message)?.index ?? null,
    to: to.get(message) ?? null,
    description,
    ...fields,
  });
  const takeOut = (message: ToolMessage, why: string): RepairStep => {
    const description = `A result of ${toolName(message.name)} is taken out, because ${why}. The receipt keeps it.`;
    return step("take-out", message, description);
  };
  const told = new Set<BaseMessage>(openCalls.flatMap(({ recovered }) => recovered ?? []));
  return [
    ...list.foreign.map(({ value, index }): RepairStep => {
      const description = "A value that is not a message is taken out.";
      return { ...OF_THREAD, kind: "take-out", messageId: idIn(value) ?? null, from: index, description };
    }),
    ...list.messages.flatMap(({ message, issue }) => {
      if (issue === undefined) return [];
      const { path, expectation } = issue;
      return step(
        "rewrite",
        message,
        `The field \`${path}\` is not ${expectation}: what can be read of it is kept.`,
      );
    }),
    ...unsentCalls.map(({ group, call: { id, name } }) => {
      const description = `The arguments of the call of ${toolName(name)} are not valid JSON: what can be read of them is kept.`;
      return step("rewrite", group.head, description, { callId: id, tool: name });
    }),
    ...orphans.map((message) => takeOut(message, "no call before it has its id")),
    ...duplicates.map((message) => takeOut(message, "its call has another result")),
    ...[...misplaced].map((message) =>
      step("move", message, `The result of ${toolName(message.name)} is moved to its call.`),
    ),
    ...openCalls
      .filter(({ result }) => result !== undefined)
      .map((open) => stepOf(open, to.get(open.group.head))),
    ...after
      .filter((message) => !isResult(message) && !list.byMessage.has(message) && !told.has(message))
      .map((message) =>
        step("recover", message, "A message that a finished task wrote is put into the list."),
      ),
  ];
}

const OF_THREAD = { messageId: null, callId: null, tool: null, from: null, to: null };

function stepOf({ call, index, recovered, standIn, cause }: OpenCall, start: number | undefined): RepairStep {
  const name = toolName(call.name);
  const [kind, description] =
    recovered === undefined
      ? (["close", `A result is written for the call of ${name}: ${causeText(cause)}`] as const)
      : standIn === undefined
        ? (["recover", `The result that ${name} returned is put after its call.`] as const)
        : (["replace", `The result that ${name} returned replaces one that was made up.`] as const);
  return {
    kind,
    messageId: recovered?.id ?? null,
    callId: call.id,
    tool: call.name,
    from: null,
    to: start === undefined ? null : start + 1 + index,
    description,
  };
}

function toolName(tool: string | undefined): string {
  return tool ? `\`${tool}\`` : "a tool without a name";
}

type Skip = Pick<Extract<RepairPlan, { kind: "skip" }>, "reason" | "description">;

/** Why a thread must not be written; undefined for one that may be. */
export function skipOf(thread: StoredThread): Skip | undefined {
  const { namespace, status, content, mayRun } = thread;
  if (namespace !== "")
    return { reason: "subgraph", description: "The state of a subgraph is reported, and never written." };
  if (status === "busy") {
    const description = `${mayRun ?? "A run of the thread has not ended."} Repair it when the run has ended.`;
    return { reason: "busy", description };
  }
  if (status === "interrupted")
    return { reason: "waiting", description: "The thread waits for a human, so it is not changed." };
  if ("reason" in content && storedListOf(thread) === undefined)
    return { reason: "unreadable", description: `The messages cannot be read: ${content.reason}` };
  return undefined;
}

/** Why a repair that the thread needs is not written; undefined if it is. */
export function obstacleIn({ channel = "messages", otherGraph }: StoredThread): Skip | undefined {
  if (channel !== "messages") {
    const description = `The messages are in the channel \`${channel}\`. Only \`messages\` is ever written: let the graph send \`repairHistory\` of the list, or rename the channel.`;
    return { reason: "other-channel", description };
  }
  return otherGraph === undefined ? undefined : { reason: "other-graph", description: otherGraph };
}

/** What has no place in the list after a repair. The receipt keeps it. */
function unplacedOf({ list, orphans, duplicates, unplaced, openCalls }: Examination): Unplaced[] {
  const of =
    (reason: string) =>
    (message: ToolMessage): Unplaced => ({
      messageId: message.id ?? null,
      callId: callIdOf(message),
      tool: message.name ?? null,
      reason,
      message: toStoredJson(storedValueOf(message, list)),
    });
  const replaced = openCalls.flatMap(({ recovered, standIn }) => (recovered && standIn) ?? []);
  return [
    ...list.foreign.map(({ value }) => ({
      messageId: idIn(value) ?? null,
      callId: null,
      tool: null,
      reason: "It is not a message.",
      message: toStoredJson(value),
    })),
    ...orphans.map(of("No call before it has its id.")),
    ...duplicates.map(of("Its call has another result.")),
    ...replaced.map(of("The result that the tool returned was found.")),
    ...unplaced.map(of("A run that ended early has saved it, and no call of the list waits for it.")),
  ];
}
