/**
 * Which of a thread's calls had started when their run ended. Before a call's tool runs, a note is saved in the diary
 * beside the checkpoint that sent the call. So a later run that continues the thread or closes its calls knows what may
 * have taken effect.
 *
 * - A call starts only once the checkpoint that sent it is saved. A killed run has started no other call.
 * - A tool that asks a human runs again from its beginning with the answer, so a note says that it asked.
 * - A tool that may be replayed gets no note, and nothing is said about it.
 * - A run that is saved only at its end, or in a subgraph, can note nothing.
 * - A call counts as not started only if the checkpointer has returned other writes of the thread.
 */

import type { ToolMessage } from "@langchain/core/messages";
import type { CheckpointTuple, LangGraphRunnableConfig } from "@langchain/langgraph";
import { createPlaceholder } from "../../history/result.js";
import { isRecord, madeOnce } from "../../shared/values.js";
import { diaryOf, digest, type LateResult, notesOf } from "../diary.js";
import { type OnRepair, tellClosedCall } from "../events.js";
import { hasInterrupt, sentTasks, type ToolTask } from "../langgraph/read-checkpoints.js";
import { checkpointOfStep, isOutermost, ownTaskOf } from "../langgraph/run-host.js";
import { superstepOf } from "../langgraph/wrappable-graph.js";
import type { RunCheckpoints } from "../saver/run-checkpoints.js";

/**
 * A call's key: the same in every run that starts the call, and different for every other call. A tool passes it to a
 * service that does nothing twice for one key.
 *
 * @param place Tells the call from every other in its thread.
 */
export function callKeyOf({ configurable }: LangGraphRunnableConfig, place: string): string {
  return digest([configurable?.["thread_id"], place]).slice(0, 32);
}

/**
 * Whether a tool says that its calls may run again after they started: `replay` in its metadata, or else an MCP tool's
 * annotations.
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
export function notesStarts(config: LangGraphRunnableConfig, { savesAtOnce }: RunCheckpoints): boolean {
  return savesAtOnce && isOutermost(config);
}

interface StartingCall {
  /** Whether the tool must not run, because an earlier run started it and left no result. */
  readonly isLost: boolean;
  /** The result that came after that run. */
  readonly late?: LateResult | undefined;
  /** Contract: call it before the tool runs. It resolves once the call and its start are saved. */
  readonly begin: () => Promise<void>;
  /** Contract: call it when the tool asks a human, and will run again with the answer. */
  readonly wait: () => Promise<void>;
}

/** What is known about a call of this task's superstep. */
export async function startingCall(
  task: ToolTask,
  isSafe: boolean,
  config: LangGraphRunnableConfig,
  checkpoints: RunCheckpoints,
): Promise<StartingCall> {
  const step = superstepOf(config);
  const { begunOn, isFork } = checkpoints;
  // Only a run that continues a checkpoint has tasks in the superstep after it.
  const earlier = step !== undefined && begunOn?.metadata?.step === step - 1 && !isFork ? begunOn : undefined;
  const late = earlier && diaryOf(earlier).results.find(({ place }) => place === task.place);
  if (step === undefined || !isOutermost(config))
    return { isLost: false, late, begin: async () => {}, wait: async () => {} };
  const taskId = ownTaskOf(config);
  const { start, wait } = notesOf(earlier, task.place);
  const note = async (kind: "start" | "wait"): Promise<void> => {
    const write = await checkpoints.whenSent(step);
    config.signal?.throwIfAborted();
    if (!isSafe) await write?.([task.place, kind], wait);
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

/** Closes a call that an earlier run started. Nobody knows what it did, so the model decides. */
export function closeLostCall(
  { call, place }: Pick<ToolTask, "call" | "place">,
  config: LangGraphRunnableConfig,
  onRepair: OnRepair | undefined,
): ToolMessage {
  const cause = "interrupted";
  const message = createPlaceholder(call, cause, place, checkpointOfStep(config));
  tellClosedCall({ call, cause, message }, config, onRepair);
  return message;
}

/**
 * The places of calls that a checkpoint sent, or its unsaved successor would have sent, and that certainly did not
 * start. A missing note proves nothing if the checkpointer has lost it. So the checkpoint and those before it are read
 * again until one has a write: each superstep has left some there.
 */
export function unstartedCalls(
  tuple: CheckpointTuple,
  checkpoints: Pick<RunCheckpoints, "read">,
): Promise<readonly string[]> {
  return madeOnce(known, tuple, () => findUnstarted(tuple, checkpoints));
}

/** All calls of a batch ask. */
const known = new WeakMap<CheckpointTuple, Promise<readonly string[]>>();

async function findUnstarted(
  tuple: CheckpointTuple,
  { read }: Pick<RunCheckpoints, "read">,
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

/** The most checkpoints that are read. A run's first one has no write before it. */
const MOST_READ = 4;
