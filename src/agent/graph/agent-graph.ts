/** The compiled graph of an agent. It applies a run's settings, whichever method starts the run. */

import type { BaseMessageLike } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { IterableReadableStream } from "@langchain/core/utils/stream";
import type { StreamMode } from "@langchain/langgraph";
import { trustMarked } from "../../history/marks.js";
import { abortSignal, checkSettings } from "../../shared/check-settings.js";
import { onAbort, type Reader, whileWorking } from "../../shared/waiting.js";
import { idsInInput } from "../../threads/commands.js";
import type { AgentEvent } from "../../threads/events.js";
import { type HeldAbort, holdAbort, relayAbort } from "../../threads/langgraph/abort.js";
import { refuseSharedMemory, sharesMemory } from "../../threads/langgraph/own-memory.js";
import { quickSaver } from "../../threads/langgraph/quick-saver.js";
import { isSaver } from "../../threads/langgraph/replace-methods.js";
import {
  isCheckpointNamed,
  isSavedRun,
  isSubgraphRun,
  withoutCheckpoint,
  withoutForgedKeys,
  withPlainCheckpoint,
} from "../../threads/langgraph/run-host.js";
import { soundSaver } from "../../threads/langgraph/sound-saver.js";
import {
  isSentTask,
  nodeOf,
  type RunChunksOf,
  type RunConfigOf,
  showOnly,
  withoutWriteCheck,
} from "../../threads/langgraph/wrappable-graph.js";
import type { NoKeys } from "../../threads/own-state.js";
import { isPassed } from "../../threads/saver/run-checkpoints.js";
import { lockLost } from "../../threads/saver/thread-lock.js";
import { boundedStore } from "../../threads/stores.js";
import { checkMiddleware, sortMiddleware } from "../middleware/middleware.js";
import type { AgentPlan } from "../plan.js";
import { accessOfRun, accessThread } from "../run/access.js";
import type { RunStart } from "../run/admit.js";
import { recursionLimitFor } from "../run/budgets.js";
import { admitUpdates } from "../run/input.js";
import { inQueue } from "../run/queue.js";
import { runAgent } from "../run/run.js";
import { steerThread } from "../run/steer.js";
import {
  type AgentChunk,
  type AgentInput,
  type AgentResult,
  type AgentSnapshot,
  BaseGraph,
  type Batch,
  type Drawn,
  type InvokeOptions,
  type RunOptions,
  type StreamEvents,
  type StreamOptions,
  type WithConfig,
} from "./types.js";

type GraphFields = ConstructorParameters<typeof BaseGraph>[0];
type Chunks = RunChunksOf<BaseGraph>;
type Chunk = Awaited<ReturnType<Chunks["next"]>>["value"];
type AnyOptions = RunConfigOf<BaseGraph>;

/**
 * The agent that `createAgentGraph` returns: a compiled LangGraph graph whose history stays paired. `invoke` returns
 * the messages of the thread. `stream` yields chunks while the run lasts.
 */
export class AgentGraph<Own = NoKeys, Update = NoKeys, Context = NoKeys> extends BaseGraph {
  declare readonly streamEvents: StreamEvents<Own, Update, Context>;
  declare readonly batch: Batch<Own, Update, Context>;
  declare readonly withConfig: WithConfig<this, Own, Update, Context>;
  readonly #shared: SharedByCopies;
  /** Set only on the copy that serves one run. */
  #run: OwnRun | undefined;

  /** LangGraph copies the graph from its fields alone. */
  constructor(fields: GraphFields) {
    super(fields);
    this.#shared = sharedBy(this);
    const { plan } = this.#shared;
    this.config = { recursionLimit: recursionLimitFor(plan.settings.maxIterations), ...this.config };
    // The server passes `recursionLimit: undefined`, which would override the default. `streamEvents` has four
    // overloads, so it is assigned here.
    const { streamEvents } = BaseGraph.prototype;
    this.streamEvents = ((input: never, options: InvokeOptions<Context>, streamOptions?: never) => {
      const { graph, run, rest } = this.#begin(options);
      const relay = relayAbort(rest);
      run.ends.push(relay.end);
      const { recursionLimit, ...others } = relay.options;
      const given = recursionLimit === undefined ? others : { ...others, recursionLimit };
      return streamEvents.call(graph, input, given as never, streamOptions);
    }) as unknown as StreamEvents<Own, Update, Context>;
  }

