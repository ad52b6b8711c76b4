/**
 * Finishes the turns that ended runs left: a loop over `invoke(null)`, under the locks of the threads. That starts no
 * call a second time that must not be, as `docs/guarantees.md` says.
 */

import type { RunnableConfig } from "@langchain/core/runnables";
import { InvalidSettingError, ThreadConflictError } from "../errors.js";
import {
  abortSignal,
  aFunction,
  checkSettings,
  countFrom,
  objectWith,
  type Rule,
} from "../shared/check-settings.js";
import { hasMethods } from "../shared/values.js";
import { threadHead } from "../threads/langgraph/thread-head.js";
import { lockLost, type ThreadLock, takeLock, withoutWaiting } from "../threads/saver/thread-lock.js";
import { openGraph } from "./graph-store.js";
import { repairedBy } from "./shown-state.js";
import type { UnfinishedThread } from "./unfinished.js";

/** The options of `finishThreads`. */
export interface FinishOptions {
  /** How many threads are continued at once. @default 1 */
  readonly concurrency?: number | undefined;
  /** Aborts the runs, and ends the loop after them. The thread of an aborted run is reported as `failed`. */
  readonly signal?: AbortSignal | undefined;
  /**
   * The lock that your program holds while it runs a thread with an agent of `createAgent`. A thread whose lock is held
   * is skipped. An agent of `createAgentGraph` has its lock in `concurrentRuns`, and takes none here. @default no lock
   */
  readonly lock?: ThreadLock | undefined;
  /**
   * Contract: returns, or resolves to, the options of a thread's run, such as its `context` or values for `configurable`.
   * LangGraph does not store these, so look them up by the thread's id. The id and the signal are added. If it throws, the
   * thread is reported as `failed`.
   *
   * @default none
   */
  readonly config?: ((thread: UnfinishedThread) => RunnableConfig | Promise<RunnableConfig>) | undefined;
}

interface OfThread {
  readonly threadId: string;
}

/** What became of a thread. */
export type FinishOutcome =
  /** Its turn has ended. */
  | (OfThread & { readonly kind: "finished" })
  /** A human is asked. Nothing was run, or the run came to a question. */
  | (OfThread & { readonly kind: "waiting" })
  /** It was not continued. */
  | (OfThread & {
      readonly kind: "skipped";
      /**
       * - `busy`: its run may be going on, or another process holds its lock.
       * - `moved`: it has a newer checkpoint than the list. This can also become clear while it is continued.
       * - `unreadable`: it cannot be read.
       * - `other-graph`: it belongs to another graph than this agent.
       */
      readonly reason: "busy" | "moved" | "unreadable" | "other-graph";
      /** One sentence. */
      readonly description: string;
    })
  /** Its run failed with this error. What the run had saved stays, so it can be continued again. */
  | (OfThread & { readonly kind: "failed"; readonly error: unknown });

const RULES: Readonly<Record<keyof FinishOptions, Rule>> = {
  concurrency: countFrom(1),
  signal: abortSignal,
  lock: objectWith("acquire", "a lock of threads, such as `postgresThreadLock(pool)`"),
  config: aFunction(),
};

/**
 * Continues threads as `invoke(null, config)` does, one after another, and says what became of each. A call that was
 * started without a result is not started again, unless its tool may be replayed. A thread that waits for a human stays
 * as it is. A thread whose run may be going on, whose lock is held, or that has moved on since it was listed is skipped.
 * A failure does not end the loop.
 *
 * Several processes can finish threads at once if they share a lock: `concurrentRuns: postgresThreadLock(pool)`, or
 * `lock` for an agent of `createAgent`. Without a lock, only one process may do so, while no other one runs the threads.
 *
 * @param agent The agent that ran the threads, of `createAgentGraph` or of `createAgent` with `tetherMiddleware`, with
 *   the same tools.
 * @param threads What `unfinishedThreads` found, or some of it.
 * @returns One outcome per thread, in the order in which they end.
 * @throws InvalidSettingError for an unknown option, an unusable value, or an agent without this protection.
 * @throws What `threads` throws, after the outcomes of the threads that it gave.
 * @example
 * ```ts
 * import { MemorySaver, RunControl } from "@langchain/langgraph";
 * import { createAgentGraph } from "langgraph-tether";
 * import { finishThreads, unfinishedThreads } from "langgraph-tether/doctor";
 *
 * const agent = createAgentGraph({ model: "offline:", checkpointer: new MemorySaver() });
 * const config = { configurable: { thread_id: "1" } };
 * const control = new RunControl();
 * control.requestDrain("the machine is replaced");
 * const input = { messages: [{ role: "user", content: "Hello!" }] };
 * await agent.invoke(input, { ...config, control }).catch(() => {});
 * for await (const { threadId, kind } of finishThreads(agent, unfinishedThreads(agent, { quietMs: 0 }))) {
 *   console.log(threadId, kind); // 1 finished
 * }
 * ```
 */
