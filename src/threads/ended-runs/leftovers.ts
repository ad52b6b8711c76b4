/**
 * Finds what ended runs left behind. LangGraph saves each finished task's writes, and each interrupt, with the
 * checkpoint of their superstep. New input discards them, so they are read from that checkpoint.
 */

import { AIMessage, type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type CheckpointTuple, isCommand, START } from "@langchain/langgraph";
import { callsOf, indexesById, isAIMessage } from "../../history/call.js";
import { MARKS } from "../../history/marks.js";
import { REMOVE_ALL_MESSAGES } from "../../history/message.js";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import { callIdOf, isPlaceholder, isResult } from "../../history/result.js";
import { isUserMessage } from "../../history/summary.js";
import { toJson } from "../../shared/json.js";
import { isRecord } from "../../shared/values.js";
import { messagesAmong, readWrites, type Written } from "../commands.js";
import { diaryOf, type LateResult } from "../diary.js";
import {
  hasNewInput,
  namespacesOfNode,
  nodesToEnter,
  type Writes,
  waitingInterrupts,
  waitsForNode,
  writesByTask,
  writesOfCommand,
  writesOfLostRun,
} from "../langgraph/read-checkpoints.js";
import { unwrapped } from "../langgraph/swap-channel.js";
import { parentCheckpoints, type RunCheckpoints } from "../saver/run-checkpoints.js";
import { addUsage, isUsed, NO_USAGE, readTokens, type ThreadUsage, threadUsageSchema } from "../usage.js";
import { unstartedCalls } from "./started-calls.js";

/** The most checkpoints that are usually read. Each run that ended before `patch` left two. */
const MOST_READ = 40;

/** What an ended run's checkpoint has and the thread's state lacks. */
export interface Leftovers {
  readonly checkpointId: string;
  /** The message whose calls the run was about to run, or ran. Undefined: the checkpoint is an input or an update. */
  readonly headId: string | undefined;
  /** The history that the run's tasks saw. */
  readonly history: readonly BaseMessage[];
  /** The messages that the finished tasks wrote, in call order. */
  readonly written: readonly BaseMessage[];
  /** What the finished tasks used of the thread's budgets. */
  readonly usage: ThreadUsage;
  /** The nodes that the run was about to enter, without the tasks of tool calls. */
  readonly nodes: readonly string[];
  /** The interrupts that nobody has resumed. */
  readonly interrupts: readonly unknown[];
  /** The places of calls that were certainly not started. */
  readonly unstarted: readonly string[];
  /** What the diary notes of calls, by their places: they have started, or have asked a human since. */
  readonly noted: ReadonlyMap<string, "started" | "asked">;
  /** What the finished tasks wrote to own keys, in call order. */
  readonly values: Writes;
  /** What tools returned after the run had ended. */
  readonly late: readonly LateResult[];
  /** The texts of cut-off responses that clients have. */
  readonly shown: readonly BaseMessage[];
  /** The ids of messages that later input removes. The client that removed them had seen them. */
  readonly removed: ReadonlySet<string>;
  /** The own keys that later input writes. */
  readonly rewritten: ReadonlySet<string>;
}

/** The same, of a run whose store tells less than a run knows. */
export type RecoverableRun = Omit<Leftovers, Untold> & Partial<Pick<Leftovers, Untold>>;
type Untold = "noted" | "values" | "usage" | "shown" | "rewritten";

/**
 * What became of a checkpoint's writes. `discarded`: new input dropped them. `applied`: a state update took them over
 * and dropped the questions. `continued`: the run's next superstep took them over.
 */
type Fate = "discarded" | "applied" | "continued";

/** A checkpoint, and the one that continues it. */
interface CheckpointStep {
  readonly checkpoint: CheckpointTuple;
  readonly child: CheckpointTuple | undefined;
  readonly fate: Fate;
}

