import { CompiledStateGraph, type StateDefinition } from "@langchain/langgraph";

/** The options that LangGraph passes to a run. */
export type RunConfigOf<Graph extends { _streamIterator: (...given: never[]) => unknown }> = NonNullable<
  Parameters<Graph["_streamIterator"]>[1]
>;
/** The chunks of a run. */
export type RunChunksOf<Graph extends { _streamIterator: (...given: never[]) => unknown }> = ReturnType<
  Graph["_streamIterator"]
>;

type Compiled<Values, Update, Channels extends StateDefinition, NodeUpdates, Writer> = CompiledStateGraph<
  Values,
  Update,
  string,
  Channels,
  Channels,
  StateDefinition,
  NodeUpdates,
  unknown,
  Writer
>;

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
  protected abstract wrapRun(
    received: unknown,
    options: RunConfigOf<Compiled<Values, Update, Channels, NodeUpdates, Writer>>,
  ): RunChunksOf<Compiled<Values, Update, Channels, NodeUpdates, Writer>>;

  override _streamIterator(
    ...[input, options = {}]: Parameters<
      Compiled<Values, Update, Channels, NodeUpdates, Writer>["_streamIterator"]
    >
  ) {
    return this.wrapRun(input, options);
  }

  /** Streams a run of the graph without the wrapper. */
  protected runUnwrapped(
    input: unknown,
    options: RunConfigOf<Compiled<Values, Update, Channels, NodeUpdates, Writer>>,
  ) {
    return super._streamIterator(input as never, options);
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
