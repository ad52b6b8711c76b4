/** The run before this one, if its process was killed: nobody has told how it ended, and what it used. */

import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type CheckpointTuple, INTERRUPT, START } from "@langchain/langgraph";
import { isAIMessage } from "../../history/call.js";
import { isRecord } from "../../shared/values.js";
import { messagesAmong } from "../commands.js";
import { diaryOf, type NotedEnd, pageOf, writeEnd } from "../diary.js";
import { emitEvent } from "../events.js";
import {
  hasTasks,
  isOfUpdate,
  nodesToEnter,
  sentNodes,
  timeOfCheckpoint,
  writesByTask,
} from "../langgraph/read-checkpoints.js";
import { savedRunId } from "../langgraph/run-host.js";
import type { RunCheckpoints } from "../saver/run-checkpoints.js";
import { type EndOfRun, RunTally, type RunUsage, runEnd, threadUsageSchema } from "../usage.js";
import { historyIn, isForked, walkBack } from "./leftovers.js";

/** How an agent's threads tell what a run has used. */
interface UsageReader {
  /** What the runs since the last told end have used. Undefined: nothing. */
  readonly read: (untold: Untold, checkpoints: RunCheckpoints) => Promise<RunUsage | undefined>;
  /** Whether what is noted at a checkpoint tells the end of its latest run. */
  readonly isNoted: (checkpoint: CheckpointTuple, ends: readonly NotedEnd[]) => boolean;
}

/** The checkpoints of runs whose end nobody has told, and those before them back to a run that is done. Latest first. */
interface Untold {
  readonly since: readonly CheckpointTuple[];
  readonly told: readonly CheckpointTuple[];
}

/** Whether the end of the run before this one may not have been told. */
export function mayBeKilled({ begunOn, isFork }: RunCheckpoints, reader: UsageReader): boolean {
  return begunOn !== undefined && !isFork && !hasEndedAt(begunOn, reader);
}

/**
 * The end of the run before this one, if that was killed. Otherwise it reads nothing. Never rejects: a run continues
 * without it.
 *
 * @param checkpoints `begunOn` is the latest one.
 */
export async function endOfKilledRun(
  checkpoints: RunCheckpoints,
  reader: UsageReader,
): Promise<(EndOfRun & { readonly checkpointId: string }) | undefined> {
  const { begunOn } = checkpoints;
  if (begunOn === undefined || !mayBeKilled(checkpoints, reader)) return undefined;
  try {
    const untold = await findUntold(begunOn, checkpoints, reader);
    const run = untold && (await reader.read(untold, checkpoints));
    if (run === undefined) return undefined;
    const { id: checkpointId } = begunOn.checkpoint;
    const savedAt = timeOfCheckpoint(checkpointId) ?? run.startedAt;
    return { checkpointId, ...runEnd(run, "killed", Math.max(0, Math.round(savedAt - run.startedAt))) };
  } catch {
    return undefined;
  }
}

/** Tells it in a task of this run, and notes that it is told. */
export async function tellKilledRun(
  checkpoints: RunCheckpoints,
  reader: UsageReader,
  config: RunnableConfig,
): Promise<void> {
  const end = await endOfKilledRun(checkpoints, reader);
  if (end === undefined) return;
  emitEvent(config, end);
  const { runId, outcome, checkpointId } = end;
  await noteEnd({ runId, outcome, hasUsed: true }, config, checkpointId).catch(() => {});
}

/** Notes beside a checkpoint how a run ended. */
export async function noteEnd(
  end: Omit<NotedEnd, "settled">,
  config: RunnableConfig,
  checkpointId: string | undefined,
): Promise<void> {
  const page = pageOf(config, checkpointId);
  const tuple = await page?.saver.getTuple(page.config);
  if (page === undefined || tuple === undefined) return;
  await writeEnd(page, { ...end, settled: tasksWithMessages(tuple) });
}

/** Undefined if it is not known where the last told end is. */
async function findUntold(
  begunOn: CheckpointTuple,
  checkpoints: RunCheckpoints,
  reader: UsageReader,
): Promise<Untold | undefined> {
  const since: CheckpointTuple[] = [];
  const told: CheckpointTuple[] = [];
  for await (const step of walkBack(begunOn, checkpoints.read, { most: MOST_READ })) {
    const { checkpoint, child } = step;
    // What was before a fork is told in the other branch.
    const isFork = child !== undefined && (await isForked(step, checkpoints));
    const isTold = told.length > 0 || isFork || hasEndedAt(checkpoint, reader);
    (isTold ? told : since).push(checkpoint);
    // A run that followed a noted end can have put back what was written before it.
    if (isFork || (isTold && hasSettledAt(checkpoint)) || checkpoint.parentConfig === undefined)
      return { since, told };
  }
  return undefined;
}

/** A run has at most two supersteps for each iteration. */
const MOST_READ = 400;