/** Whether the route from START must send the run to `patch`, to look for leftovers. */
export function mayHaveLeftovers({ begunOn, isFork }: RunCheckpoints): boolean {
  if (begunOn === undefined) return false;
  const { results, shown } = diaryOf(begunOn);
  return (
    results.length + shown.length > 0 ||
    (!isFork && writesOfLostRun(begunOn, undefined, "messages").length > 0) ||
    hasNewInput(begunOn) ||
    waitsForNode(begunOn, "patch") ||
    writesByTask(begunOn, (name) => name === "messages" || name === "threadUsage").length > 0 ||
    waitingInterrupts(begunOn).length > 0
  );
}

/** What the runs before a new one left, and the new run's input. */
interface NewRun {
  /** Undefined: it cannot be read. */
  readonly input: unknown;
  readonly checkpoints: RunCheckpoints;
  /** Whether a channel is one of the own keys. */
  readonly isOwnKey: (name: string) => boolean;
  /** Contract: the value that a key has now. It tells which keys were written since, if inputs do not. */
  readonly valueNow?: (key: string) => unknown;
}

/**
 * The leftovers of all runs that ended since a run passed `patch`, oldest first.
 *
 * @param isBeforePatch Whether a checkpoint's run had not yet looked for leftovers.
 */
export async function findLeftovers(
  run: NewRun,
  isBeforePatch: (checkpoint: CheckpointTuple) => boolean = (checkpoint) => waitsForNode(checkpoint, "patch"),
): Promise<readonly Leftovers[]> {
  const found: Leftovers[] = [];
  // A run that is past `patch` ends the search, because it has looked itself.
  const goesOn = (checkpoint: CheckpointTuple) => isAddedBetweenRuns(checkpoint) || isBeforePatch(checkpoint);
  for await (const { step, left, lost } of walkLeftovers(run, goesOn)) {
    // An update that names an earlier checkpoint takes nothing over. A result is never left out.
    const own = step.fate === "applied" ? withResultsOnly(left) : left;
    const written = [...own.written, ...own.shown, ...lost];
    const whole = { ...own, written, usage: addUsage(own.usage, usageOf(lost)) };
    const hasMoreThanResults = written.some((message) => !isResult(message)) || isUsed(whole.usage);
    found.unshift(
      hasMoreThanResults && (await isForked(step, run.checkpoints)) ? withResultsOnly(whole) : whole,
    );
  }
  return found;
}

/**
 * Walks back over the checkpoints whose writes the next superstep did not apply, latest first. `left` is what a
 * checkpoint's finished tasks wrote, even if a state update took it over. `lost` is what a run wrote that was killed
 * before it saved a checkpoint.
 *
 * @param goesOn Contract: called after each checkpoint is read. Returns whether the one before it is read too.
 */
export async function* walkLeftovers(
  run: NewRun,
  goesOn: (checkpoint: CheckpointTuple) => boolean | Promise<boolean>,
  most = MOST_READ,
) {
  const { input, checkpoints, isOwnKey } = run;
  const removed = new Set(removalsOf(input));
  const rewritten = new Set(givenKeys(input, isOwnKey));
  // A run that continues an unfinished one applies its writes.
  const fate = input === undefined || (isRecord(input) && !isCommand(input)) ? "discarded" : "continued";
  for await (const step of walkBack(checkpoints.begunOn, checkpoints.read, { fate, most })) {
    const { checkpoint, child } = step;
    if (step.fate !== "continued") {
      const isSuperseded = child === undefined && checkpoints.isFork;
      const lost = isSuperseded ? [] : messagesAmong(writesOfLostRun(checkpoint, child, "messages").flat());
      const own = await readLeftovers(checkpoint, run);
      // LangChain adds the thread's own values to each input, so it does not tell what the caller has given.
      const isUntold = input === undefined && hasNewInput(checkpoint);
      const left = { ...own, ...(isUntold && { values: [] }), removed: new Set(removed) };
      yield { step, left: { ...left, rewritten: rewrittenSince(left, checkpoint, rewritten, run) }, lost };
    }
    if (!(await goesOn(checkpoint))) return;
    const received: unknown = checkpoint.checkpoint.channel_values[START];
    for (const id of removalsOf(received)) removed.add(id);
    if (input !== undefined) for (const key of givenKeys(received, isOwnKey)) rewritten.add(key);
  }
}

