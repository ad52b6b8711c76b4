/**
 * Finds what ended runs left behind. LangGraph saves the writes of each finished task, and each interrupt, with the
 * checkpoint of its superstep. New input discards them, so they are read from that checkpoint itself.
 */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { type CheckpointTuple, isCommand, START } from "@langchain/langgraph";
import { callsOf, indexesById, isAIMessage } from "../../history/messages/call.js";
import { callIdOf, isPlaceholder, isResult } from "../../history/messages/result.js";
import { coerceMessage } from "../../history/reading/coerce-message.js";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import {
  hasNewInput,
  nodesToEnter,
  waitsForNode,
  writesByTask,
  writesOfCommand,
  writesOfLostRun,
} from "../../langgraph/checkpoints/abandoned-checkpoint.js";
import { waitingInterrupts } from "../../langgraph/checkpoints/resume-values.js";
import type { WatchedCheckpoints } from "../../langgraph/checkpoints/watch-checkpointer.js";
import { unwrapped } from "../../langgraph/state/swap-channel.js";
import type { OwnState } from "../../settings/schemas/own-state.js";
import { isRecord } from "../../shared/is-record.js";
import { readTokens } from "../run/run-tally.js";
import { addUsage, isUsed, NO_USAGE, type ThreadUsage, threadUsageSchema } from "../run/thread-usage.js";
import { type AskedCall, askedCalls } from "./asked-calls.js";

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
export interface EndedRuns {
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

function keysIn(input: unknown, keys: readonly string[]): string[] {
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
