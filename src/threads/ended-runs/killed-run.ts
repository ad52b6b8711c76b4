/** The run before this one, if its process was killed: nobody has told how it ended, and what it used. */

import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type CheckpointTuple, INTERRUPT, START } from "@langchain/langgraph";
import { isAIMessage } from "../../history/call.js";
import { isRecord } from "../../shared/values.js";
import { messagesAmong } from "../commands.js";
import { diaryOf, entryOfEnd, type NotedEnd, pageOf, writeOf } from "../diary.js";
import { emitEvent } from "../events.js";
import {
  hasTasks,
  nodesToEnter,
  sentNodes,
  timeOfCheckpoint,
  writesByTask,
} from "../langgraph/read-checkpoints.js";
import { savedRunId } from "../langgraph/run-host.js";
import type { WatchedCheckpoints } from "../saver/watched-checkpoints.js";
import { type EndOfRun, RunTally, type RunUsage, runEnd, threadUsageSchema } from "../usage.js";
import { historyIn, isForked, walkBack } from "./leftovers.js";

/** Contract: what the runs since the last told end have used. Undefined: nothing. */
type ReadUsage = (untold: Untold, checkpoints: WatchedCheckpoints) => Promise<RunUsage | undefined>;

/** The checkpoints of runs whose end nobody has told, latest first, and the one that they began on. */
interface Untold {
  readonly since: readonly CheckpointTuple[];
  readonly begunOn: CheckpointTuple | undefined;
}

/** Whether the end of the run before this one may not have been told. */
export function mayBeKilled({ abandoned, isFork }: WatchedCheckpoints): boolean {
  return abandoned !== undefined && !isFork && !hasEndedAt(abandoned);
}

/**
 * The end of the run before this one, if that was killed. Otherwise it reads nothing. Never rejects: a run goes on
 * without it.
 *
 * @param checkpoints `abandoned` is the latest one.
 */
export async function endOfKilledRun(
  checkpoints: WatchedCheckpoints,
  readUsage: ReadUsage,
): Promise<(EndOfRun & { readonly checkpointId: string }) | undefined> {
  const { abandoned } = checkpoints;
  if (abandoned === undefined || !mayBeKilled(checkpoints)) return undefined;
  try {
    const untold = await findUntold(abandoned, checkpoints);
    const run = untold && (await readUsage(untold, checkpoints));
    if (run === undefined) return undefined;
    const { id: checkpointId } = abandoned.checkpoint;
    const savedAt = timeOfCheckpoint(checkpointId) ?? run.startedAt;
    return { checkpointId, ...runEnd(run, "killed", Math.max(0, Math.round(savedAt - run.startedAt))) };
  } catch {
    return undefined;
  }
}

/** Tells it in a task of this run, and notes that it is told. */
export async function tellKilledRun(
  checkpoints: WatchedCheckpoints,
  readUsage: ReadUsage,
  config: RunnableConfig,
): Promise<void> {
  const end = await endOfKilledRun(checkpoints, readUsage);
  if (end === undefined) return;
  emitEvent(config, end);
  const { runId, outcome, checkpointId } = end;
  await noteEnd({ runId, outcome, hasUsed: true }, config, checkpointId).catch(() => {});
}

/** Notes beside a checkpoint how a run ended. */
export async function noteEnd(
  end: NotedEnd,
  config: RunnableConfig,
  checkpointId: string | undefined,
): Promise<void> {
  const page = pageOf(config, checkpointId);
  const [task, channel, value] = writeOf(entryOfEnd(end));
  await page?.saver.putWrites(page.config, [[channel, value]], task);
}

/** Undefined if it is not known where the last told end is. */
async function findUntold(
  abandoned: CheckpointTuple,
  checkpoints: WatchedCheckpoints,
): Promise<Untold | undefined> {
  const since: CheckpointTuple[] = [];
  for await (const step of walkBack(abandoned, checkpoints.read, { fate: "continued", most: MOST_READ })) {
    const { checkpoint, child } = step;
    // What was before a fork is told in the other branch.
    const isTold = hasEndedAt(checkpoint) || (child !== undefined && (await isForked(step, checkpoints)));
    if (isTold) return { since, begunOn: checkpoint };
    since.push(checkpoint);
    if (checkpoint.parentConfig === undefined) return { since, begunOn: undefined };
  }
  return undefined;
}

/** A run has at most two supersteps for each iteration. */
const MOST_READ = 400;

/**
 * Whether a run came to its end here, or to a question: all tasks have written something, or asked. Or its end was told,
 * as that of a cancelled or failed run. One that used nothing may have ended before it told a killed one's end.
 */
function hasEndedAt(checkpoint: CheckpointTuple): boolean {
  if (!hasTasks(checkpoint) || diaryOf(checkpoint).ends.some(({ hasUsed }) => hasUsed)) return true;
  const { pendingWrites = [] } = checkpoint;
  if (!pendingWrites.some(([, channel]) => channel === INTERRUPT)) return false;
  const settled = writesByTask(checkpoint, (channel) => !channel.includes("tether:")).length;
  return settled >= nodesToEnter(checkpoint).length + sentNodes(checkpoint).length;
}

/** What the thread says of its latest run: its graph saves that with each response. */
export const usageOfGraph: ReadUsage = async ({ since, begunOn }) => {
  const [latest] = since;
  const run = latest && latestRun(latest);
  return run === undefined || run.id === (begunOn && latestRun(begunOn))?.id ? undefined : run;
};

function latestRun(checkpoint: CheckpointTuple): RunUsage | undefined {
  const writes = writesByTask(checkpoint, (name) => name === "threadUsage").flat();
  const values = [checkpoint.checkpoint.channel_values["threadUsage"], ...writes.map(([, value]) => value)];
  return values.flatMap((value) => threadUsageSchema.safeParse(value).data?.run ?? []).at(-1);
}

/** What the responses say that came since: a LangChain agent saves nothing else of a run. */
export const usageOfResponses: ReadUsage = async ({ since, begunOn }, checkpoints) => {
  const [latest] = since;
  const first = since.at(-1);
  if (latest === undefined || first === undefined) return undefined;
  const before = begunOn === undefined ? [] : await messagesAt(begunOn, checkpoints);
  const known = new Set([...before, ...since.flatMap(inputOf)].map(({ id }) => id));
  const tally = new RunTally(savedRunId(latest) ?? latest.checkpoint.id);
  for (const message of [...(await messagesAt(latest, checkpoints)), ...since.flatMap(messagesWritten)]) {
    if (!isAIMessage(message) || known.has(message.id)) continue;
    known.add(message.id);
    tally.addStored(message);
  }
  const usage = tally.soFar();
  if (Object.keys(usage.models).length === 0) return undefined;
  return { ...usage, startedAt: timeOfCheckpoint(first.checkpoint.id) ?? usage.startedAt };
};

async function messagesAt(checkpoint: CheckpointTuple, checkpoints: WatchedCheckpoints) {
  const history: unknown = await historyIn(checkpoint, checkpoints);
  return [...messagesAmong(history), ...messagesWritten(checkpoint)];
}

function messagesWritten(checkpoint: CheckpointTuple): BaseMessage[] {
  const writes = writesByTask(checkpoint, (name) => name === "messages").flat();
  return messagesAmong(writes.flatMap(([, value]) => value));
}

/** A client can send responses that no run of the thread has asked for. */
function inputOf({ checkpoint }: CheckpointTuple): BaseMessage[] {
  const input: unknown = checkpoint.channel_values[START];
  return messagesAmong(isRecord(input) ? input["messages"] : []);
}