/** The keys that were written since a checkpoint, of those that its tasks wrote. */
function rewrittenSince(
  { values, late }: Pick<Leftovers, "values" | "late">,
  checkpoint: CheckpointTuple,
  given: ReadonlySet<string>,
  { valueNow }: Pick<NewRun, "valueNow">,
): ReadonlySet<string> {
  const keys = [...values, ...late.flatMap((one) => one.values)].map(([key]) => key);
  return new Set([...given, ...changedKeys(checkpoint, keys, valueNow)]);
}

/** The keys that no longer have the value that they have in a checkpoint. */
export function changedKeys(
  { checkpoint: { channel_values } }: CheckpointTuple,
  keys: readonly string[],
  valueNow: NewRun["valueNow"],
): string[] {
  if (valueNow === undefined) return [];
  return keys.filter((key) => toJson(valueNow(key)) !== toJson(channel_values[key]));
}

/** Whether the checkpoint is an input or an update. The run before it may have left something. */
export function isAddedBetweenRuns(checkpoint: CheckpointTuple): boolean {
  return hasNewInput(checkpoint) || checkpoint.metadata?.source === "update";
}

/**
 * The checkpoints of a branch, from the latest back.
 *
 * @param fate What became of the latest one's writes.
 * @param most The most checkpoints that are read.
 */
export async function* walkBack(
  latest: CheckpointTuple | undefined,
  read: RunCheckpoints["read"],
  { fate = "continued", most = MOST_READ }: { readonly fate?: Fate; readonly most?: number } = {},
): AsyncGenerator<CheckpointStep> {
  let step = latest && { checkpoint: latest, child: undefined as CheckpointTuple | undefined, fate };
  for (let count = 0; step !== undefined && count < most; count += 1) {
    yield step;
    const child: CheckpointTuple = step.checkpoint;
    const parent = child.parentConfig && (await read?.(child.parentConfig));
    step = parent && { checkpoint: parent, child, fate: fateOfParent(child, parent) };
  }
}

function fateOfParent(child: CheckpointTuple, parent: CheckpointTuple): Fate {
  if (child.metadata?.source === "input") return "discarded";
  if (child.metadata?.source === "update") return "applied";
  // With the durability `exit`, the checkpoint of the input between them is not saved.
  return (child.metadata?.step ?? 0) - (parent.metadata?.step ?? 0) > 1 ? "discarded" : "continued";
}

/** The ids of the messages that an input removes. */
function removalsOf(input: unknown): string[] {
  return messagesAmong(isRecord(input) ? input["messages"] : [])
    .filter((message) => RemoveMessage.isInstance(message))
    .map(({ id = "" }) => id);
}

/** The own keys that an input writes. */
export function givenKeys(input: unknown, isOwnKey: (name: string) => boolean): string[] {
  if (!isRecord(input)) return [];
  return Object.keys(input).filter((key) => isOwnKey(key) && input[key] !== undefined);
}

/**
 * Whether the thread had gone on from this checkpoint before its child was made. Then another branch has the messages.
 * Results are used anyway, because they tell what their calls did.
 */
export async function isForked(
  { checkpoint, child }: Pick<CheckpointStep, "checkpoint" | "child">,
  checkpoints: RunCheckpoints,
): Promise<boolean> {
  if (child === undefined) return checkpoints.isFork;
  const before = await checkpoints.readBefore?.(child.config);
  return before !== undefined && before.checkpoint.id !== checkpoint.checkpoint.id;
}

