/** A compiled graph whose runs can be wrapped, and the routes and tasks in it. */

import { Runnable, type RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { CompiledStateGraph, type StateDefinition } from "@langchain/langgraph";
import { isRecord } from "../../shared/values.js";
import { liveView, viewOf } from "../../shared/views.js";
import { isSubgraphRun, withoutForgedKeys } from "./run-host.js";

/** The options that LangGraph passes to a run. */
export type RunConfigOf<Graph extends { _streamIterator: (...given: never[]) => unknown }> = NonNullable<
  Parameters<Graph["_streamIterator"]>[1]
>;
/** The chunks of a run. */
export type RunChunksOf<Graph extends { _streamIterator: (...given: never[]) => unknown }> = ReturnType<
  Graph["_streamIterator"]
>;

/** The parameters of a graph's type make no difference to the options and the chunks of its runs. */
type AnyGraph = CompiledStateGraph<unknown, unknown, string>;

/**
 * A compiled graph whose runs a subclass can wrap. `_streamIterator` is marked as internal, but it is the only method
 * that every run calls: `invoke`, `stream`, `streamEvents`, runs on a server, and runs as a subgraph.
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
  /** Contract: streams one run. It calls `runUnwrapped`, once or several times, to run the graph itself. */
  protected abstract wrapRun(received: unknown, options: RunConfigOf<AnyGraph>): RunChunksOf<AnyGraph>;

  override _streamIterator(input: unknown, options: RunConfigOf<AnyGraph> = {}) {
    return this.wrapRun(input, options);
  }

  /** Whether the input and the context of this run were checked. */
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
   * @param isChecked Whether the input and the context were checked. LangGraph then does not check them again with the
   * schemas of the graph. Call it on a copy that serves this run only.
   */
  protected runUnwrapped(input: unknown, options: RunConfigOf<AnyGraph>, isChecked = false) {
    this.#isChecked = isChecked;
    const chunks = super._streamIterator(input as never, options);
    return isSubgraphRun(options) ? chunks : withoutForgedContext(chunks);
  }

  /**
   * LangGraph makes copies with `new this.constructor({ ...this })`, so a subclass must accept the same fields alone.
   */
  protected copy(): this {
    return this.withConfig({});
  }
}

/**
 * The fields of a compiled graph that shows only these channels in streamed values and in `getState`. `compile` shows
 * all channels, and has no option to change that.
 */
export function showOnly<Fields extends object>(fields: Fields, channels: readonly string[]): Fields {
  return { ...fields, streamChannels: [...channels] };
}

/**
 * The fields of a compiled graph whose nodes write without a check by the schema of the state, for which LangGraph makes
 * two copies of the schema for each write: a fifth of a short run. Use it for nodes that write what they have checked.
 * The compiled graph itself must not be run.
 */
export function withoutWriteCheck<Fields extends { builder: object }>(compiled: Fields): Fields {
  const fields = { ...compiled };
  // The writers look up the schema in the graph that was compiled. If the name changes, they check again.
  compiled.builder = viewOf(compiled.builder, { _schemaRuntimeDefinition: undefined });
  return fields;
}

/** LangGraph adds the config of the async context to the options when a run begins, and a client's keys can be in it. */
function withoutForgedContext<Chunks extends AsyncGenerator>(chunks: Chunks): Chunks {
  const context = AsyncLocalStorageProviderSingleton.getRunnableConfig();
  const own = context && withoutForgedKeys(context);
  if (own === context) return chunks;
  const next = chunks.next.bind(chunks);
  chunks.next = () => AsyncLocalStorageProviderSingleton.runWithConfig(own, next, true);
  return chunks;
}

/**
 * A route of a graph that is called as it is. LangGraph puts a function into a runnable, which makes a config, a scope of
 * async context and a trace for each call.
 *
 * @param choose Contract: reads the state, and resolves to the name of the next node.
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

/** The fields of a task's metadata with the number of its superstep in the thread, and with its node. Not exported. */
const STEP = "langgraph_step";
const NODE = "langgraph_node";

/** The number of a task's superstep; undefined for a node that runs outside a graph. */
export function stepOf(config: RunnableConfig): number | undefined {
  const step: unknown = config.metadata?.[STEP];
  return typeof step === "number" ? step : undefined;
}

/** Whether a `Send` made the task that runs the graph. */
export function isSentTask({ metadata }: RunnableConfig): boolean {
  const path: unknown = metadata?.["langgraph_path"];
  return Array.isArray(path) && path[0] === "__pregel_push";
}

/** The name of a task's node; undefined outside a graph. */
export function nodeOf({ metadata }: RunnableConfig): unknown {
  return metadata?.[NODE];
}

/*
 * What `getCurrentTaskInput()` of LangGraph returns in a task.
 */

/** The notes of a task, which hold its input. Not exported. */
const SCRATCHPAD = "__pregel_scratchpad";

/**
 * A config in which `getCurrentTaskInput()` returns the given value. The input of a task that runs one tool call is that
 * call. Tools expect the state, as under other agents. All other notes of the task stay shared, because LangGraph counts
 * the interrupts of a task in them.
 */
export function withTaskInput<Config extends RunnableConfig>(config: Config, input: unknown): Config {
  const scratchpad: unknown = config.configurable?.[SCRATCHPAD];
  if (!isRecord(scratchpad)) return config;
  const view = liveView(scratchpad, { currentTaskInput: input });
  return { ...config, configurable: { ...config.configurable, [SCRATCHPAD]: view } };
}