export function finishThreads(
  agent: object,
  threads: AsyncIterable<UnfinishedThread> | Iterable<UnfinishedThread>,
  options: FinishOptions = {},
): AsyncGenerator<FinishOutcome> {
  checkSettings(options, RULES, "options");
  const { graph } = openGraph(agent, undefined, "agent");
  const kind = repairedBy(Object.keys(graph.nodes));
  if (!canInvoke(agent) || kind === "nobody")
    throw InvalidSettingError.expected(
      "agent",
      "an agent of `createAgentGraph`, or of `createAgent` with `tetherMiddleware`",
      agent,
      " Another graph would start calls a second time.",
    );
  if (kind === "agent" && options.lock !== undefined)
    throw new InvalidSettingError(
      "lock",
      "Expected no `lock` for an agent of `createAgentGraph`, which takes its own: pass it to `createAgentGraph` as `concurrentRuns`.",
    );
  if (!isIterable(threads))
    throw InvalidSettingError.expected(
      "threads",
      "what `unfinishedThreads` returns, or a list of it",
      threads,
    );
  return finishAll(agent, threads, options);
}

interface Invokable {
  invoke(input: null, config: RunnableConfig): Promise<unknown>;
}

const canInvoke = (agent: object): agent is Invokable => hasMethods(agent, "invoke");

const isIterable = (value: unknown): boolean =>
  typeof value === "object" && value !== null && (Symbol.asyncIterator in value || Symbol.iterator in value);

async function* finishAll(
  agent: Invokable,
  threads: AsyncIterable<UnfinishedThread> | Iterable<UnfinishedThread>,
  options: FinishOptions,
): AsyncGenerator<FinishOutcome> {
  const { concurrency = 1, signal } = options;
  const running = new Set<Promise<FinishOutcome>>();
  const next = async (): Promise<FinishOutcome> => {
    const [work, outcome] = await Promise.race([...running].map(async (each) => [each, await each] as const));
    running.delete(work);
    return outcome;
  };
  let failure: { readonly error: unknown } | undefined;
  try {
    try {
      for await (const thread of threads) {
        if (signal?.aborted) break;
        running.add(finishOne(agent, thread, options));
        while (running.size >= concurrency) yield await next();
      }
    } catch (error) {
      failure = { error };
    }
    while (running.size > 0) yield await next();
    if (failure !== undefined) throw failure.error;
  } finally {
    await Promise.all(running);
  }
}

/** Contract: never rejects. */
async function finishOne(
  agent: Invokable,
  thread: UnfinishedThread,
  { signal, lock, config }: FinishOptions,
): Promise<FinishOutcome> {
  const { threadId, kind, evidence, otherGraph } = thread;
  const skipped = (reason: (FinishOutcome & { kind: "skipped" })["reason"], description: string) =>
    ({ threadId, kind: "skipped", reason, description }) as const;
  if (kind === "going-on") return skipped("busy", evidence);
  if (kind === "unreadable") return skipped("unreadable", evidence);
  if (otherGraph !== null) return skipped("other-graph", otherGraph);
  if (kind === "waiting") return { threadId, kind };
  const lost = new AbortController();
  try {
    const given = (await config?.(thread)) ?? {};
    const own = { ...given.configurable, thread_id: threadId };
    const onLost = (cause: unknown) => lost.abort(lockLost({ configurable: own }, cause, true));
    const run = async (): Promise<FinishOutcome> => {
      const { graph, saver } = openGraph(agent);
      if (!(await threadHead(saver, threadId, signal).is(thread.checkpointId ?? undefined)))
        return skipped("moved", "The thread has a newer checkpoint than when it was listed.");
      const signals = [signal, given.signal, lost.signal].filter((each) => each !== undefined);
      await agent.invoke(null, { ...given, configurable: own, signal: AbortSignal.any(signals) });
      const { tasks, next } = await graph.getState({ configurable: own });
      const isOver = next.length === 0 && tasks.every(({ interrupts }) => interrupts.length === 0);
      return { threadId, kind: isOver ? "finished" : "waiting" };
    };
    return await withoutWaiting(threadId, async () => {
      if (lock === undefined) return run();
      const release = await takeLock(lock, { threadId, signal, onLost, setting: "lock" });
      if (release === undefined) return skipped("busy", "Another process holds the lock of the thread.");
      return run().finally(release);
    });
  } catch (error) {
    const conflict = ThreadConflictError.from(error);
    if (conflict?.code === "THREAD_BUSY") return skipped("busy", conflict.message);
    if (conflict?.code === "THREAD_MOVED") return skipped("moved", conflict.message);
    return { threadId, kind: "failed", error };
  }
}