/**
 * Whether the run continues a branch that began on an earlier checkpoint, and whose runs have all ended before the model
 * had responded.
 */
export async function continuesFork(checkpoints: RunCheckpoints): Promise<boolean> {
  const { begunOn, read } = checkpoints;
  if (begunOn === undefined || !isBeforeResponse(begunOn)) return false;
  for await (const step of walkBack(begunOn, read)) {
    if (step.child !== undefined && (await isForked(step, checkpoints))) return true;
    if (!isBeforeResponse(step.checkpoint)) return false;
  }
  return false;
}

function isBeforeResponse(checkpoint: CheckpointTuple): boolean {
  const nodes = ["patch", "summarize", "model"];
  return hasNewInput(checkpoint) || nodes.some((node) => waitsForNode(checkpoint, node));
}

function withResultsOnly(left: Leftovers): Leftovers {
  const called = new Set(left.history.flatMap(callsOf).map(({ id }) => id));
  const results = left.written.filter(isResult).filter((result) => called.has(callIdOf(result)));
  return { ...left, written: results, values: [], usage: NO_USAGE };
}

/**
 * A checkpoint's stored history. With a delta channel, the checkpoint holds a snapshot or nothing; then the history is
 * rebuilt.
 */
export async function historyIn({ checkpoint, config }: CheckpointTuple, { readDelta }: RunCheckpoints) {
  const { messages } = checkpoint.channel_values;
  return messages === undefined ? readDelta?.(config) : unwrapped(messages);
}

/** What the run that ended at this checkpoint left there. */
async function readLeftovers(
  checkpoint: CheckpointTuple,
  { checkpoints, isOwnKey }: NewRun,
): Promise<Omit<Leftovers, "removed" | "rewritten">> {
  const stored = await historyIn(checkpoint, checkpoints);
  const history = reduceMessages(stored, writesOfCommand(checkpoint, "messages").flat()).messages;
  const isRead = (name: string) => name === "messages" || isOwnKey(name);
  const tasks = inCallOrder(writesByTask(checkpoint, isRead).map(readWrites), history);
  // The run ended before it had read its own input.
  if (tasks.length === 0 && hasNewInput(checkpoint))
    tasks.push(readWrites(writesOfInput(checkpoint, isRead)));
  const written = tasks.flatMap(({ messages }) => messages);
  const { notes, results, shown } = diaryOf(checkpoint);
  const known = new Set([...history, ...written].map(({ id }) => id));
  return {
    checkpointId: checkpoint.checkpoint.id,
    headId: isAddedBetweenRuns(checkpoint)
      ? undefined
      : history.findLast((message) => !isResult(message))?.id,
    history,
    written,
    late: results,
    shown: shown.flatMap((one) => (known.has(one.id) ? [] : interruptedResponse(one))),
    values: tasks.flatMap(({ values }) => values),
    usage: readUsage(checkpoint),
    nodes: nodesToEnter(checkpoint),
    interrupts: waitingInterrupts(checkpoint),
    unstarted: await unstartedCalls(checkpoint, checkpoints),
    noted: new Map([...notes].map(([place, { start, wait }]) => [place, start > wait ? "started" : "asked"])),
  };
}

/** What clients have of a cut-off response: its text, without calls and without what only its model can read. */
function interruptedResponse({ id, text }: { readonly id: string; readonly text: string }): AIMessage {
  return new AIMessage({ id, content: text, additional_kwargs: { [MARKS.interrupted]: true } });
}

/**
 * Before `patch` has run, the usage in its writes comes from earlier checkpoints, which are also read here. Counting
 * both would double it.
 */
function readUsage(checkpoint: CheckpointTuple): ThreadUsage {
  if (waitsForNode(checkpoint, "patch")) return NO_USAGE;
  const writes = writesByTask(checkpoint, (name) => name === "threadUsage").flat();
  const { run: _, ...usage } = writes
    .map(([, write]) => threadUsageSchema.safeParse(write).data ?? NO_USAGE)
    .reduce(addUsage, NO_USAGE);
  return usage;
}

