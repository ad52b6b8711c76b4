/** How a run or state update reads and writes its thread, and whether it waits for others. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { quickSaver } from "../../threads/langgraph/quick-saver.js";
import { isSaver } from "../../threads/langgraph/replace-methods.js";
import {
  inheritedCheckpointer,
  isServedRun,
  isSubgraphRun,
  withInheritedCheckpointer,
} from "../../threads/langgraph/run-host.js";
import { RunSaver } from "../../threads/saver/run-saver.js";
import type { Thread } from "./queue.js";

interface ThreadAccess {
  /** The view through which the thread is read and written. */
  readonly saver: RunSaver;
  /** The thread whose earlier runs and updates it waits for. Undefined: it does not wait. */
  readonly queued: Thread | undefined;
}

/**
 * Decides whether a run waits. A subgraph's run belongs to its parent's, LangGraph's server queues a thread's runs
 * itself, and a run that saves nothing disturbs nobody: these do not wait.
 *
 * @param messageIds The known ids of the messages that the run brings.
 */
export function accessThread(
  checkpointer: unknown,
  options: RunnableConfig,
  messageIds: () => readonly string[] = () => [],
): ThreadAccess {
  const quick = isSaver(checkpointer) ? quickSaver(checkpointer) : undefined;
  const { signal } = options;
  const threadId = threadIdIn(options);
  if (!isSaver(checkpointer) || threadId === undefined || isSubgraphRun(options) || isServedRun(options))
    return { saver: new RunSaver(quick, { signal }), queued: undefined };
  return {
    saver: new RunSaver(quick, { signal, guarded: { threadId, messageIds } }),
    queued: { saver: checkpointer, threadId: String(threadId) },
  };
}

function threadIdIn({ configurable }: RunnableConfig): string | number | undefined {
  const threadId: unknown = configurable?.["thread_id"];
  return typeof threadId === "string" || typeof threadId === "number" ? threadId : undefined;
}

/**
 * A run's access, and what it can know about its thread. With `checkpointer: true`, a subgraph saves its own memory
 * with its parent's checkpointer. So that one is wrapped.
 */
export function accessOfRun<Options extends RunnableConfig>(
  checkpointer: unknown,
  options: Options,
  messageIds: () => readonly string[],
) {
  const inherits = checkpointer === true && isSubgraphRun(options);
  const own = inherits ? inheritedCheckpointer(options) : checkpointer;
  const { saver, queued } = accessThread(own, options, messageIds);
  return {
    saver,
    queued,
    /** Replaces the graph's checkpointer. Undefined: the graph keeps its own. */
    checkpointer: inherits ? undefined : saver.checkpointer,
    /** The options to run with. */
    bound:
      inherits && saver.checkpointer !== undefined
        ? withInheritedCheckpointer(options, saver.checkpointer)
        : options,
  };
}
