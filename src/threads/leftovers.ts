/**
 * Finds what ended runs left behind. LangGraph saves the writes of each finished task, and each interrupt, with the
 * checkpoint of its superstep. New input discards them, so they are read from that checkpoint itself.
 */

import { type BaseMessage, RemoveMessage, type ToolMessage } from "@langchain/core/messages";
import { type CheckpointTuple, isCommand, type LangGraphRunnableConfig, START } from "@langchain/langgraph";
import { z } from "zod/v4";
import { callsOf, indexesById, isAIMessage } from "../history/call.js";
import type { Group } from "../history/group.js";
import { isSameMessage, REMOVE_ALL_MESSAGES, toPlain } from "../history/message.js";
import type { UnansweredCall } from "../history/open-calls.js";
import { coerceMessage } from "../history/read-messages.js";
import { publishRepairs } from "../history/reducer/paired-messages.js";
import { reduceMessages } from "../history/reducer/reduce-messages.js";
import type { Repair } from "../history/reducer/repair.js";
import { callIdOf, isPlaceholder, isResult, markRecovered, recoveredAfter } from "../history/result.js";
import { coverageOf } from "../history/summary.js";
import { addToList, isRecord } from "../shared/values.js";
import { emitEvent } from "./events.js";
import {
  hasNewInput,
  nodesToEnter,
  waitingInterrupts,
  waitsForNode,
  writesByTask,
  writesOfCommand,
  writesOfLostRun,
} from "./langgraph/read-checkpoints.js";
import { unwrapped } from "./langgraph/swap-channel.js";
import type { OwnState } from "./own-state.js";
import { addUsage, isUsed, NO_USAGE, readTokens, type ThreadUsage, threadUsageSchema } from "./usage.js";
import type { WatchedCheckpoints } from "./watch-checkpointer.js";

/** How many checkpoints are read at most. Each run that ended before `patch` has left two. */
const CHECKPOINTS_TO_READ = 40;

/** What one checkpoint of an ended run has, and the state of the thread does not. */
export interface Leftovers {
  /** The history that the tasks of the run saw. */
  readonly history: readonly BaseMessage[];
  /** The messages that the finished tasks wrote, in the order of their calls. */
  readonly written: readonly BaseMessage[];
  /** What the finished tasks used up of the thread's budgets. */
  readonly usage: ThreadUsage;
  /** The calls that unfinished tasks asked a human about. */
  readonly questions: readonly AskedCall[];
  /** The nodes that the run was about to enter, without the tasks of tool calls. */
  readonly nodes: readonly string[];
  /** The interrupts that nobody has resumed. */
  readonly interrupts: readonly unknown[];
  /** What the finished tasks wrote to own keys of the state, in the order of their calls. */
  readonly values: readonly (readonly [key: string, value: unknown])[];
  /** The ids of the messages that later input removes. The client that removed them had seen them. */
  readonly removed: ReadonlySet<string>;
  /** The own keys that later input writes. */
  readonly rewritten: ReadonlySet<string>;
}

/** What became of a checkpoint's writes. */
export type Fate =
  /** New input discarded them. */
  | "discarded"
  /** An update of the state took them over. It drops the questions. */
  | "folded"
  /** The next superstep applied them. */
  | "applied";

/** Whether the route from START has to send the run to `patch`, to look for leftovers. */
export function mayHaveLeftovers({ abandoned, isFork }: WatchedCheckpoints): boolean {
  if (abandoned === undefined) return false;
  return (
    (!isFork && writesOfLostRun(abandoned, undefined, "messages").length > 0) ||
    hasNewInput(abandoned) ||
    waitsForNode(abandoned, "patch") ||
    writesByTask(abandoned, ["messages"]).length > 0 ||
    writesByTask(abandoned, ["threadUsage"]).length > 0 ||
    waitingInterrupts(abandoned).length > 0
  );
}

/** What the runs before a new one left, and the input that it brings. */
interface EndedRuns {
  readonly input: unknown;
  readonly checkpoints: WatchedCheckpoints;
  readonly ownState: Pick<OwnState, "keys">;
}