  static from<Own, Update, Context>(compiled: Drawn, plan: AgentPlan): AgentGraph<Own, Update, Context> {
    const ofFormat = plan.formatPlan === undefined ? [] : ["structuredResponse"];
    const fields = showOnly(withoutWriteCheck(compiled), ["messages", ...plan.ownState.keys, ...ofFormat]);
    shared.set(fields.builder, { plan, isToldOfMemory: false });
    // TypeScript infers the parameters of the generic constructor from a graph without nodes.
    return new AgentGraph(fields as unknown as GraphFields);
  }

  /*
   * A run: `invoke` or `stream` begins it, LangGraph asks for its chunks by `wrapRun`, and `#serve` runs it.
   */

  override async invoke(
    input: AgentInput<Update>,
    options: InvokeOptions<Context> = {},
  ): Promise<AgentResult<Own>> {
    const { graph, rest } = this.#begin(options, { isStreamed: false });
    return super.invoke.call(graph, input, rest);
  }

  override async stream<
    Mode extends StreamMode | StreamMode[] | undefined,
    Subgraphs extends boolean,
    Encoding extends "text/event-stream" | undefined,
  >(
    input: AgentInput<Update>,
    options: StreamOptions<Mode, Subgraphs, Encoding, Context> = {},
  ): Promise<IterableReadableStream<AgentChunk<Mode, Subgraphs, Encoding, Own, Update>>> {
    const { graph, run, rest } = this.#begin(options);
    return graph.#stream(input, rest, run);
  }

