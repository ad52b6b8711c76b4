/** The resume values among the writes of a checkpoint: the decisions of humans. */

import { type BaseCheckpointSaver, type CheckpointTuple, INTERRUPT } from "@langchain/langgraph";
import { isRecord } from "../../shared/is-record.js";
import { toJson } from "../../shared/to-json.js";
import { NULL_TASK } from "./null-task.js";

/** The channel of a checkpoint's writes that has the resume values of a task's interrupts. Not exported. */
const RESUME = "__resume__";

/**
 * The interrupts that nobody has resumed. A resume value is saved for its task once the task has read it. Before that,
 * it is saved under the id of its interrupt, or for all interrupts.
 */
export function waitingInterrupts({ pendingWrites = [] }: CheckpointTuple): unknown[] {
  const resumed = new Set(pendingWrites.flatMap(([task, channel]) => (channel === RESUME ? task : [])));
  if (resumed.has(NULL_TASK)) return [];
  return pendingWrites
    .filter(([task, channel]) => channel === INTERRUPT && !resumed.has(task))
    .flatMap(([, , value]) => [value].flat())
    .filter((interrupt) => !resumed.has(idOf(interrupt)));
}

function idOf(interrupt: unknown): string {
  const id = isRecord(interrupt) ? interrupt["id"] : undefined;
  return typeof id === "string" ? id : "";
}

/** Whether the checkpoint has been resumed with this value before. */
export function isResumedWith({ pendingWrites = [] }: CheckpointTuple, value: unknown): boolean {
  const saved = new Map(
    pendingWrites.flatMap(([task, channel, own]) => (channel === RESUME ? [[task, own]] : [])),
  );
  const has = (task: string, own: unknown) => saved.has(task) && toJson(saved.get(task)) === toJson(own);
  if (has(NULL_TASK, value)) return true;
  const byId = isRecord(value) ? Object.entries(value) : [];
  return byId.length > 0 && byId.every(([id, own]) => has(id, [own]));
}

/**
 * Saves a resume value with the checkpoint whose interrupts it answers, as LangGraph does. With the durability `exit`,
 * LangGraph saves nothing before the run ends. If the process died before, it would seem that nobody had decided.
 */
export async function saveResumeValue(
  saver: BaseCheckpointSaver,
  tuple: CheckpointTuple,
  value: unknown,
): Promise<void> {
  const waiting = new Set(waitingInterrupts(tuple).map(idOf));
  if (waiting.size === 0) return;
  const byId = isRecord(value) ? Object.entries(value) : [];
  const namesInterrupts = byId.length > 0 && byId.every(([id]) => waiting.has(id));
  const writes: [task: string, value: unknown][] = namesInterrupts
    ? byId.map(([id, own]) => [id, [own]])
    : [[NULL_TASK, value]];
  for (const [task, own] of writes) await saver.putWrites(tuple.config, [[RESUME, own]], task);
}