/**
 * The leftovers of all runs that ended since a run passed `patch`, the oldest first.
 *
 * @param isBeforePatch Whether the run of a checkpoint had still to look for leftovers.
 */
export async function findLeftovers(
  { input, checkpoints, ownState: { keys } }: EndedRuns,
  isBeforePatch: (checkpoint: CheckpointTuple) => boolean = (checkpoint) => waitsForNode(checkpoint, "patch"),
): Promise<readonly Leftovers[]> {
  const found: Leftovers[] = [];
  const removed = new Set(removalsOf(input));
  const rewritten = new Set(keysIn(input, keys));
  let checkpoint = checkpoints.abandoned;
  // A run that continues the abandoned one applies its writes.
  let fate: Fate = isRecord(input) && !isCommand(input) ? "discarded" : "applied";
  let child: CheckpointTuple | undefined;
  for (let read = 0; checkpoint !== undefined && read < CHECKPOINTS_TO_READ; read += 1) {
    if (fate !== "applied") {
      const own = readLeftovers(checkpoint, await historyIn(checkpoint, checkpoints), fate, keys);
      const isSuperseded = child === undefined && checkpoints.isFork;
      const lost = isSuperseded ? [] : toMessages(writesOfLostRun(checkpoint, child, "messages"));
      const leftovers: Leftovers = {
        ...own,
        written: [...own.written, ...lost],
        usage: addUsage(own.usage, usageOf(lost)),
        removed: new Set(removed),
        rewritten: new Set(rewritten),
      };
      const isOwn = leftovers.written.some(isNoResult) || isUsed(leftovers.usage);
      const isFork = isOwn && (await isForked(checkpoint, child, checkpoints));
      const called = new Set(own.history.flatMap(callsOf).map(({ id }) => id));
      const results = leftovers.written.filter(isResult).filter((result) => called.has(callIdOf(result)));
      found.unshift(isFork ? { ...leftovers, written: results, values: [], usage: NO_USAGE } : leftovers);
    }
    const { parentConfig }: CheckpointTuple = checkpoint;
    if (parentConfig === undefined || !(leadsFurther(checkpoint) || isBeforePatch(checkpoint))) break;
    const received: unknown = checkpoint.checkpoint.channel_values[START];
    for (const id of removalsOf(received)) removed.add(id);
    for (const key of keysIn(received, keys)) rewritten.add(key);
    child = checkpoint;
    checkpoint = await checkpoints.read?.(parentConfig);
    fate = fateOfParent(child, checkpoint);
  }
  return found;
}

/** The ids of the messages that an input removes. */
function removalsOf(input: unknown): string[] {
  const given: readonly unknown[] = isRecord(input) ? [input["messages"]].flat() : [];
  return given.flatMap((value) => {
    const message = coerceMessage(value);
    return message !== undefined && RemoveMessage.isInstance(message) ? (message.id ?? "") : [];
  });
}

export function keysIn(input: unknown, keys: readonly string[]): string[] {
  return isRecord(input) ? keys.filter((key) => input[key] !== undefined) : [];
}

const isNoResult = (message: BaseMessage) => !isResult(message);

/** Whether the checkpoint is not one of a run's own steps. The run before can have left something. */
function leadsFurther(checkpoint: CheckpointTuple): boolean {
  return hasNewInput(checkpoint) || checkpoint.metadata?.source === "update";
}

/** What became of the writes of a checkpoint, by the checkpoint that continues it. */
export function fateOfParent(child: CheckpointTuple, parent: CheckpointTuple | undefined): Fate {
  if (child.metadata?.source === "input") return "discarded";
  if (child.metadata?.source === "update") return "folded";
  // With the durability `exit`, the checkpoint of the input between them is not saved.
  return stepOf(child) - stepOf(parent) > 1 ? "discarded" : "applied";
}

function stepOf(checkpoint: CheckpointTuple | undefined): number {
  return checkpoint?.metadata?.step ?? 0;
}