/** A run's usage as its messages tell it, where LangGraph has saved nothing else. */
function usageOf(messages: readonly BaseMessage[]): ThreadUsage {
  const tokensOf = (message: BaseMessage): number =>
    (isAIMessage(message) ? readTokens(message.usage_metadata)?.total_tokens : undefined) ?? 0;
  return {
    tokens: messages.reduce((sum, message) => sum + tokensOf(message), 0),
    toolCalls: messages.filter((message) => isResult(message) && !isPlaceholder(message)).length,
  };
}

function writesOfInput({ checkpoint }: CheckpointTuple, isRead: (name: string) => boolean): Writes {
  const input: unknown = checkpoint.channel_values[START];
  return isRecord(input) ? givenKeys(input, isRead).map((name) => [name, input[name]]) : [];
}

/** Tasks of a batch finish in any order. */
function inCallOrder(tasks: readonly Written[], history: readonly BaseMessage[]): Written[] {
  const head = history.findLast((message) => !isResult(message));
  const indexes = indexesById(head === undefined ? [] : callsOf(head));
  const place = ({ messages }: Written) => {
    const result = messages.find(isResult);
    return (result && indexes.get(callIdOf(result))?.at(-1)) ?? -1;
  };
  return tasks.toSorted((one, other) => place(one) - place(other));
}

/*
 * What an agent that is a node of another graph, without a memory of its own, recovers. Each run of such a node has its
 * own checkpoints, and its graph gets its messages when it has ended. So all that an ended one did is missing there.
 */

/**
 * What the last run of the nodes left that an ended run of the graph around them did not get. Undefined for any other
 * agent.
 *
 * @param config A task's config.
 * @param isBeforeModel Whether a checkpoint's run had not yet asked the model.
 */
export async function findNestedLeftovers(
  config: RunnableConfig,
  run: Omit<NewRun, "checkpoints">,
  isBeforeModel: (checkpoint: CheckpointTuple) => boolean,
): Promise<readonly Leftovers[] | undefined> {
  const around = await parentCheckpoints(config);
  if (around === undefined) return undefined;
  const { parents, read } = around;
  const { nodes, begunOn } = around.parent;
  /** What the nodes did in the superstep after a checkpoint of the graph that the first of them is in. */
  const readNodes = async (
    checkpoint: CheckpointTuple,
    [node = "", ...inner]: readonly string[],
  ): Promise<Leftovers | undefined> => {
    const [namespace, ...others] = namespacesOfNode(checkpoint, node);
    // Which of several tasks this run does again cannot be told.
    if (namespace === undefined || others.length > 0) return undefined;
    const checkpoints = await read(namespace);
    const { begunOn: latest } = checkpoints;
    if (latest === undefined) return undefined;
    const left = await readNested(latest, { ...run, checkpoints });
    // A run that has asked the model, and one that had recovered an earlier run, can wait for the model again.
    if (inner.length === 0 && isBeforeModel(latest) && !left.written.some(isAIMessage)) return undefined;
    const within = inner.length === 0 ? undefined : await readNodes(latest, inner);
    if (within === undefined) return inner.length === 0 || left.written.length > 0 ? left : undefined;
    return {
      ...within,
      history: left.history,
      written: [...left.written, ...within.written],
      values: [...left.values, ...within.values],
      rewritten: new Set([...left.rewritten, ...within.rewritten]),
    };
  };
  for await (const { checkpoint, fate } of walkBack(parents.begunOn, parents.read)) {
    if (isAddedBetweenRuns(checkpoint) || checkpoint.checkpoint.id === begunOn) continue;
    // Other nodes can run before this one, in this run and in those between.
    if (namespacesOfNode(checkpoint, nodes[0] ?? "").length === 0) continue;
    // With the durability `exit`, the checkpoints of this run are not saved yet.
    const isLatest = checkpoint === parents.begunOn;
    // A run of the outer graph that has passed the node has its messages.
    if (fate !== "discarded" && !isLatest) return [];
    const left = await readNodes(checkpoint, nodes);
    // The latest checkpoint can also be one of this run, whose messages are known, but not what it wrote to keys.
    if (left !== undefined) return [isLatest ? { ...left, values: [] } : left];
  }
  return [];
}

