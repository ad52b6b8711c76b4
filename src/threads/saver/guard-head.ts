/**
 * Guards a thread for one run: a checkpoint is saved only if the latest one is still the one that the run has read or
 * written last. Otherwise another process has written to the thread, and the two would continue as two branches, of which
 * the thread shows only one.
 *
 * A run from an older checkpoint makes a new branch on purpose. The check then begins with the latest checkpoint too.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { ThreadConflictError } from "../../errors.js";
import { answered } from "../../shared/waiting.js";
import { belongsToNextRun, timeOfCheckpoint } from "../langgraph/read-checkpoints.js";
import { type ThreadId, threadHead, type Write } from "./thread-head.js";

export interface GuardedThread {
  readonly threadId: ThreadId;
  /** The ids of the messages that the run brings, as far as they are known by now. */
  readonly messageIds: () => readonly string[];
}

type Put = BaseCheckpointSaver["put"];
type PutWrites = BaseCheckpointSaver["putWrites"];

/** A clock can be behind that of another machine by this time, in milliseconds. A run waits for it. */
const LONGEST_CLOCK_WAIT = 10_000;

export type GuardedHead = ReturnType<typeof guardHead>;

export function guardHead(
  saver: BaseCheckpointSaver,
  thread: GuardedThread,
  signal: AbortSignal | undefined,
) {
  const latest = threadHead(saver, thread.threadId, signal);
  /** The latest checkpoint as this run knows it; undefined before the run has read it. */
  let head: { readonly id: string | undefined; readonly isOwn: boolean } | undefined;
  let conflict: ThreadConflictError | undefined;
  /** Whether a task's writes at the checkpoint that the run began on are those of this run. */
  let isFromThisRun: (task: string) => boolean = () => false;
  /** Such writes. They are saved together with the checkpoint that follows, or not at all. */
  let held: Parameters<PutWrites>[] = [];

  const isInThread = (id: string | undefined) => hasInBranch(saver, thread, id);
  const fail = async (): Promise<never> => {
    // A run without messages, such as one with the input `null`, has all of its input where it began.
    const hasInput = head?.isOwn || thread.messageIds().length === 0;
    const own = hasInput ? head?.id : undefined;
    conflict ??= movedOn(thread, own, own !== undefined && (await isInThread(own)));
    throw conflict;
  };

  return {
    /** Call it with each checkpoint that the run reads. */
    async noteRead(config: RunnableConfig, tuple: CheckpointTuple | undefined): Promise<void> {
      if (head !== undefined || !isRoot(config) || config.configurable?.["checkpoint_id"]) return;
      head = { id: tuple?.checkpoint.id, isOwn: false };
      if (tuple === undefined) return;
      isFromThisRun = belongsToNextRun(tuple);
      await clockAfter(tuple.checkpoint.id, signal);
    },
    /** @throws ThreadConflictError after another writer has moved the thread on. */
    async put(...[config, checkpoint, ...rest]: Parameters<Put>): ReturnType<Put> {
      if (!isRoot(config)) return saver.put(config, checkpoint, ...rest);
      if (conflict !== undefined) return fail();
      const writes = held;
      held = [];
      let saved: Awaited<ReturnType<Put>> = config;
      const write: Write = async (to) => {
        for (const each of writes) await to.putWrites(...each);
        saved = await to.put(config, checkpoint, ...rest);
        return checkpoint.id;
      };
      if (head === undefined || head.id === checkpoint.id) await write(saver);
      else if (!(await latest.writeAfter(head.id, write))) return fail();
      head = { id: checkpoint.id, isOwn: true };
      return saved;
    },
    /** @throws ThreadConflictError after another writer has moved the thread on. */
    async putWrites(...given: Parameters<PutWrites>): Promise<void> {
      const [config, , task] = given;
      const isAtStart =
        isRoot(config) && head?.isOwn === false && head.id === config.configurable?.["checkpoint_id"];
      if (!isAtStart || !isFromThisRun(task)) return saver.putWrites(...given);
      if (conflict !== undefined) return fail();
      // A reader of a delta channel would apply them to whatever continues the checkpoint.
      held.push(given);
    },
    /** @throws ThreadConflictError if a write of this run has been refused. */
    assertUnmoved(): void {
      if (conflict !== undefined) throw conflict;
    },
    /** @throws ThreadConflictError if another writer has replaced the last checkpoint of the run. */
    async assertKept(): Promise<void> {
      if (!head?.isOwn) return;
      const { id } = head;
      const isKept = latest.is(id).then((isLatest) => isLatest || isInThread(id));
      if (!(await answered(isKept, { what: "The checkpointer", signal }))) await fail();
    },
  };
}

/** Subgraphs save their own checkpoints in namespaces of the thread. */
export function isRoot({ configurable }: RunnableConfig): boolean {
  return !configurable?.["checkpoint_ns"];
}

/**
 * Waits until this machine's clock is after that of a checkpoint. LangGraph takes the checkpoint with the latest time for
 * the latest one, so a run that is ahead of its clock would be saved and never be seen.
 */
async function clockAfter(id: string, signal: AbortSignal | undefined): Promise<void> {
  const ahead = (timeOfCheckpoint(id) ?? Number.NEGATIVE_INFINITY) - Date.now();
  if (ahead < 0) return;
  if (ahead > LONGEST_CLOCK_WAIT)
    throw new Error(
      `The latest checkpoint of the thread is ${Math.ceil(ahead / 1_000)} seconds ahead of the clock of this ` +
        "machine, so nothing that follows it would be seen. Set the clocks of the machines.",
    );
  await delay(ahead + 1, undefined, signal && { signal });
}

/** Whether the latest checkpoint is this one, or continues it: the next run may have started already. */
async function hasInBranch(
  saver: BaseCheckpointSaver,
  { threadId }: GuardedThread,
  id: string | undefined,
): Promise<boolean> {
  let tuple = await saver.getTuple({ configurable: { thread_id: threadId, checkpoint_ns: "" } });
  while (tuple !== undefined && tuple.checkpoint.id !== id)
    tuple = tuple.parentConfig && (await saver.getTuple(tuple.parentConfig));
  return tuple !== undefined;
}

/**
 * The error of a run that cannot go on.
 *
 * @param own The latest checkpoint that has all of its input.
 * @param isPart Whether the thread continues that one.
 */
function movedOn(
  { threadId, messageIds }: GuardedThread,
  own: string | undefined,
  isPart: boolean,
): ThreadConflictError {
  const ids = messageIds();
  const input = ids.length === 0 ? "its input" : `its input (${ids.map((id) => `\`${id}\``).join(", ")})`;
  const nothing = `The thread has nothing of this run, so send ${input} again.`;
  const part =
    `The thread has ${input} and what was saved until the checkpoint \`${own}\`, and the other run ` +
    "continues from there. Do not send the input again: read the thread, and continue it with the input `null` or with another message.";
  const branch =
    `What this run has saved is not part of the thread. Read it with \`getState\` from the checkpoint ` +
    `\`${own}\`, where the results of its tools are, or send ${input} again.`;
  return new ThreadConflictError(
    "THREAD_MOVED",
    `Expected to be the only run of the thread \`${threadId}\`, but another process or graph wrote to it. ` +
      (own === undefined ? nothing : isPart ? part : branch),
    { threadId: String(threadId), checkpointId: own, isInThread: isPart },
  );
}
