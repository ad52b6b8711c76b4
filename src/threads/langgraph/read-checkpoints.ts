/** What a thread's checkpoints and their writes tell. */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { v5 } from "@langchain/core/utils/uuid";
import {
  type BaseCheckpointSaver,
  type CheckpointTuple,
  DeltaChannel,
  INTERRUPT,
} from "@langchain/langgraph";
import { argumentsOf, type Call, callsOf } from "../../history/call.js";
import { placeOfCall } from "../../history/group.js";
import { parseJson, toJson } from "../../shared/json.js";
import { addToList, isRecord, recordsIn, textIn } from "../../shared/values.js";
import { pairedMessagesDeltaReducer } from "./channels.js";
import { readChannels } from "./run-host.js";

/** What is saved of a checkpoint at once, without its writes. */
export type StoredState = Pick<CheckpointTuple, "checkpoint" | "metadata">;

/** The channel of a task's error. Not exported. */
const ERROR = "__error__";

/**
 * Whether a channel is the user's, other than the messages. LangGraph's own have a colon or underscores in their names.
 */
export function isOwnChannel(name: string): boolean {
  return name !== "messages" && !name.includes(":") && !name.startsWith("__");
}

/** What a checkpoint's finished tasks wrote to these channels: one list per task, in the order of its writes. */
export function writesByTask(tuple: CheckpointTuple, isWanted: (channel: string) => boolean): Writes[] {
  const { pendingWrites = [] } = tuple;
  const isOfNextRun = belongsToNextRun(tuple);
  return byTask(
    pendingWrites.flatMap(([task, name, value]) => {
      // LangGraph applies the others to the next run's state, whatever its input is.
      const isOwn = isWanted(name) && task !== NULL_TASK && !isOfNextRun(task);
      return isOwn ? [[task, [name, value]]] : [];
    }),
  );
}

function byTask<Write>(writes: readonly (readonly [task: string, write: Write])[]): Write[][] {
  const lists = new Map<string, Write[]>();
  for (const [task, write] of writes) addToList(lists, task, write);
  return [...lists.values()];
}

/**
 * What a run wrote to a channel if it began on this checkpoint and ended before it saved its own, in superstep order.
 * LangGraph discards it. Empty if the next checkpoint has it.
 *
 * @param child The checkpoint that continues this one; undefined if none does.
 */
export function writesOfLostRun(
  tuple: CheckpointTuple,
  child: CheckpointTuple | undefined,
  channel: string,
): unknown[] {
  // A child without its own value is rebuilt from these writes, so none of them is lost.
  if (child !== undefined && child.checkpoint.channel_values[channel] === undefined) return [];
  const isOfNextRun = belongsToNextRun(tuple);
  return (tuple.pendingWrites ?? [])
    .filter(([task, name]) => name === channel && isOfNextRun(task))
    .toSorted(([one], [other]) => (one < other ? -1 : Number(one > other)))
    .map(([, , value]) => value);
}

/**
 * What the same run wrote to a channel in one of its first two supersteps: one list per task. A run that continues the
 * checkpoint has the same tasks there.
 */
export function tasksOfLostRun(tuple: CheckpointTuple, step: number, channel: string): unknown[][] {
  const { pendingWrites = [], metadata } = tuple;
  if (step > (metadata?.step ?? -1) + 2) return [];
  const isOfNextRun = belongsToNextRun(tuple);
  return byTask(
    pendingWrites.flatMap(([task, name, value]) =>
      name === channel && isOfNextRun(task) && stepOfNextRun(task) === step ? [[task, value]] : [],
    ),
  );
}

/** What the `Command` of the checkpoint's next run wrote to a channel. */
export function writesOfCommand({ pendingWrites = [] }: CheckpointTuple, channel: string): unknown[] {
  return pendingWrites.flatMap(([task, name, value]) =>
    name === channel && task === NULL_TASK ? [value] : [],
  );
}

/** What was written to a channel beside a checkpoint, except by clients: their `Command` writes in the null task. */
export function writesBeside({ pendingWrites = [] }: CheckpointTuple, channel: string): unknown[] {
  return pendingWrites.flatMap(([task, name, value]) =>
    name === channel && task !== NULL_TASK ? [value] : [],
  );
}

/** The prefix of the channels that lead to nodes. Not exported. */
const TO_NODE = "branch:to:";

/** Whether the run was about to enter this node. */
export function waitsForNode({ checkpoint }: CheckpointTuple, node: string): boolean {
  return Object.hasOwn(checkpoint.channel_values, TO_NODE + node);
}

