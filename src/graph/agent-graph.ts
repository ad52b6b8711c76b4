/** The compiled graph of an agent. It applies the settings of a run, whichever method starts the run. */

import type { BaseMessageLike } from "@langchain/core/messages";
import type { StreamEvent } from "@langchain/core/tracers/log_stream";
import type { IterableReadableStream } from "@langchain/core/utils/stream";
import type { StreamMode } from "@langchain/langgraph";
import { trustMarked } from "../history/messages/marks.js";
import { publishRepairs } from "../history/reducer/paired-messages.js";
import { boundedStore } from "../langgraph/bounded.js";
import { type HeldAbort, holdAbort } from "../langgraph/held-abort.js";
import { type RelayedAbort, relayAbort } from "../langgraph/relay-abort.js";
import { isSubgraphRun, withoutForgedKeys, withPlainCheckpoint } from "../langgraph/run-host.js";
import {
  type RunChunksOf,
  type RunConfigOf,
  showOnly,
  withoutWriteCheck,
} from "../langgraph/wrappable-graph.js";
import { joinMiddleware, sortMiddleware } from "../middleware/middleware.js";
import type { NoKeys } from "../settings/schemas/schema-types.js";
import { BaseGraph, type Drawn } from "./base-graph.js";
import { admitUpdates } from "./client/admit-messages.js";
import { admitValues } from "./client/admit-values.js";
import { readStateUpdate } from "./client/client-command.js";
import { steerThread } from "./client/steer.js";
import { publicChunk, publicEvent, withPublicParentStream } from "./public-view.js";
import { type RunDefaults, type RunStart, runAgent } from "./run-agent.js";
import { idsInInput } from "./run-input.js";
import type {
  AgentChunk,
  AgentInput,
  AgentResult,
  AgentSnapshot,
  Batch,
  InvokeOptions,
  RunOptions,
  StreamEvents,
  StreamOptions,
  WithConfig,
} from "./run-types.js";
import { startEventsOf } from "./start-events.js";
import { accessThread, watchThread } from "./thread-access.js";
import { withBound } from "./with-bound.js";

type GraphFields = ConstructorParameters<typeof BaseGraph>[0];
type Chunks = RunChunksOf<BaseGraph>;
type Chunk = Awaited<ReturnType<Chunks["next"]>>["value"];
type AnyOptions = RunConfigOf<BaseGraph>;

/**
 * The agent that `createAgentGraph` returns: a compiled LangGraph graph whose history stays paired. `invoke` returns
 * the messages of the thread. `stream` yields chunks while the run goes on.
 */
export class AgentGraph<Own = NoKeys, Update = NoKeys, Context = NoKeys> extends BaseGraph {
  declare readonly streamEvents: StreamEvents<Own, Update, Context>;
  declare readonly batch: Batch<Own, Update, Context>;
  declare readonly withConfig: WithConfig<this, Own, Update, Context>;
  readonly #defaults: RunDefaults;
  /** Set on the copy that serves one run; undefined on the graph that callers have. */
  #start: RunStart | undefined;
  /** Set on that copy when its stream begins. */
  #abort: Pick<HeldAbort<unknown>, "signal" | "end"> | undefined;
  /** Set on that copy by `streamEvents`. */
  #relay: RelayedAbort<AnyOptions> | undefined;

  /** @param defaults Not one of the fields, because LangGraph makes copies of the graph from its fields alone. */
  constructor(fields: GraphFields, defaults = defaultsOf(fields)) {
    super(fields);
    this.#defaults = defaults;
    runDefaults.set(this.builder, defaults);
    this.config = { recursionLimit: defaults.recursionLimit, ...this.config };
    // The server passes `recursionLimit: undefined`, which would override the default. The method is assigned here,
    // because it has four overloads.
    const { streamEvents } = BaseGraph.prototype;
    this.streamEvents = ((input: never, options: InvokeOptions<Context>, streamOptions?: never) => {
      const { run, rest } = this.#begin(options);
      run.#relay = relayAbort(rest);
      const { recursionLimit, ...others } = run.#relay.options;
      const given = recursionLimit === undefined ? others : { ...others, recursionLimit };
      return streamEvents.call(run, input, given as never, streamOptions);
    }) as unknown as StreamEvents<Own, Update, Context>;
  }

