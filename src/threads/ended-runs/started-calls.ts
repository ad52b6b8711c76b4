/**
 * Which calls of a thread had been started when their run ended. A note of it is saved before the tool of a call is run, in
 * the diary beside the checkpoint that sent the call. So a run that continues the thread, and one that closes its calls,
 * knows what may have taken effect.
 *
 * - A call is started only when the checkpoint that sent it is saved. A killed run has started no other call.
 * - A tool that asks a human is run again from its beginning with the answer, so it is noted that it asked.
 * - The start of a tool that may be replayed is not noted, and nothing is said of it.
 * - A run that is saved only when it ends can note nothing, and neither does a graph inside another one.
 * - That a call was not started is said only if the checkpointer has given back other writes of the thread.
 */

import type { CheckpointTuple, LangGraphRunnableConfig } from "@langchain/langgraph";
import { isRecord, madeOnce } from "../../shared/values.js";
import { diaryOf, digest, type LateResult, writeOf } from "../diary.js";
import { hasInterrupt, sentTasks, type ToolTask } from "../langgraph/read-checkpoints.js";
import { isOutermost } from "../langgraph/run-host.js";
import { stepOf } from "../langgraph/wrappable-graph.js";
import type { WatchedCheckpoints } from "../saver/run-saver.js";

/**
 * The key of a call: the same in every run that starts the call, and that of no other call. A tool passes it to a service
 * that does nothing twice for one key.
 *
 * @param place Distinguishes the call from every other in its thread.
 */
export function callKeyOf({ configurable }: LangGraphRunnableConfig, place: string): string {
  return digest([configurable?.["thread_id"], place]).slice(0, 32);
}

/**
 * Whether a tool says that a call of it may be run again after it was started: `replay` in its metadata, or else the
 * annotations of a tool of an MCP server.
 */
export function isReplaySafe(tool: object | undefined): boolean {
  const metadata: unknown = tool && Reflect.get(tool, "metadata");
  if (!isRecord(metadata)) return false;
  const { replay, annotations } = metadata;
  if (replay !== undefined) return replay === "safe";
  return (
    isRecord(annotations) && (annotations["idempotentHint"] === true || annotations["readOnlyHint"] === true)
  );
}

/** Whether this run will note which of the calls that it sends are started. */
export function notesStarts(config: LangGraphRunnableConfig, { savesAtOnce }: WatchedCheckpoints): boolean {
  return savesAtOnce && isOutermost(config);
}

interface StartingCall {
  /** Whether the tool must not be run, because an earlier run had started it and left no result. */
  readonly isLost: boolean;
  /** The result that came after that run. */
  readonly late?: LateResult | undefined;
  /** Contract: call it before the tool is run. It resolves when the call and its start are saved. */
  readonly begin: () => Promise<void>;
  /** Contract: call it when the tool asks a human, and will be run again with the answer. */
  readonly wait: () => Promise<void>;
}

/** What is known of a call of the superstep of this task. */
export async function startingCall(
  task: ToolTask,
  isSafe: boolean,
  config: LangGraphRunnableConfig,
  checkpoints: WatchedCheckpoints,
): Promise<StartingCall> {
  const step = stepOf(config);
  const { abandoned, isFork } = checkpoints;
  // Only a run that continues a checkpoint has tasks in the superstep after it.
  const earlier =
    step !== undefined && abandoned?.metadata?.step === step - 1 && !isFork ? abandoned : undefined;
  const late = earlier && diaryOf(earlier).results.find(({ place }) => place === task.place);
  if (step === undefined || !isOutermost(config))
    return { isLost: false, late, begin: async () => {}, wait: async () => {} };
  const [taskId = ""] = /[^:]*$/.exec(config.configurable?.["checkpoint_ns"] ?? "") ?? [];
  const { start, wait } = earlier ? noteFor(task, earlier) : NONE;
  const note = async (kind: "start" | "wait"): Promise<void> => {
    const write = await checkpoints.whenSent(step);
    config.signal?.throwIfAborted();
    if (!isSafe) await write?.(...writeOf([task.place, kind], wait));
  };
  return {
    isLost:
      !isSafe &&
      earlier !== undefined &&
      (start > wait ||
        !(
          wait > 0 ||
          hasInterrupt(earlier, taskId) ||
          (await unstartedCalls(earlier, checkpoints)).includes(task.place)
        )),
    late,
    begin: () => note("start"),
    wait: () => note("wait"),
  };
}

const NONE = { start: 0, wait: 0 };

function noteFor({ place }: ToolTask, tuple: CheckpointTuple) {
  return diaryOf(tuple).notes.get(place) ?? NONE;
}

/**
 * The places of the calls that a checkpoint sent, or its unsaved successor would have, and that were surely not started.
 * That there is no note proves nothing if the checkpointer has lost it. So the checkpoint is read again like those before
 * it, until one of them has a write: each superstep has left some there.
 */
export function unstartedCalls(
  tuple: CheckpointTuple,
  checkpoints: Pick<WatchedCheckpoints, "read">,
): Promise<readonly string[]> {
  return madeOnce(known, tuple, () => findUnstarted(tuple, checkpoints));
}

/** All calls of a batch ask. */
const known = new WeakMap<CheckpointTuple, Promise<readonly string[]>>();

async function findUnstarted(
  tuple: CheckpointTuple,
  { read }: Pick<WatchedCheckpoints, "read">,
): Promise<readonly string[]> {
  const unnoted = (of: CheckpointTuple) => {
    const { notes } = diaryOf(of);
    return sentTasks(tuple).flatMap(({ place, isNoted }) => (isNoted && !notes.has(place) ? [place] : []));
  };
  if (unnoted(tuple).length === 0) return [];
  let last = await read?.(tuple.config);
  const places = last === undefined ? [] : unnoted(last);
  for (let count = 0; places.length > 0 && last !== undefined && count < MOST_READ; count += 1) {
    if ((last.pendingWrites ?? []).length > 0) return places;
    last = last.parentConfig && (await read?.(last.parentConfig));
  }
  return [];
}

/** How many checkpoints are read at most. The first one of a run has no write before it. */
const MOST_READ = 4;