/** All that a node's run did since its input, as the leftovers of one superstep. */
async function readNested(latest: CheckpointTuple, run: NewRun): Promise<Leftovers> {
  const steps: Awaited<ReturnType<typeof readLeftovers>>[] = [];
  let first = latest;
  for await (const { checkpoint } of walkBack(latest, run.checkpoints.read)) {
    if (hasNewInput(checkpoint)) break;
    steps.unshift(await readLeftovers(checkpoint, run));
    first = checkpoint;
  }
  const last = steps.at(-1) ?? (await readLeftovers(latest, run));
  const earliest = steps[0]?.history ?? [];
  // With the durability `exit`, only the last superstep is saved. The run's input ended with the user's message.
  const isInput = (first.metadata?.step ?? 0) < 1;
  const history = isInput ? earliest : earliest.slice(0, earliest.findLastIndex(isUserMessage) + 1);
  const known = new Set(history.map(({ id }) => id));
  const since = last.history.filter(({ id }) => !known.has(id));
  const values = steps.flatMap((step) => step.values);
  const left = { ...last, history, written: [...since, ...last.written], values, removed: new Set<string>() };
  return { ...left, rewritten: rewrittenSince(left, first, new Set(), run) };
}

/*
 * What a LangChain agent recovers from ended runs. Its middleware sees less than the graph of `createAgentGraph`.
 */

/**
 * Whether the previous run may have ended without storing what it wrote: the message before the new input is not a
 * final response.
 */
export function mayLackResponse(history: readonly BaseMessage[]): boolean {
  const before = history.at(-1)?.type === "human" ? history.at(-2) : history.at(-1);
  return before !== undefined && !(isAIMessage(before) && callsOf(before).length === 0);
}

/** The leftovers whose last message is still in the history, with the messages that are put back. */
export function leftoversInPlace(
  history: readonly BaseMessage[],
  leftovers: readonly RecoverableRun[],
): RecoverableRun[] {
  const present = new Set(history.map(({ id }) => id));
  // The run's input cannot be read here, so it is unknown what it removed. If the last message is gone, or belongs to
  // another branch, nothing is put back.
  return leftovers
    .filter((leftover) => present.has(leftover.history.at(-1)?.id))
    .map((leftover) => ({ ...leftover, written: withoutRewrites(leftover.written) }))
    .filter((leftover, index) => index < leftovers.length - 1 || !isOwnInput(leftover, history));
}

/**
 * Whether the latest checkpoint is this run's own input, which LangGraph may save before the run reads its thread. It
 * holds the input as the caller gave it, without ids.
 */
function isOwnInput({ headId, written }: RecoverableRun, history: readonly BaseMessage[]): boolean {
  const last = written.length === 0 ? [] : history.slice(-written.length);
  const isSame = (one: BaseMessage, other: BaseMessage | undefined) =>
    one.type === other?.type && toJson(one.content) === toJson(other.content);
  return headId === undefined && last.length > 0 && written.every((one, index) => isSame(one, last[index]));
}

/**
 * A middleware such as `summarizationMiddleware` replaces the whole history. If its step was not stored, the history is
 * still whole, and the middleware writes it again.
 */
function withoutRewrites(written: readonly BaseMessage[]): readonly BaseMessage[] {
  const isRewrite = written.some(({ type, id }) => type === "remove" && id === REMOVE_ALL_MESSAGES);
  return isRewrite ? written.filter(isResult) : written;
}