  async #stream(input: AgentInput<Update>, options: AnyOptions, run: OwnRun) {
    checkSettings({ signal: options.signal }, { signal: abortSignal }, "options");
    const abort = holdAbort(options);
    run.abort = abort;
    run.ends.push(abort.end);
    const starting: Promise<IterableReadableStream<never>> = super.stream(input, abort.options);
    return abort.attach(starting);
  }

  /**
   * Makes the copy of the graph that serves one run. The copy has the current checkpointer, because the server sets a
   * new one on the shared graph for each run. LangGraph's `invoke` and `streamEvents` call `stream` on the copy, which
   * returns the same copy. The run's middleware leaves the options here, so that LangGraph does not pass it to inner
   * graphs.
   */
  #begin<Options extends RunOptions<Context>>(options: Options, { isStreamed = true } = {}) {
    const { middleware = [], ...given } = options;
    // LangGraph accepts an undefined context, but its types do not.
    const rest = given as typeof given & { context?: object };
    if (this.#run !== undefined) return { graph: this, run: this.#run, rest };
    const graph = this.copy();
    const joined = sortMiddleware([...this.#shared.plan.middleware, ...checkMiddleware(middleware)]);
    const run: OwnRun = { isStreamed, middleware: joined, ends: [], abort: undefined };
    graph.#run = run;
    return { graph, run, rest };
  }

  /** LangGraph's methods call it on the copy. A parent graph and a server call it on the shared graph. */
  protected override wrapRun(received: unknown, options: AnyOptions): Chunks {
    return whileWorking<Chunk>(async (reader) => {
      const { graph, run } = this.#begin({});
      try {
        await graph.#serve(run, received, options, reader);
      } finally {
        for (const end of run.ends) end();
      }
    });
  }

  /** One run of this copy, from its place in the thread's queue to its end. */
  async #serve(run: OwnRun, received: unknown, options: AnyOptions, reader: Reader<Chunk>): Promise<void> {
    const { plan } = this.#shared;
    const given = withPlainCheckpoint(withoutForgedKeys(withBound(options, this.config, run.abort?.signal)));
    this.#assertOwnMemory(given);
    let latestInput = received;
    const thread = accessOfRun(this.checkpointer, given, () => idsInInput(latestInput));
    const { bound, saver } = thread;
    if (thread.checkpointer !== undefined) this.checkpointer = thread.checkpointer;
    const { streamMode, signal, store } = bound;
    if (this.store !== undefined) this.store = boundedStore(this.store, signal);
    const ownStore = store && boundedStore(store, signal);
    const { concurrentRuns } = plan.settings;
    const hasInput = () => latestInput == null || saver.checkpoints.saved !== undefined;
    const onLost = (cause: unknown) => run.abort?.abort(lockLost(bound, cause, hasInput()));
    const give = (chunk: Chunk): void => {
      if (streamMode === "values") trustMarked(Reflect.get(Object(chunk), "messages"));
      reader.give(chunk);
    };
    // What waits during the run then adds no listener of its own to the signal.
    if (signal !== undefined) run.ends.push(onAbort(signal, () => {}));
    await inQueue(thread.queued, { concurrentRuns, signal, onLost }, () =>
      runAgent<Chunk>({
        plan,
        isStreamed: run.isStreamed,
        middleware: run.middleware,
        received,
        options: { ...bound, ...(ownStore && { store: ownStore }) },
        saver,
        readThread: saver.checkpointer && (() => this.getState(bound)),
        startEvents: this.#startEvents(bound),
        store: ownStore ?? this.store,
        reader: { ...reader, give },
        // A parent graph is not a client: LangGraph alone checks what it passes.
        stream: (input, own) => {
          latestInput = input;
          return this.runUnwrapped(input, own as AnyOptions, !isSubgraphRun(own));
        },
      }),
    );
  }

  /** @throws InvalidSettingError if another task of the superstep has the memory of this graph. */
  #assertOwnMemory(options: RunnableConfig): void {
    const isOwn = this.checkpointer === true && isSubgraphRun(options);
    if (isOwn && sharesMemory(options)) refuseSharedMemory();
  }

  #startEvents(options: RunnableConfig): readonly AgentEvent[] {
    // A parent graph that saves its runs has this one as a node. An agent inside a tool starts afresh each time.
    const isSavedNode = isSubgraphRun(options) && isSavedRun(options) && nodeOf(options) !== "tools";
    // Tasks sent to one node would share its memory.
    if (isSentTask(options) || this.checkpointer !== undefined || !isSavedNode || this.#shared.isToldOfMemory)
      return [];
    this.#shared.isToldOfMemory = true;
    return [{ type: "memory-missing", remedy: "checkpointer: true" }];
  }

  /*
   * What else is done with a thread.
   */

  /**
   * Sends a message to a thread while it runs. The run adds it before its next model request. If the thread is idle,
   * its next run adds it.
   *
   * @param threadId The `thread_id` of the thread.
   * @param message A user or system message, in any form that a run's input takes.
   * @returns The key of the message in the thread's inbox. The event `message-steered` has the same key.
   * @throws InvalidSettingError if the graph has no store.
   * @throws InvalidMessageError for any other message.
   */
  steer(threadId: string, message: BaseMessageLike): Promise<string> {
    return steerThread(this.store, threadId, message, this.#shared.plan.settings);
  }

  /**
   * Every state update passes through here: `updateState` calls it, and so does the server when it creates a thread
   * with a history. An update waits for its thread's runs, which would otherwise overwrite it unseen.
   */
  override async bulkUpdateState(...[config, supersteps]: Parameters<BaseGraph["bulkUpdateState"]>) {
    const admitted = await admitUpdates(supersteps, this.#shared.plan);
    const { saver, queued } = accessThread(this.checkpointer, withBound(config, this.config));
    const graph = this.copy();
    if (saver.checkpointer !== undefined) graph.checkpointer = saver.checkpointer;
    return inQueue(queued, this.#shared.plan.settings, async () => {
      const { read } = saver.checkpoints;
      const named = isCheckpointNamed(config) ? await read?.(config) : undefined;
      const isOfRoot = !config.configurable?.["checkpoint_ns"];
      const isLatest = named && read && isOfRoot && !(await isPassed(named, config, read));
      // LangGraph takes over what finished tasks wrote only if no checkpoint is named, not even the latest one.
      const target = isLatest ? withoutCheckpoint(config) : config;
      await admitted.assertOwnResults(() => graph.getState(target));
      const isBranch = named !== undefined && !isLatest;
      const supersteps = isBranch ? await admitted.inOtherBranch(named) : admitted.supersteps;
      return super.bulkUpdateState.call(graph, target, supersteps);
    });
  }

  #reader(): this {
    const graph = this.copy();
    if (isSaver(graph.checkpointer)) graph.checkpointer = soundSaver(quickSaver(graph.checkpointer));
    return graph;
  }

  /** The latest state of a thread, or the state of a checkpoint. A thread that does not exist has no messages. */
  override async getState(...given: Parameters<Drawn["getState"]>): Promise<AgentSnapshot<Own>> {
    const snapshot = await super.getState.call(this.#reader(), ...given);
    return { ...snapshot, values: { messages: [], ...snapshot.values } };
  }

  /**
   * Yields the states of a thread, latest first. Like `getState`, it adds the results of finished tasks to the latest
   * state. So a chat UI shows the result of one call while another waits for approval.
   */
  override async *getStateHistory(
    ...[config, options]: Parameters<BaseGraph["getStateHistory"]>
  ): ReturnType<BaseGraph["getStateHistory"]> {
    let isLatest = options?.before === undefined && config.configurable?.["checkpoint_id"] === undefined;
    for await (const snapshot of super.getStateHistory.call(this.#reader(), config, options)) {
      const waits = isLatest && snapshot.tasks.some(({ interrupts }) => interrupts.length > 0);
      isLatest = false;
      yield waits ? { ...snapshot, values: (await this.getState(config)).values } : snapshot;
    }
  }
}

/** What the copy for one run knows about it. */
interface OwnRun extends RunStart {
  /** Set when its stream begins. */
  abort: Pick<HeldAbort<unknown>, "signal" | "abort"> | undefined;
  /** Contract: called when the run has ended. */
  readonly ends: (() => void)[];
}

interface SharedByCopies {
  readonly plan: AgentPlan;
  isToldOfMemory: boolean;
}

/** Copies of a graph share its builder. */
const shared = new WeakMap<object, SharedByCopies>();

function sharedBy({ builder }: Pick<GraphFields, "builder">): SharedByCopies {
  const found = shared.get(builder);
  if (found === undefined) throw new Error("An agent graph is made by `createAgentGraph`.");
  return found;
}

/**
 * The options of a run, completed with those that `withConfig` bound to its graph. Only options that are read before
 * LangGraph starts are here: it merges the others itself. A bound signal and the run's own signal both abort the run,
 * although LangGraph would take only one of them.
 *
 * @param abort Also aborts the run.
 */
function withBound(
  options: AnyOptions,
  bound: AnyOptions = {},
  abort: AbortSignal | undefined = undefined,
): AnyOptions {
  const signals = [options.signal, bound.signal, abort].filter((each) => each !== undefined);
  const { durability, checkpointDuring } =
    options.durability === undefined && options.checkpointDuring === undefined ? bound : options;
  return {
    ...options,
    // LangGraph reads only one signal, and Node warns about more than ten listeners on one. So each run has its own.
    signal: signals.length > 0 ? AbortSignal.any(signals) : undefined,
    maxConcurrency: options.maxConcurrency ?? bound.maxConcurrency,
    durability,
    checkpointDuring,
    context: options.context ?? bound.context,
    configurable: { ...bound.configurable, ...options.configurable },
  } as AnyOptions;
}
