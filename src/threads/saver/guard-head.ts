/**
 * Guards a thread for one run: a checkpoint is saved only if the latest one is still the one that the run last read or
 * wrote. Otherwise another process has written to the thread. The two would continue as separate branches, and the
 * thread shows only one.
 *
 * A run from an older checkpoint makes a new branch on purpose. Its check also begins with the latest checkpoint.
 */

import { setTimeout as delay } from "node:timers/promises";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { ThreadConflictError } from "../../errors.js";
import { answered } from "../../shared/waiting.js";
import { belongsToNextRun, timeOfCheckpoint } from "../langgraph/read-checkpoints.js";
import { type ThreadId, threadHead, type Write } from "../langgraph/thread-head.js";

export interface GuardedThread {
  readonly threadId: ThreadId;
  /** The known ids of the messages that the run brings. */
  readonly messageIds: () => readonly string[];
}

type Put = BaseCheckpointSaver["put"];
type PutWrites = BaseCheckpointSaver["putWrites"];

/** How far one machine's clock can lag behind another's, in milliseconds. A run waits this long. */
const LONGEST_CLOCK_WAIT = 10_000;

export type GuardedHead = ReturnType<typeof guardHead>;

export function guardHead(
  saver: BaseCheckpointSaver,
  thread: GuardedThread,
  signal: AbortSignal | undefined,
) {
  const latest = threadHead(saver, thread.threadId, signal);
  /** The latest checkpoint that this run knows; undefined before the run has read it. */
  let head: { readonly id: string | undefined; readonly isOwn: boolean } | undefined;
  let conflict: ThreadConflictError | undefined;
  /** Whether a task's writes at the run's first checkpoint are this run's own. */
  let isFromThisRun: (task: string) => boolean = () => false;
  /** Such writes. They are saved together with the next checkpoint, or not at all. */
  let held: Parameters<PutWrites>[] = [];

  const isInThread = (id: string | undefined) => hasInBranch(saver, thread, id);
  const fail = async (): Promise<never> => {
    // A run without messages, such as one with the input `null`, has all its input where it began.
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
      // A delta channel's reader would apply them to whatever continues the checkpoint.
      held.push(given);
    },
    /** @throws ThreadConflictError if a write of this run was refused. */
    assertUnmoved(): void {
      if (conflict !== undefined) throw conflict;
    },
    /** @throws ThreadConflictError if another writer has replaced the run's last checkpoint. */
    async assertKept(): Promise<void> {
      if (!head?.isOwn) return;
      const { id } = head;
      const isKept = latest.is(id).then((isLatest) => isLatest || isInThread(id));
      if (!(await answered(isKept, { what: "The checkpointer", signal }))) await fail();
    },
  };
}

/** Subgraphs save their checkpoints in other namespaces of the thread. */
export function isRoot({ configurable }: RunnableConfig): boolean {
  return !configurable?.["checkpoint_ns"];
}

/**
 * Waits until this machine's clock has passed a checkpoint's time. LangGraph takes the checkpoint with the latest time
 * as the latest, so a run on a slow clock would be saved but never seen.
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

/** Whether the latest checkpoint is this one, or continues it: the next run may already have started. */
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
 * The error of a run that cannot continue.
 *
 * @param own The latest checkpoint that has all the run's input.
 * @param isPart Whether the thread continues from it.
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