  static from<Own, Update, Context>(
    compiled: Drawn,
    defaults: RunDefaults,
  ): AgentGraph<Own, Update, Context> {
    const ofFormat = defaults.hasFormat ? ["structuredResponse"] : [];
    const fields = showOnly(withoutWriteCheck(compiled), [
      "messages",
      ...defaults.ownState.keys,
      ...ofFormat,
    ]);
    // TypeScript takes the parameters of the generic constructor from a graph without nodes.
    return new AgentGraph(fields as unknown as GraphFields, defaults);
  }

  override async invoke(
    input: AgentInput<Update>,
    options: InvokeOptions<Context> = {},
  ): Promise<AgentResult<Own>> {
    const { run, rest } = this.#begin(options, { isStreamed: false });
    return run.#invoke(input, rest);
  }

  #invoke(input: AgentInput<Update>, options: AnyOptions): Promise<AgentResult<Own>> {
    return super.invoke(input, options);
  }

  override async stream<
    Mode extends StreamMode | StreamMode[] | undefined,
    Subgraphs extends boolean,
    Encoding extends "text/event-stream" | undefined,
  >(
    input: AgentInput<Update>,
    options: StreamOptions<Mode, Subgraphs, Encoding, Context> = {},
  ): Promise<IterableReadableStream<AgentChunk<Mode, Subgraphs, Encoding, Own, Update>>> {
    const { run, rest } = this.#begin(options);
    return run.#stream(input, rest);
  }

  async #stream(input: AgentInput<Update>, options: AnyOptions) {
    const abort = holdAbort(options);
    this.#abort = abort;
    const starting: Promise<IterableReadableStream<never>> = super.stream(input, abort.options);
    return abort.attach(starting);
  }

  /**
   * Makes the copy of the graph that serves one run. It has the checkpointer of this moment, because the server sets
   * another one on the shared graph for each run. LangGraph's `invoke` and `streamEvents` call `stream` on the copy,
   * which returns the same copy. The run's middleware is taken out of the options, so that LangGraph does not pass it
   * to inner graphs.
   */
  #begin<Options extends RunOptions<Context>>(options: Options, { isStreamed = true } = {}) {
    const { middleware = [], ...given } = options;
    // LangGraph accepts an undefined context, but its types do not.
    const rest = given as typeof given & { context?: object };
    if (this.#start !== undefined) return { run: this, start: this.#start, rest };
    const run = this.copy();
    const start = {
      isStreamed,
      middleware: joinMiddleware(this.#defaults.middleware, sortMiddleware(middleware)),
    };
    run.#start = start;
    return { run, start, rest };
  }

  /**
   * Sends a message to a thread while its run goes on. The run adds it before its next model request. If no run goes on,
   * the next run of the thread adds it.
   *
   * @param threadId The `thread_id` of the thread.
   * @param message A message of the user or a system message, in any form that the input of a run takes.
   * @returns The key of the message in the thread's inbox. The event `message-steered` has the same key.
   * @throws InvalidSettingError if the graph has no store.
   * @throws InvalidMessageError for another message.
   */
  steer(threadId: string, message: BaseMessageLike): Promise<string> {
    const { steering: isOn } = this.#defaults;
    return steerThread({ store: this.store, threadId, message, isOn, rules: this.#defaults });
  }

  /**
   * Every state update passes this method: `updateState` calls it, and so does the server for a thread that is created
   * with a history. An update waits for the runs of its thread, because a run would not see it and would overwrite it.
   */
  override async bulkUpdateState(...[config, supersteps]: Parameters<BaseGraph["bulkUpdateState"]>) {
    const { read, assertOwnResults } = admitUpdates(this.#defaults, publishRepairs);
    const { ownState } = this.#defaults;
    const readMessages = { readMessages: read, ownKeys: ownState.keys };
    const own = await Promise.all(
      supersteps.map(async ({ updates }) => ({
        updates: await Promise.all(
          updates.map(async (given) => {
            const admitted = readStateUpdate(given, readMessages);
            return { ...admitted, values: await admitValues(admitted.values, ownState) };
          }),
        ),
      })),
    );
    const { saver, update } = accessThread(this.checkpointer, withBound(config, this.config));
    const graph = this.copy();
    if (saver !== undefined) graph.checkpointer = saver;
    return update(this.#defaults, async () => {
      await assertOwnResults(() => graph.getState(config));
      return graph.#bulkUpdateState(config, own);
    });
  }

  #bulkUpdateState(...given: Parameters<BaseGraph["bulkUpdateState"]>) {
    return super.bulkUpdateState(...given);
  }

  protected override shownEvent(event: StreamEvent): StreamEvent {
    return publicEvent(event);
  }

  protected override async *wrapRun(received: unknown, options: AnyOptions): Chunks {
    const { run, start } = this.#begin({});
    const abort = this.#abort;
    let latestInput = received;
    const given = withPlainCheckpoint(withoutForgedKeys(withBound(options, this.config, abort?.signal)));
    const { bound, watched, checkpointer, stream, lateResults } = watchThread(run.checkpointer, given, () =>
      idsInInput(latestInput),
    );
    if (checkpointer !== undefined) run.checkpointer = checkpointer;
    const { streamMode, signal, store } = bound;
    if (run.store !== undefined) run.store = boundedStore(run.store, signal);
    const ownStore = store && boundedStore(store, signal);
    const onlyMode = Array.isArray(streamMode) ? undefined : (streamMode ?? "");
    const { concurrentRuns } = this.#defaults;
    const readThread = watched.checkpointer && (() => run.getState(bound));
    const chunks = stream({ concurrentRuns, signal }, () =>
      runAgent<Chunk>({
        ...this.#defaults,
        ...start,
        received,
        options: withPublicParentStream({ ...bound, ...(ownStore && { store: ownStore }) }),
        watched,
        late: lateResults(ownStore ?? run.store),
        readThread,
        startEvents: startEventsOf(run, bound),
        store: run.store,
        // A parent graph is no client, so what it passes is checked by LangGraph alone.
        stream: (input, own) => {
          latestInput = input;
          return run.runUnwrapped(input, own as AnyOptions, !isSubgraphRun(own));
        },
      }),
    );
    try {
      for await (const chunk of chunks) {
        if (onlyMode === "values") trustMarked(Reflect.get(Object(chunk), "messages"));
        yield publicChunk(chunk, onlyMode);
      }
    } finally {
      abort?.end();
      this.#relay?.end();
    }
  }

  /** The latest state of a thread, or the state of a checkpoint. A thread that does not exist has no messages. */
  override async getState(...given: Parameters<Drawn["getState"]>): Promise<AgentSnapshot<Own>> {
    const snapshot = await super.getState(...given);
    return { ...snapshot, values: { messages: [], ...snapshot.values } };
  }

  /**
   * Yields the states of a thread, the latest first. If some tasks of the latest state wait, it contains the results of
   * the finished ones, like that of `getState`. So a chat UI that reads this history shows the result of a call while
   * another call waits for approval.
   */
  override async *getStateHistory(
    ...[config, options]: Parameters<BaseGraph["getStateHistory"]>
  ): ReturnType<BaseGraph["getStateHistory"]> {
    let isLatest = options?.before === undefined && config.configurable?.["checkpoint_id"] === undefined;
    for await (const snapshot of super.getStateHistory(config, options)) {
      const waits = isLatest && snapshot.tasks.some(({ interrupts }) => interrupts.length > 0);
      isLatest = false;
      yield waits ? { ...snapshot, values: (await this.getState(config)).values } : snapshot;
    }
  }
}

/** Copies of a graph share its builder. */
const runDefaults = new WeakMap<object, RunDefaults>();

function defaultsOf({ builder }: GraphFields): RunDefaults {
  const defaults = runDefaults.get(builder);
  if (defaults === undefined) throw new Error("An agent graph is made by `createAgentGraph`.");
  return defaults;
}