/** The nodes that the run was about to enter, without those that `Send` reaches. */
export function nodesToEnter({ checkpoint }: StoredState): string[] {
  const names = Object.keys(checkpoint.channel_values);
  return names.filter((name) => name.startsWith(TO_NODE)).map((name) => name.slice(TO_NODE.length));
}

/** Whether the checkpoint has an input that its run has not read yet. */
export function hasNewInput({ metadata }: StoredState): boolean {
  return metadata?.source === "input";
}

/** What the checkpoint's tasks wrote to a channel, as LangGraph shows it, or the error they failed with. */
export function tasksOf(tuple: CheckpointTuple, channel: string) {
  return writesByTask(tuple, (name) => name === channel || name === ERROR).map((writes) => {
    const values = writes.flatMap(([name, value]) => (name === channel ? [value].flat() : []));
    const failure = writes.find(([name]) => name === ERROR);
    return { result: values.length > 0 ? { [channel]: values } : undefined, error: failure?.[1] };
  });
}

/** Writes to channels, in order. */
export type Writes = readonly (readonly [channel: string, value: unknown])[];

/** Whether a task wrote that it failed. */
export function isFailed(writes: Writes): boolean {
  return writes.some(([channel]) => channel === ERROR);
}

/** Whether a task wrote that it asks a human. */
export function isAsked(writes: Writes): boolean {
  return writes.some(([channel]) => channel === INTERRUPT);
}

export function failuresOf({ pendingWrites = [] }: CheckpointTuple): unknown[] {
  return pendingWrites.flatMap(([, channel, error]) => (channel === ERROR ? [error] : []));
}

/*
 * A checkpoint's writes that belong to the run after it. With the durability `exit`, LangGraph stores all updates of a
 * delta channel with the checkpoint that the run began on.
 */

/** Such an update's task id begins with its superstep's number. Not exported. */
const STEP = /^(\d{8}|000000-\d)-/;
/** The updates of all supersteps after the first. No LangGraph task id begins like this. Not exported. */
const LATER = /^ffffffff-([0-9a-f]{4})-([0-9a-f]{4})-/;
/** The input in superstep 0, because the null task has zeros there. Not exported. */
const NULL_TASK_AT_EXIT = "00000000-0000-0000-0000-000000000001";
/** The first superstep of a run is at most this many supersteps after the checkpoint that it began on. */
const FIRST_STEPS = 3;

/** Makes a predicate on the tasks of a checkpoint's writes. */
export function belongsToNextRun({ metadata }: CheckpointTuple): (task: string) => boolean {
  const begin = metadata?.step ?? -1;
  return (task) => {
    if (task === NULL_TASK_AT_EXIT || LATER.test(task)) return true;
    const step = firstStepOf(task);
    return step !== undefined && step >= begin && step <= begin + FIRST_STEPS;
  };
}

/** The superstep of such an update. Contract: `belongsToNextRun` holds for its task. */
function stepOfNextRun(task: string): number {
  const [, high, low] = LATER.exec(task) ?? [];
  return high !== undefined ? Number.parseInt(`${high}${low}`, 16) : (firstStepOf(task) ?? 0);
}

function firstStepOf(task: string): number | undefined {
  const [, digits] = STEP.exec(task) ?? [];
  return digits === undefined ? undefined : Number(digits.replace("-", "")) * (digits.includes("-") ? -1 : 1);
}

/** The task of writes that no task made: a `Command`'s update and resume value. Not exported. */
const NULL_TASK = "00000000-0000-0000-0000-000000000000";

/*
 * Reads a checkpoint's history if its `messages` channel is a `DeltaChannel`.
 */

/**
 * The history, from the latest ancestor that holds it and the writes since, as LangGraph loads a thread. Undefined for
 * a saver that is older than the delta channel.
 *
 * @param like Its reducer makes the history from the writes.
 */
export async function readDelta(
  saver: BaseCheckpointSaver,
  config: RunnableConfig,
  like: DeltaChannel<BaseMessage[]> = new DeltaChannel(pairedMessagesDeltaReducer),
  name = "messages",
): Promise<unknown> {
  if (typeof saver.getDeltaChannelHistory !== "function") return undefined;
  const { [name]: stored } = await saver.getDeltaChannelHistory({ config, channels: [name] });
  if (stored === undefined) return undefined;
  const channel = like.fromCheckpoint(stored.seed as never);
  channel.replayWrites(stored.writes);
  return channel.value;
}

