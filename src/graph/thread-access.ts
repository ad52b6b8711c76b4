import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph";
import { boundedSaver } from "../langgraph/bounded.js";
import { guardHead } from "../langgraph/checkpoints/guard-head.js";
import { withUniqueVersions } from "../langgraph/checkpoints/unique-versions.js";
import { type WatchedCheckpointer, watchCheckpointer } from "../langgraph/checkpoints/watch-checkpointer.js";
import { isSaver } from "../langgraph/replace-methods.js";
import {
  inheritedCheckpointer,
  isServedRun,
  isSubgraphRun,
  withInheritedCheckpointer,
} from "../langgraph/run-host.js";
import { type LateResults, lateResultsOf } from "../nodes/recovery/late-results.js";
import { inTurn, streamInTurn, type Thread, type TurnOptions } from "./thread-queue.js";

/** How one run or update of the state reads and writes its thread. */
export interface ThreadAccess {
  /** Use it in place of the graph's checkpointer. Undefined if there is none. */
  readonly saver: BaseCheckpointSaver | undefined;
  /** Contract: does an update when the earlier runs of the thread have ended. */
  readonly update: <Result>(options: TurnOptions, work: () => Promise<Result>) => Promise<Result>;
  /** Contract: streams a run when the earlier runs of the thread have ended. */
  readonly stream: <Chunk>(options: TurnOptions, start: () => AsyncGenerator<Chunk>) => AsyncGenerator<Chunk>;
}

/**
 * A run of a subgraph belongs to the run of its parent. LangGraph's server queues the runs of a thread itself. Neither
 * of them waits here, and neither does a run that saves nothing.
 */
export function accessThread(
  target: unknown,
  options: RunnableConfig,
  messageIds: () => readonly string[] = () => [],
): ThreadAccess {
  if (!isSaver(target))
    return { saver: undefined, update: (_, work) => work(), stream: (_, start) => start() };
  const { signal } = options;
  const saver = withUniqueVersions(boundedSaver(target, signal));
  const threadId: unknown = options.configurable?.["thread_id"];
  const isThread = typeof threadId === "string" || typeof threadId === "number";
  if (!isThread || isSubgraphRun(options) || isServedRun(options))
    return { saver, update: (_, work) => work(), stream: (_, start) => start() };
  const thread: Thread = { saver: target, threadId: String(threadId) };
  const guarded = guardHead({ saver, target, threadId, signal, messageIds });
  return {
    saver: guarded.saver,
    update: (turn, work) => inTurn(thread, turn, work),
    stream: (turn, start) =>
      streamInTurn(thread, turn, async function* () {
        yield* start();
        await guarded.assertKept();
      }),
  };
}

/** How a run accesses its thread, and what it can know about the thread. */
export interface WatchedThread<Options> extends Pick<ThreadAccess, "stream"> {
  /** The options to run with. */
  readonly bound: Options;
  readonly watched: WatchedCheckpointer;
  /** Use it in place of the graph's checkpointer. Undefined: the graph's own one stays. */
  readonly checkpointer: BaseCheckpointSaver | undefined;
  /** Makes what keeps late results of the thread. Undefined for a run whose thread no other run continues. */
  readonly lateResults: (store: BaseStore | undefined) => LateResults | undefined;
}

/**
 * Watches the checkpointer of a run, which brings messages with these ids. With `checkpointer: true`, a subgraph has a memory of its own, which it saves with
 * the checkpointer of its parent. So that one is watched.
 */
export function watchThread<Options extends RunnableConfig>(
  checkpointer: unknown,
  options: Options,
  messageIds: () => readonly string[],
): WatchedThread<Options> {
  const inherits = checkpointer === true && isSubgraphRun(options);
  const own = inherits ? inheritedCheckpointer(options) : checkpointer;
  const { saver, stream } = accessThread(own, options, messageIds);
  const watched = watchCheckpointer(saver);
  const { thread_id: threadId, checkpoint_ns } = { ...options.configurable };
  const isThread = isSaver(own) && (typeof threadId === "string" || typeof threadId === "number");
  const lateResults = (store: BaseStore | undefined) => {
    // A graph in a task has a namespace of its own, without the id of the task if it has a memory.
    const namespace = inherits ? String(checkpoint_ns ?? "").replaceAll(/:[^|]*/g, "") : "";
    const isKept = isThread && (inherits || !isSubgraphRun(options));
    return isKept ? lateResultsOf({ saver: own, threadId, namespace, store }) : undefined;
  };
  if (!inherits || watched.checkpointer === undefined)
    return { bound: options, watched, checkpointer: watched.checkpointer, stream, lateResults };
  const bound = withInheritedCheckpointer(options, watched.checkpointer);
  return { bound, watched, checkpointer: undefined, stream, lateResults };
}