/** Whether a run came to its end here, or has noted it. */
function hasEndedAt(checkpoint: CheckpointTuple, { isNoted }: UsageReader): boolean {
  // An update of the state is no run, and says nothing of the one before it.
  if (isOfUpdate(checkpoint.metadata)) return false;
  if (hasSettledAt(checkpoint)) return true;
  const { ends } = diaryOf(checkpoint);
  return ends.length > 0 && isNoted(checkpoint, ends);
}

/** Whether a run was done here, or asked a human: all tasks have written something, or asked. */
function hasSettledAt(checkpoint: CheckpointTuple): boolean {
  if (isOfUpdate(checkpoint.metadata)) return false;
  if (!hasTasks(checkpoint)) return true;
  const { pendingWrites = [] } = checkpoint;
  if (!pendingWrites.some(([, channel]) => channel === INTERRUPT)) return false;
  const settled = writesByTask(checkpoint, (channel) => !channel.includes("tether:")).length;
  return settled >= nodesToEnter(checkpoint).length + sentNodes(checkpoint).length;
}

/** What the thread says of its latest run: its graph saves that with each response. */
export const usageOfGraph: UsageReader = {
  read: async ({ since, told: [begunOn] }) => {
    const [latest] = since;
    const run = latest && latestRun(latest);
    const before = begunOn && latestRun(begunOn);
    const ends = since.flatMap((checkpoint) => diaryOf(checkpoint).ends);
    const isTold = run?.id === before?.id || ends.some(({ runId }) => runId === run?.id);
    return isTold ? undefined : run;
  },
  isNoted: (checkpoint, ends) => ends.some(({ runId }) => runId === latestRun(checkpoint)?.id),
};

function latestRun(checkpoint: CheckpointTuple): RunUsage | undefined {
  const writes = writesByTask(checkpoint, (name) => name === "threadUsage").flat();
  const values = [checkpoint.checkpoint.channel_values["threadUsage"], ...writes.map(([, value]) => value)];
  return values.flatMap((value) => threadUsageSchema.safeParse(value).data?.run ?? []).at(-1);
}

/** What the responses say that came since: a LangChain agent saves nothing else of a run. */
export const usageOfResponses: UsageReader = {
  read: readResponses,
  // A run that used nothing may have ended before it told the end of a killed one.
  isNoted: (checkpoint) => {
    const settled = settledTasks(checkpoint);
    return settled !== undefined && tasksWithMessages(checkpoint).every((task) => settled.has(task));
  },
};

async function readResponses({ since, told }: Untold, checkpoints: RunCheckpoints) {
  const [latest] = since;
  const first = since.at(-1);
  if (latest === undefined || first === undefined) return undefined;
  const known = new Set(since.flatMap(inputOf).map(({ id }) => id));
  const tally = new RunTally(savedRunId(latest) ?? latest.checkpoint.id);
  const all = [...since, ...told];
  const noted = all.find((checkpoint) => settledTasks(checkpoint) !== undefined);
  const untold = new Set(noted === undefined ? since : since.slice(0, all.indexOf(noted)));
  for (const checkpoint of all.toReversed()) {
    const settled = checkpoint === noted ? settledTasks(checkpoint) : undefined;
    // No run has asked for what an update brings.
    const isTold = !untold.has(checkpoint) || isOfUpdate(checkpoint.metadata);
    const history = messagesAmong(await historyIn(checkpoint, checkpoints));
    const written = messagesWritten(checkpoint, (task) => settled?.has(task) !== false);
    const later = messagesWritten(checkpoint, (task) => settled?.has(task) === false);
    for (const message of [...history, ...written, ...later]) {
      const isNew = isAIMessage(message) && !known.has(message.id);
      if (isNew && (!isTold || later.includes(message))) tally.addStored(message);
      known.add(message.id);
    }
  }
  const usage = tally.soFar();
  if (Object.keys(usage.models).length === 0) return undefined;
  return { ...usage, startedAt: timeOfCheckpoint(first.checkpoint.id) ?? usage.startedAt };
}

/** The tasks that had written when a run noted its end here. What others wrote is of a run that went on from here. */
function settledTasks(checkpoint: CheckpointTuple): ReadonlySet<string> | undefined {
  const ends = diaryOf(checkpoint).ends.filter(({ hasUsed }) => hasUsed);
  return ends.length === 0 ? undefined : new Set(ends.flatMap(({ settled }) => settled));
}

function messagesWritten(
  { pendingWrites = [] }: CheckpointTuple,
  isOf: (task: string) => boolean,
): BaseMessage[] {
  return pendingWrites.flatMap(([task, channel, value]) =>
    channel === "messages" && isOf(task) ? messagesAmong(value) : [],
  );
}

function tasksWithMessages({ pendingWrites = [] }: CheckpointTuple): string[] {
  return [...new Set(pendingWrites.flatMap(([task, channel]) => (channel === "messages" ? task : [])))];
}

/** A client can send responses that no run of the thread has asked for. */
function inputOf({ checkpoint }: CheckpointTuple): BaseMessage[] {
  const input: unknown = checkpoint.channel_values[START];
  return messagesAmong(isRecord(input) ? input["messages"] : []);
}