/**
 * The history at the beginning of a task's superstep, with the values of these keys, for a task whose input is not the
 * state. A key without a value is left out. Undefined outside a graph.
 */
export function readState(
  config: RunnableConfig,
  keys: readonly string[] = [],
): { messages: BaseMessage[]; [key: string]: unknown } | undefined {
  const state = readChannels(config, ["messages", ...keys]);
  return isRecord(state) && Array.isArray(state["messages"])
    ? { ...state, messages: state["messages"] }
    : undefined;
}

/*
 * The resume values among a checkpoint's writes: human decisions.
 */

/** The channel with the resume values of a task's interrupts. Not exported. */
const RESUME = "__resume__";

/**
 * The resume values of a checkpoint. Once a task has read its own, it is saved for the task. Before that, it is saved
 * under its interrupt's id, or for all interrupts.
 */
function resumeValuesAt({ pendingWrites = [] }: CheckpointTuple): ReadonlyMap<string, unknown> {
  return new Map(
    pendingWrites.flatMap(([task, channel, value]) => (channel === RESUME ? [[task, value]] : [])),
  );
}

/** The questions of a checkpoint, also those that were answered, with their tasks. */
function questionsAt({ pendingWrites = [] }: CheckpointTuple) {
  return pendingWrites.flatMap(([task, channel, value]) =>
    channel === INTERRUPT ? [value].flat().map((interrupt) => ({ task, interrupt })) : [],
  );
}

/** The interrupts that nobody has resumed. */
export function waitingInterrupts(tuple: CheckpointTuple): unknown[] {
  const resumed = resumeValuesAt(tuple);
  if (resumed.has(NULL_TASK)) return [];
  return questionsAt(tuple).flatMap(({ task, interrupt }) =>
    resumed.has(task) || resumed.has(idOfInterrupt(interrupt)) ? [] : [interrupt],
  );
}

export function hasAnswers(tuple: CheckpointTuple): boolean {
  return resumeValuesAt(tuple).size > 0;
}

/**
 * A checkpoint whose thread went on, for a run that answers its questions again: without their last answers, which
 * LangGraph would prefer to the new ones. What a human approved there has been done in the other branch.
 */
export function unanswered(tuple: CheckpointTuple): CheckpointTuple {
  const kept = (tuple.pendingWrites ?? []).flatMap<PendingWrite>((write) => {
    const [task, channel, value] = write;
    if (channel !== RESUME) return [write];
    // A tool that asked several times has an answer for each.
    const earlier = task !== NULL_TASK && Array.isArray(value) ? value.slice(0, -1) : [];
    return earlier.length === 0 ? [] : [[task, channel, earlier]];
  });
  return { ...tuple, pendingWrites: kept };
}

type PendingWrite = NonNullable<CheckpointTuple["pendingWrites"]>[number];

/** The ids of the questions that an answer names. Empty if it names none. An interrupt's id is a hash. */
export function questionsNamed(answer: unknown): string[] {
  const keys = isRecord(answer) ? Object.keys(answer) : [];
  return keys.every((key) => /^[0-9a-f]{32}$/.test(key)) ? keys : [];
}

/**
 * What a task wrote beside its checkpoint, for a run that answers there again. Nothing if its question is answered.
 *
 * @param named The questions that are answered. Empty: all.
 */
export function keptWrites(tuple: CheckpointTuple, id: string, named: readonly string[]): Writes {
  if (hasInterrupt(tuple, id, named)) return [];
  return (tuple.pendingWrites ?? []).flatMap(([task, channel, value]) =>
    task === id && (channel === "messages" || isOwnChannel(channel)) ? [[channel, value]] : [],
  );
}

/** Whether a task asked one of these questions, or any if none is named. */
export function hasInterrupt(tuple: CheckpointTuple, id: string, named: readonly string[] = []): boolean {
  return questionsAt(tuple).some(
    ({ task, interrupt }) => task === id && (named.length === 0 || named.includes(idOfInterrupt(interrupt))),
  );
}

export function idOfInterrupt(interrupt: unknown): string {
  return textIn(interrupt, "id") ?? "";
}

/** The questions of a checkpoint, also those that were answered; or only those of tasks that have not finished. */
export function interruptsAt(tuple: CheckpointTuple, { isFinished = true } = {}): unknown[] {
  const { pendingWrites = [] } = tuple;
  const finished = new Set(pendingWrites.flatMap(([task, channel]) => (isOutput(channel) ? task : [])));
  return questionsAt(tuple).flatMap(({ task, interrupt }) =>
    isFinished || !finished.has(task) ? [interrupt] : [],
  );
}