/**
 * Whether the thread had gone on after the checkpoint. Then another branch has the messages. Results are used
 * anyway: they tell what their calls did.
 */
async function isForked(
  checkpoint: CheckpointTuple,
  child: CheckpointTuple | undefined,
  checkpoints: WatchedCheckpoints,
): Promise<boolean> {
  if (child === undefined) return checkpoints.isFork;
  const before = await checkpoints.readBefore?.(child.config);
  return before !== undefined && before.checkpoint.id !== checkpoint.checkpoint.id;
}

/** A checkpoint of a delta channel holds a snapshot of the history, or nothing. */
async function historyIn({ checkpoint, config }: CheckpointTuple, { readDelta }: WatchedCheckpoints) {
  const { messages } = checkpoint.channel_values;
  return messages === undefined ? readDelta?.(config) : unwrapped(messages);
}

/** @param keys The own keys of the state whose writes are read. */
export function readLeftovers(
  checkpoint: CheckpointTuple,
  stored: unknown,
  fate: Fate,
  keys: readonly string[],
): Omit<Leftovers, "removed" | "rewritten"> {
  const history = reduceMessages(stored, writesOfCommand(checkpoint, "messages").flat()).messages;
  const interrupts = waitingInterrupts(checkpoint);
  const tasks = fate === "discarded" ? inCallOrder(readTasks(checkpoint, keys), history) : [];
  // The run ended before it had read its own input.
  if (fate === "discarded" && tasks.length === 0 && hasNewInput(checkpoint))
    tasks.push(unreadInput(checkpoint, keys));
  return {
    history,
    written: tasks.flatMap(({ messages }) => messages),
    values: tasks.flatMap(({ values }) => values),
    usage: fate === "discarded" ? readUsage(checkpoint) : NO_USAGE,
    questions: askedCalls(interrupts),
    nodes: nodesToEnter(checkpoint),
    interrupts,
  };
}

/** The patch node writes what it found in earlier checkpoints, which are read again. */
function readUsage(checkpoint: CheckpointTuple): ThreadUsage {
  if (waitsForNode(checkpoint, "patch")) return NO_USAGE;
  const writes = writesByTask(checkpoint, ["threadUsage"]).flat();
  return writes
    .map(([, write]) => threadUsageSchema.safeParse(write).data ?? NO_USAGE)
    .reduce(addUsage, NO_USAGE);
}

/** What the messages of a run tell of its usage, where LangGraph has saved nothing else of it. */
function usageOf(messages: readonly BaseMessage[]): ThreadUsage {
  const tokensOf = (message: BaseMessage): number =>
    (isAIMessage(message) ? readTokens(message.usage_metadata)?.total_tokens : undefined) ?? 0;
  return {
    tokens: messages.reduce((sum, message) => sum + tokensOf(message), 0),
    toolCalls: messages.filter((message) => isResult(message) && !isPlaceholder(message)).length,
  };
}

interface FinishedTask extends Pick<Leftovers, "values"> {
  readonly messages: readonly BaseMessage[];
}

function readTasks(checkpoint: CheckpointTuple, keys: readonly string[]): FinishedTask[] {
  return writesByTask(checkpoint, ["messages", ...keys]).map((writes) => ({
    messages: toMessages(writes.flatMap(([channel, value]) => (channel === "messages" ? [value] : []))),
    values: writes.filter(([channel]) => channel !== "messages"),
  }));
}

function unreadInput({ checkpoint }: CheckpointTuple, keys: readonly string[]): FinishedTask {
  const input: unknown = checkpoint.channel_values[START];
  if (!isRecord(input)) return { messages: [], values: [] };
  const values = keysIn(input, keys).map((key) => [key, input[key]] as const);
  return { messages: toMessages([input["messages"]]), values };
}

const toMessages = (values: readonly unknown[]): BaseMessage[] =>
  values.flat().flatMap((value) => coerceMessage(value) ?? []);

