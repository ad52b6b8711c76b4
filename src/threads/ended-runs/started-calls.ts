/**
 * Which calls of a thread had been started when their run ended. A note of it is saved before the tool of a call is run,
 * among the writes of the checkpoint that sent the call. So a run that continues the thread, and one that closes its
 * calls, knows what may have taken effect.
 *
 * - A call is started only when the checkpoint that sent it is saved. A killed run has started no other call.
 * - A tool that asks a human is run again from its beginning with the answer, so it is noted that it asked.
 * - The start of a tool that may be replayed is not noted, and nothing is said of it.
 * - A run that is saved only when it ends can note nothing, and neither does a graph inside another one.
 */

import { createHash } from "node:crypto";
import type { CheckpointTuple, LangGraphRunnableConfig } from "@langchain/langgraph";
import { toJson } from "../../shared/json.js";
import { isRecord } from "../../shared/values.js";
import { hasInterrupt, sentTasks, type ToolTask } from "../langgraph/read-checkpoints.js";
import { isOutermost } from "../langgraph/run-host.js";
import { stepOf } from "../langgraph/wrappable-graph.js";
import type { WatchedCheckpoints } from "../run-saver.js";

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

/** What is known of a call of the superstep of this task. */
export function startingCall(
  task: ToolTask,
  isSafe: boolean,
  config: LangGraphRunnableConfig,
  checkpoints: WatchedCheckpoints,
) {
  const step = stepOf(config);
  if (step === undefined || !isOutermost(config))
    return { isLost: false, begin: async () => {}, wait: async () => {} };
  const { abandoned, isFork } = checkpoints;
  // Only a run that continues a checkpoint has tasks in the superstep after it.
  const earlier = abandoned?.metadata?.step === step - 1 && !isFork ? abandoned : undefined;
  const [taskId = ""] = /[^:]*$/.exec(config.configurable?.["checkpoint_ns"] ?? "") ?? [];
  const { starts, waits } = notesOf(earlier).get(task.place) ?? NONE;
  const note = async (kind: Note): Promise<void> => {
    const write = await checkpoints.whenSent(step);
    config.signal?.throwIfAborted();
    if (!isSafe) await write?.(noteTask(task.place, kind, waits), NOTES, [task.place, kind]);
  };
  return {
    /** Whether the tool must not be run, because an earlier run had started it and left no result. */
    isLost:
      !isSafe &&
      earlier !== undefined &&
      (starts > waits || !(task.isNoted || waits > 0 || hasInterrupt(earlier, taskId))),
    /** Contract: call it before the tool is run. It resolves when the call and its start are saved. */
    begin: () => note("start"),
    /** Contract: call it when the tool asks a human, and will be run again with the answer. */
    wait: () => note("wait"),
  };
}

/** The places of the calls that a checkpoint sent, or its unsaved successor would have, and that were surely not started. */
export function unstartedCalls(tuple: CheckpointTuple): readonly string[] {
  const notes = notesOf(tuple);
  return sentTasks(tuple).flatMap(({ place, isNoted }) => {
    const { starts, waits } = notes.get(place) ?? NONE;
    return isNoted && starts === 0 && waits === 0 ? [place] : [];
  });
}

type Note = "start" | "wait";

interface Notes {
  readonly starts: number;
  readonly waits: number;
}

const NONE: Notes = { starts: 0, waits: 0 };

/** The channel of the notes. No graph has it, so LangGraph leaves its writes alone. */
const NOTES = "tether:calls";

function notesOf(tuple: CheckpointTuple | undefined): ReadonlyMap<unknown, Notes> {
  const notes = new Map<unknown, Notes>();
  for (const [, channel, value] of tuple?.pendingWrites ?? []) {
    if (channel !== NOTES || !Array.isArray(value)) continue;
    const [place, kind] = value;
    const { starts, waits } = notes.get(place) ?? NONE;
    notes.set(place, kind === "wait" ? { starts, waits: waits + 1 } : { starts: starts + 1, waits });
  }
  return notes;
}

/** The id under which a note is saved. A store can take UUIDs only, and a note that is saved again changes nothing. */
function noteTask(place: string, kind: Note, count: number): string {
  const digits = digest([place, kind, count]);
  // The first digit keeps it apart from ids that LangGraph gives a meaning.
  return `e${digits.slice(1, 8)}-${digits.slice(8, 12)}-5${digits.slice(13, 16)}-a${digits.slice(17, 20)}-${digits.slice(20, 32)}`;
}

function digest(values: readonly unknown[]): string {
  const text = toJson(values.map((value) => (value === undefined ? null : String(value)))) ?? "";
  return createHash("sha256").update(text).digest("hex");
}