/** Whether a task wrote it to the state, to a node, or as a task: LangGraph's notes begin and end with underscores. */
function isOutput(channel: string): boolean {
  return channel === TASKS || !channel.startsWith("__");
}

/** What the questions of a checkpoint were answered with last, by their ids. */
export function answersAt(tuple: CheckpointTuple): Map<string, unknown> {
  const saved = resumeValuesAt(tuple);
  return new Map(
    questionsAt(tuple).flatMap(({ task, interrupt }) => {
      const id = idOfInterrupt(interrupt);
      const own = saved.get(task) ?? saved.get(id);
      if (own !== undefined) return [[id, [own].flat().at(-1)] as const];
      return saved.has(NULL_TASK) ? [[id, saved.get(NULL_TASK)] as const] : [];
    }),
  );
}

/** Whether the checkpoint has been resumed with this value before. */
export function isResumedWith(tuple: CheckpointTuple, value: unknown): boolean {
  const saved = resumeValuesAt(tuple);
  const has = (task: string, own: unknown) => saved.has(task) && toJson(saved.get(task)) === toJson(own);
  if (has(NULL_TASK, value)) return true;
  const byId = isRecord(value) ? Object.entries(value) : [];
  return byId.length > 0 && byId.every(([id, own]) => has(id, [own]));
}

/**
 * Saves a resume value with the checkpoint whose interrupts it answers, as LangGraph does. With the durability `exit`,
 * LangGraph saves nothing before the run ends. If the process died earlier, nobody would seem to have decided.
 */
export async function saveResumeValue(
  saver: BaseCheckpointSaver,
  tuple: CheckpointTuple,
  value: unknown,
): Promise<void> {
  const waiting = new Set(waitingInterrupts(tuple).map(idOfInterrupt));
  if (waiting.size === 0) return;
  const byId = isRecord(value) ? Object.entries(value) : [];
  const namesInterrupts = byId.length > 0 && byId.every(([id]) => waiting.has(id));
  const writes: [task: string, value: unknown][] = namesInterrupts
    ? byId.map(([id, own]) => [id, [own]])
    : [[NULL_TASK, value]];
  // LangGraph refuses an answer that does not say which of several questions it is for.
  if (!namesInterrupts && waiting.size > 1) return;
  for (const [task, own] of writes) await saver.putWrites(tuple.config, [[RESUME, own]], task);
}

/*
 * What the model node sends to the tools node for a tool call. It is JSON, because checkpoints store it.
 */

export interface ToolTask {
  readonly call: Call;
  /** The position of the call among its message's calls, from 0. */
  readonly index: number;
  /** Tells the call from every other in its thread: its message's id, and `index`. */
  readonly place: string;
  /** How many earlier calls in its message are of the same tool. Undefined: none. */
  readonly repeats?: number | undefined;
  /** Whether the run that sent the call notes its start. Undefined: no. */
  readonly isNoted?: boolean | undefined;
  /** The parsed arguments; undefined for a call whose arguments are not valid JSON. */
  readonly args: Record<string, unknown> | undefined;
  /** The tools that the model was offered, if this call is of another one. Such a call is not run. */
  readonly offered?: readonly string[] | undefined;
  /** The parser's error for invalid arguments. */
  readonly parseError: string | undefined;
}

/** One task per call of the message, in call order. */
export function toolTasksOf(message: AIMessage): ToolTask[] {
  const written = argumentsOf(message);
  const valid = message.tool_calls ?? [];
  const invalid = message.invalid_tool_calls ?? [];
  const counts = new Map<string, number>();
  return callsOf(message).map((call, index) => {
    const repeats = counts.get(call.name) ?? 0;
    counts.set(call.name, repeats + 1);
    return {
      call,
      index,
      place: placeOfCall({ head: message }, index),
      ...(repeats > 0 && { repeats }),
      args: call.kind === "valid" ? readArguments(written[index]) : undefined,
      parseError: invalid[index - valid.length]?.error,
    };
  });
}

/** Calls outside `tool_calls` can have their arguments as JSON text. */
function readArguments(written: unknown): ToolTask["args"] {
  const args = typeof written === "string" ? parseJson(written) : written;
  return isRecord(args) ? args : undefined;
}

export function isToolTask(value: unknown): value is ToolTask {
  if (!isRecord(value)) return false;
  const { call, index, place } = value;
  return isRecord(call) && typeof index === "number" && typeof place === "string";
}