/** Tasks of one batch finish in any order. */
function inCallOrder(tasks: readonly FinishedTask[], history: readonly BaseMessage[]): FinishedTask[] {
  if (tasks.length < 2) return [...tasks];
  const head = history.findLast((message) => !isResult(message));
  const indexes = indexesById(head === undefined ? [] : callsOf(head));
  const place = ({ messages }: FinishedTask) => {
    const result = messages.find(isResult);
    return (result && indexes.get(callIdOf(result))?.at(-1)) ?? -1;
  };
  return tasks.toSorted((one, other) => place(one) - place(other));
}

/** The finding for a call: the result of its tool, or the pending question to a human. */
export type Remains =
  | { readonly kind: "result"; readonly result: ToolMessage }
  | { readonly kind: "question"; readonly asked: AskedCall };

/** What is read of the leftovers of a run. Of its history, only the ids. */
interface CallLeftovers extends Pick<Leftovers, "written" | "questions"> {
  readonly history: readonly { readonly id?: string | undefined }[];
}

/** The findings for the given calls, in the same order. Undefined where nothing was found. */
export function recoverCalls(
  calls: readonly UnansweredCall[],
  leftovers: readonly CallLeftovers[],
): (Remains | undefined)[] {
  const found = new Array<Remains | undefined>(calls.length).fill(undefined);
  for (const { history, written, questions } of leftovers.toReversed()) {
    const known = new Set([...history, ...written].map(({ id }) => id));
    const results = written.filter(isResult).filter((result) => !isPlaceholder(result));
    fillInOrder(found, calls, known, [...results.map(toResult), ...questions.map(toQuestion)]);
  }
  return found;
}

interface Found {
  readonly callId: string;
  readonly remains: Remains;
}

function toResult(result: ToolMessage): Found {
  return { callId: callIdOf(result), remains: { kind: "result", result } };
}

function toQuestion(asked: AskedCall): Found {
  return { callId: asked.id, remains: { kind: "question", asked } };
}

/**
 * The writes of a checkpoint belong to the last group of its history. So among equal ids, the latest call gets the
 * result.
 *
 * @param known The ids of the messages that the ended run knew.
 */
function fillInOrder(
  found: (Remains | undefined)[],
  calls: readonly UnansweredCall[],
  known: ReadonlySet<string | undefined>,
  written: readonly Found[],
): void {
  /** For each id, what was written for it, the first one last. */
  const waiting = new Map<string, Remains[]>();
  for (const { callId, remains } of written.toReversed()) addToList(waiting, callId, remains);
  const places = new Map<Group, number[]>();
  for (const [index, { group }] of calls.entries()) addToList(places, group, index);
  for (const [{ head }, indexes] of [...places].reverse()) {
    if (!known.has(head.id)) continue;
    for (const index of indexes) found[index] ??= waiting.get(calls[index]?.call.id ?? "")?.pop();
  }
}

/**
 * The update that gives a thread the messages of ended runs, besides results. A reader of the thread has seen them:
 * `getState` shows the writes of finished tasks.
 *
 * - A new message is placed where the reader saw it: after the message that it followed.
 * - A message that replaced another one does so again, unless the other one has changed since.
 * - A removal is repeated. `REMOVE_ALL_MESSAGES` removes what the history had then, and not the new input.
 *
 * With the durability `exit`, a killed run can have saved a result and not its call. Such a result has no place in any
 * thread, so it is dropped, and an event and a repair have it.
 */
export function recoverMessages(
  messages: readonly BaseMessage[],
  leftovers: readonly Leftovers[],
  config: LangGraphRunnableConfig,
): BaseMessage[] {
  const update: BaseMessage[] = [];
  let current = messages;
  for (const { history, written, removed } of leftovers) {
    let shown: readonly BaseMessage[] = reduce(history, update);
    for (const message of written) {
      const { messages: next, repairs } = reduceMessages(shown, [message]);
      for (const repair of repairs)
        if (repair.kind === "orphan-refused" && !isPlaceholder(message)) tellDropped(repair, config);
      const changes = isResult(message)
        ? []
        : changesOf(message, shown, next, current).filter(isWanted(removed));
      if (changes.length > 0) current = reduce(current, changes);
      update.push(...changes);
      shown = next;
    }
  }
  return update;
}

