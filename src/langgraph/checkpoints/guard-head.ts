import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { ThreadConflictError } from "../../errors.js";
import { replaceMethods } from "../replace-methods.js";
import { belongsToNextRun } from "./input-writes.js";
import { isHead } from "./read-head.js";

export interface GuardedSaver {
  readonly saver: BaseCheckpointSaver;
  /**
   * Contract: call it when the run has ended without an error.
   *
   * @throws ThreadConflictError if another writer has replaced the last checkpoint of the run.
   */
  readonly assertKept: () => Promise<void>;
}

/**
 * A view of a checkpointer for one run of a thread. Before each write it checks that the latest checkpoint is the one
 * that the run has read or written last. Otherwise another process has written to the thread, and the two would
 * continue as two branches, of which the thread shows only one.
 *
 * A run from an older checkpoint makes a new branch on purpose. The check then begins with the latest checkpoint too.
 *
 * @throws ThreadConflictError from each write after another writer has moved the thread on.
 */
export function guardHead(saver: BaseCheckpointSaver, threadId: string): GuardedSaver {
  /** The latest checkpoint as this run knows it; undefined before the run has read it. */
  let head: { readonly id: string | undefined; readonly isOwn: boolean } | undefined;
  let conflict: ThreadConflictError | undefined;
  /** Whether a task's writes at the checkpoint that the run began on are those of this run. */
  let isFromThisRun: (task: string) => boolean = () => false;

  const fail = (): never => {
    conflict ??= movedOn(threadId, head?.isOwn ? head.id : undefined);
    throw conflict;
  };

  return {
    saver: replaceMethods(saver, {
      getTuple: async (config) => {
        const tuple = await saver.getTuple(config);
        if (isRoot(config) && !config.configurable?.["checkpoint_id"])
          if (head === undefined) {
            head = { id: tuple?.checkpoint.id, isOwn: false };
            if (tuple !== undefined) isFromThisRun = belongsToNextRun(tuple);
          }
        return tuple;
      },
      put: async (config, checkpoint, metadata, versions) => {
        if (!isRoot(config)) return saver.put(config, checkpoint, metadata, versions);
        if (conflict !== undefined) fail();
        if (head !== undefined && head.id !== checkpoint.id && !(await isHead(saver, threadId, head.id)))
          fail();
        const saved = await saver.put(config, checkpoint, metadata, versions);
        head = { id: checkpoint.id, isOwn: true };
        return saved;
      },
      // A reader of a delta channel would apply them to whatever continues the checkpoint.
      putWrites: async (config, writes, taskId, ...rest) => {
        const isAtStart =
          head !== undefined && !head.isOwn && head.id === config.configurable?.["checkpoint_id"];
        if (
          isAtStart &&
          isRoot(config) &&
          isFromThisRun(taskId) &&
          !(await isHead(saver, threadId, head?.id))
        )
          fail();
        return saver.putWrites(config, writes, taskId, ...rest);
      },
      // LangGraph can save in the background, and asks for a version in each superstep. So the run stops here, before
      // it runs more tools.
      getNextVersion: (current) => (conflict === undefined ? saver.getNextVersion(current) : fail()),
    }),
    assertKept: async () => {
      if (!head?.isOwn || (await isHead(saver, threadId, head.id))) return;
      if (!(await isAncestor(saver, threadId, head.id))) fail();
    },
  };
}

/** Subgraphs save their own checkpoints in namespaces of the thread. */
function isRoot({ configurable }: Parameters<BaseCheckpointSaver["getTuple"]>[0]): boolean {
  return (configurable?.["checkpoint_ns"] ?? "") === "";
}

/** Whether the latest checkpoint continues this one: the next run may have started already. */
async function isAncestor(
  saver: BaseCheckpointSaver,
  threadId: string,
  id: string | undefined,
): Promise<boolean> {
  const latest = { configurable: { thread_id: threadId, checkpoint_ns: "" } };
  let tuple = await saver.getTuple(latest);
  while (tuple !== undefined && tuple.checkpoint.id !== id) {
    tuple = tuple.parentConfig && (await saver.getTuple(tuple.parentConfig));
  }
  return tuple !== undefined;
}

function movedOn(threadId: string, checkpointId: string | undefined): ThreadConflictError {
  const left =
    checkpointId === undefined
      ? "This run has saved nothing, so send its input again."
      : `What this run has saved is not part of the thread. Read it with \`getState\` from the checkpoint ` +
        `\`${checkpointId}\`, where the results of its tools are, or send its input again.`;
  return new ThreadConflictError(
    "THREAD_MOVED",
    `Expected to be the only run of the thread \`${threadId}\`, but another process or graph wrote to it. ${left}`,
    { threadId, checkpointId },
  );
}
