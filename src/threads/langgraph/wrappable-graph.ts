/** A compiled graph whose runs can be wrapped, and the routes and tasks in it. */

import { Runnable, type RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { CompiledStateGraph, type StateDefinition } from "@langchain/langgraph";
import { isRecord } from "../../shared/values.js";
import { liveView, viewOf } from "../../shared/views.js";
import { isSubgraphRun, withoutForgedKeys } from "./run-host.js";

export type RunConfigOf<Graph extends { _streamIterator: (...given: never[]) => unknown }> = NonNullable<
  Parameters<Graph["_streamIterator"]>[1]
>;
export type RunChunksOf<Graph extends { _streamIterator: (...given: never[]) => unknown }> = ReturnType<
  Graph["_streamIterator"]
>;

/** A graph's type parameters make no difference to its runs' options and chunks. */
type AnyGraph = CompiledStateGraph<unknown, unknown, string>;

/**
 * A compiled graph whose runs a subclass can wrap. `_streamIterator` is marked as internal, but it is the only method
 * that every run calls: `invoke`, `stream`, `streamEvents`, and runs on a server or as a subgraph.
 */
export abstract class WrappableGraph<
  Values,
  Update,
  Channels extends StateDefinition,
  NodeUpdates,
  Writer,
> extends CompiledStateGraph<
  Values,
  Update,
  string,
  Channels,
  Channels,
  StateDefinition,
  NodeUpdates,
  unknown,
  Writer
> {
  /** Contract: streams one run. It calls `runUnwrapped`, once or more, to run the graph itself. */
  protected abstract wrapRun(received: unknown, options: RunConfigOf<AnyGraph>): RunChunksOf<AnyGraph>;

  override _streamIterator(input: unknown, options: RunConfigOf<AnyGraph> = {}) {
    return this.wrapRun(input, options);
  }

  /** Whether this run's input and context were checked. */
  #isChecked = false;

  protected override async _validateInput(input: never) {
    return this.#isChecked ? input : super._validateInput(input);
  }

  protected override async _validateContext(context: Record<string, unknown>) {
    return this.#isChecked ? context : super._validateContext(context);
  }

  /**
   * Streams a run of the graph without the wrapper.
   *
   * @param isChecked Whether the input and context were checked. LangGraph then does not check them again with the
   * graph's schemas. Call it on a copy that serves this run only.
   */
  protected runUnwrapped(input: unknown, options: RunConfigOf<AnyGraph>, isChecked = false) {
    this.#isChecked = isChecked;
    const chunks = super._streamIterator(input as never, options);
    return isSubgraphRun(options) ? chunks : withoutForgedContext(chunks);
  }

  /** LangGraph makes copies with `new this.constructor({ ...this })`, so a subclass must accept these fields alone. */
  protected copy(): this {
    return this.withConfig({});
  }
}

/**
 * A compiled graph's fields that show only these channels in streamed values and `getState`. `compile` shows all
 * channels, and has no option to change that.
 */
export function showOnly<Fields extends object>(fields: Fields, channels: readonly string[]): Fields {
  return { ...fields, streamChannels: [...channels] };
}

/**
 * A compiled graph's fields whose nodes write without a check by the state's schema. For that check LangGraph copies
 * the schema twice per write, which takes a fifth of a short run. Use it for nodes that write what they have checked.
 * Do not run the compiled graph itself.
 */
export function withoutWriteCheck<Fields extends { builder: object }>(compiled: Fields): Fields {
  const fields = { ...compiled };
  // The writers look up the schema in the graph that was compiled. If its name changes, they check again.
  compiled.builder = viewOf(compiled.builder, { _schemaRuntimeDefinition: undefined });
  return fields;
}

/**
 * LangGraph adds the asynchronous context's config to the options when a run begins. It can contain a client's keys.
 */
function withoutForgedContext<Chunks extends AsyncGenerator>(chunks: Chunks): Chunks {
  const context = AsyncLocalStorageProviderSingleton.getRunnableConfig();
  const own = context && withoutForgedKeys(context);
  if (own === context) return chunks;
  const next = chunks.next.bind(chunks);
  chunks.next = () => AsyncLocalStorageProviderSingleton.runWithConfig(own, next, true);
  return chunks;
}

/**
 * A graph's route that is called as it is. LangGraph wraps a function in a runnable, which makes a config, an
 * asynchronous context and a trace for each call.
 *
 * @param choose Contract: reads the state, and resolves to the next node's name.
 */
export function route<State, Target>(
  choose: (state: State, config: RunnableConfig) => Target | Promise<Target>,
): Runnable<State, Target> {
  return new Route(choose);
}

class Route<State, Target> extends Runnable<State, Target> {
  override lc_namespace = ["langgraph"];
  readonly #choose: (state: State, config: RunnableConfig) => Target | Promise<Target>;

  constructor(choose: (state: State, config: RunnableConfig) => Target | Promise<Target>) {
    super();
    this.name = choose.name;
    this.#choose = choose;
  }

  override async invoke(state: State, config: RunnableConfig = {}): Promise<Target> {
    return this.#choose(state, config);
  }
}

/** The fields of a task's metadata with its superstep's number in the thread, and its node. Not exported. */
const STEP = "langgraph_step";
const NODE = "langgraph_node";

/** The number of a task's superstep; undefined outside a graph. */
export function superstepOf(config: RunnableConfig): number | undefined {
  const step: unknown = config.metadata?.[STEP];
  return typeof step === "number" ? step : undefined;
}

/** Whether a `Send` made the task that runs the graph. */
export function isSentTask({ metadata }: RunnableConfig): boolean {
  const path: unknown = metadata?.["langgraph_path"];
  return Array.isArray(path) && path[0] === "__pregel_push";
}

export function nodeOf({ metadata }: RunnableConfig): unknown {
  return metadata?.[NODE];
}

/*
 * What LangGraph's `getCurrentTaskInput()` returns in a task.
 */

/** A task's notes, which hold its input. Not exported. */
const SCRATCHPAD = "__pregel_scratchpad";

/**
 * A config in which `getCurrentTaskInput()` returns the given value. A task that runs a tool call has that call as its
 * input, but tools expect the state, as in other agents. All other notes stay shared, because LangGraph counts a task's
 * interrupts in them.
 */
export function withTaskInput<Config extends RunnableConfig>(config: Config, input: unknown): Config {
  const scratchpad: unknown = config.configurable?.[SCRATCHPAD];
  if (!isRecord(scratchpad)) return config;
  const view = liveView(scratchpad, { currentTaskInput: input });
  return { ...config, configurable: { ...config.configurable, [SCRATCHPAD]: view } };
}