function tellDropped(repair: Extract<Repair, { kind: "orphan-refused" }>, config: LangGraphRunnableConfig) {
  const { message } = repair;
  publishRepairs([repair]);
  emitEvent(config, { type: "result-dropped", callId: callIdOf(message), message: toPlain(message) });
}

/** Whether no later input removed the message. A removal of one that is gone changes nothing. */
function isWanted(removed: ReadonlySet<string>) {
  const isAllRemoved = removed.has(REMOVE_ALL_MESSAGES);
  return ({ id = "" }: BaseMessage): boolean => !isAllRemoved && !removed.has(id);
}

function reduce(history: readonly BaseMessage[], update: readonly BaseMessage[]): readonly BaseMessage[] {
  return reduceMessages(history, update).messages;
}

/** What a message that led from one history to the next means for the current history. */
function changesOf(
  message: BaseMessage,
  shown: readonly BaseMessage[],
  next: readonly BaseMessage[],
  current: readonly BaseMessage[],
): BaseMessage[] {
  const now = byId(current);
  const before = byId(shown);
  if (RemoveMessage.isInstance(message)) {
    const removed = message.id === REMOVE_ALL_MESSAGES ? [...before.keys()] : [message.id ?? ""];
    return removed.filter((id) => before.has(id) && now.has(id)).map((id) => new RemoveMessage({ id }));
  }
  const former = before.get(message.id ?? "");
  if (former !== undefined) {
    return isSameMessage(now.get(message.id ?? ""), former) && !isSameMessage(former, message)
      ? [message]
      : [];
  }
  const index = next.findIndex(({ id }) => !before.has(id ?? ""));
  const placed = next[index];
  if (placed === undefined || now.has(placed.id ?? "")) return [];
  if (coverageOf(placed) !== undefined || now.has(recoveredAfter(placed) ?? "")) return [placed];
  const follows = next.slice(0, index).findLast((earlier) => !isResult(earlier) && now.has(earlier.id ?? ""));
  return [markRecovered(placed, follows?.id ?? "")];
}

function byId(messages: readonly BaseMessage[]): ReadonlyMap<string, BaseMessage> {
  return new Map(messages.map((message) => [message.id ?? "", message]));
}

/**
 * What the finished tools of ended runs wrote to own keys of the state, in order: one update for each write. A key
 * without a reducer keeps the value of later input.
 */
export function recoverValues(
  leftovers: readonly Leftovers[],
  { reducedKeys }: OwnState,
): Record<string, unknown>[] {
  return leftovers.flatMap(({ values, rewritten }) =>
    values
      .filter(([key]) => reducedKeys.has(key) || !rewritten.has(key))
      .map(([key, value]) => ({ [key]: value })),
  );
}

/*
 * What a thread asks a human.
 */

const askedSchema = z.object({
  value: z.object({
    action_requests: z.array(
      z.object({
        id: z.string(),
        name: z.string(),
        args: z.record(z.string(), z.unknown()),
        description: z.string(),
      }),
    ),
    problem: z.string().optional(),
  }),
});

/** A call that a human was asked about. Its description does not end with the problem of a decision. */
export interface AskedCall {
  /** The id of the tool call. */
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
  readonly description: string;
}

/** The calls that pending interrupts ask about. Empty if they ask for something else. */
export function askedCalls(interrupts: unknown): AskedCall[] {
  return [interrupts].flat().flatMap((entry) => {
    const { data } = askedSchema.safeParse(entry);
    if (data === undefined) return [];
    const { action_requests, problem } = data.value;
    const ending = problemText(problem);
    return action_requests.map(({ description, ...asked }) => ({
      ...asked,
      description: description.endsWith(ending)
        ? description.slice(0, description.length - ending.length)
        : description,
    }));
  });
}

/** Chat UIs show the description but not `problem`. */
export function problemText(problem: string | undefined): string {
  return problem === undefined ? "" : `\n\nThe last decision was not used: ${problem}`;
}