/** The channel of the tasks that a checkpoint sent. Not exported. */
const TASKS = "__pregel_tasks";

/** The calls that a checkpoint sent, and those that its finished tasks sent to the next one. */
export function sentTasks({ checkpoint, pendingWrites = [] }: CheckpointTuple): ToolTask[] {
  const written = pendingWrites.flatMap(([, channel, value]) => (channel === TASKS ? [value] : []));
  const sends = [checkpoint.channel_values[TASKS] ?? [], written].flat(3);
  return sends.flatMap((send: unknown) => (isRecord(send) && isToolTask(send["args"]) ? [send["args"]] : []));
}

/** Whether the checkpoint's run was about to run this call of a LangChain agent. The names are not exported. */
export function sendsCall(tuple: CheckpointTuple, id: string): boolean {
  if (nodesToEnter(tuple).includes("tools")) return true;
  const sends = recordsIn(tuple.checkpoint.channel_values[TASKS]);
  return sends.some(
    ({ node, args }) => node === "tools" && textIn(Object(args)["lg_tool_call"], "id") === id,
  );
}

/** Whether tasks that were sent to other nodes run beside this one in its superstep. */
export function runsBesideTasks(config: RunnableConfig, own: string): boolean {
  return recordsIn(Object(readChannels(config, [TASKS]))[TASKS]).some(({ node }) => node !== own);
}

export function sentNodes({ checkpoint }: StoredState): string[] {
  return recordsIn(checkpoint.channel_values[TASKS]).map(({ node }) => String(node));
}

/** Whether a checkpoint's run had not come to its end. */
export function hasTasks(tuple: StoredState): boolean {
  return hasNewInput(tuple) || nodesToEnter(tuple).length + sentNodes(tuple).length > 0;
}

/** Whether somebody has written a checkpoint between runs. It leads to nodes, but no run has ended early there. */
export function isOfUpdate(metadata: object | undefined): boolean {
  const source = textIn(metadata, "source");
  return source === "update" || source === "fork";
}

/**
 * Whether a checkpoint's run may have something left to do, of whatever graph. A graph's own edges can lead to nodes
 * through other channels than the above. LangGraph's names have a colon or begin with underscores.
 */
export function mayGoOn({ checkpoint: { channel_values }, metadata }: CheckpointTuple): boolean {
  if (isOfUpdate(metadata)) return false;
  const isEmpty = (value: unknown) => Array.isArray(value) && value.length === 0;
  return Object.entries(channel_values).some(
    ([name, value]) => (name.includes(":") || name.startsWith("__")) && !isEmpty(value),
  );
}

/** The time between 1970 and the beginning of the Gregorian calendar, where a UUID's time begins. */
const GREGORIAN_OFFSET_MS = 12_219_292_800_000;

/** When a checkpoint was made, from its id, a version 6 UUID; undefined for another id. */
export function timeOfCheckpoint(id: string): number | undefined {
  const [, high, middle, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-6([0-9a-f]{3})-/i.exec(id) ?? [];
  if (high === undefined) return undefined;
  return Number(BigInt(`0x${high}${middle}${low}`) / 10_000n) - GREGORIAN_OFFSET_MS;
}

/**
 * The namespaces of the graph that a node ran in the superstep after a checkpoint: several, if `Send` started it several
 * times. LangGraph derives each from the task's id, and that from the checkpoint. Not exported.
 */
export function namespacesOfNode(tuple: CheckpointTuple, node: string): string[] {
  const { checkpoint, metadata, config } = tuple;
  const bytes = checkpoint.id.replaceAll("-", "").match(/../g) ?? [];
  if (bytes.length !== 16) return [];
  const parent = String(config.configurable?.["checkpoint_ns"] ?? "");
  const path = parent === "" ? node : `${parent}|${node}`;
  const step = String((metadata?.step ?? 0) + 1);
  const namespaceOf = (...task: readonly unknown[]) => {
    const id = v5(
      JSON.stringify([path, step, node, ...task]),
      Uint8Array.from(bytes, (byte) => Number.parseInt(byte, 16)),
    );
    return `${path}:${id}`;
  };
  const sent = sentNodes(tuple).flatMap((name, index) =>
    name === node ? [namespaceOf("__pregel_push", String(index))] : [],
  );
  if (!nodesToEnter(tuple).includes(node)) return sent;
  return [namespaceOf("__pregel_pull", [TO_NODE + node]), ...sent];
}
