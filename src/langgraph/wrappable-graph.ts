import { CompiledStateGraph, type StateDefinition } from "@langchain/langgraph";

/** The options with which LangGraph hands a run over. */
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
 * A compiled graph whose runs a subclass wraps. `_streamIterator` is marked as internal, but it is the one method that
 * every run passes: `invoke`, `stream`, `streamEvents`, the server's runs, and those of a subgraph.
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
  /** Contract: streams one run. Calls `runUnwrapped`, once or several times, for the run of the graph itself. */
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

  protected runUnwrapped(
    input: unknown,
    options: RunConfigOf<Compiled<Values, Update, Channels, NodeUpdates, Writer>>,
  ) {
    return super._streamIterator(input as never, options);
  }

  /** LangGraph makes copies by `new this.constructor({ ...this })`: so a subclass takes the same fields and no more. */
  protected copy(): this {
    return this.withConfig({});
  }
}

/**
 * The fields of a compiled graph that shows these channels in streamed values and in `getState`. `compile` shows all of
 * them, and has no option for it.
 */
export function showOnly<Fields extends object>(fields: Fields, channels: readonly string[]): Fields {
  return { ...fields, streamChannels: [...channels] };
}
