/** The compiled graph of an agent: what is settled once for a whole run, however the run was started. */

import type { BaseMessage } from "@langchain/core/messages";
import {
  type BaseCheckpointSaver,
  type CheckpointTuple,
  CompiledStateGraph,
  isCommand,
} from "@langchain/langgraph";
import type { drawGraph } from "./draw-graph.js";
import { InvalidCommandError } from "./errors.js";
import type { MessagesUpdate } from "./history/messages-schema.js";
import type { publicStateSchema } from "./nodes/agent-state.js";
import { RunHandle } from "./nodes/run-handle.js";
import type { RunContext } from "./settings/run-context.js";

type Drawn = ReturnType<ReturnType<typeof drawGraph>["compile"]>;

/** The context type is left open: LangGraph's typing would make optional fields required. */
class Base extends CompiledStateGraph<
  { messages: BaseMessage[] },
  { messages?: MessagesUpdate },
  "__start__" | "patch" | "summarize" | "model" | "tools",
  typeof publicStateSchema,
  typeof publicStateSchema
> {}

type StreamInput = Parameters<Base["_streamIterator"]>[0];
type StreamOptions = NonNullable<Parameters<Base["_streamIterator"]>[1]>;

type GraphFields = ConstructorParameters<typeof Base>[0];

export interface RunDefaults {
  /** Supersteps of a run, where its caller does not say. */
  readonly recursionLimit: number;
  /**
   * Contract: returns what of the context is meant for this graph; throws a clear error for a context that a run may
   * not have. As a subgraph it is handed its parent's context, whose other fields are none of its business.
   */
  readonly readContext: (context: unknown, isSubgraph: boolean) => RunContext;
}

export class AgentGraph extends Base {
  readonly #defaults: RunDefaults;

  /** @param defaults Kept apart from the fields of the graph, from which LangGraph makes copies of it. */
  constructor(fields: GraphFields, defaults = defaultsOf(fields)) {
    super(fields);
    this.#defaults = defaults;
    runDefaults.set(this.builder, defaults);
    this.config = { recursionLimit: defaults.recursionLimit, ...this.config };
    // The server passes `recursionLimit: undefined`, which would win. Set here, as the method has four overloads.
    const { streamEvents } = Base.prototype;
    this.streamEvents = ((input: never, options: { recursionLimit?: number }, streamOptions?: never) => {
      const { recursionLimit, ...rest } = options;
      const given = recursionLimit === undefined ? rest : options;
      return streamEvents.call(this.withConfig({}), input, given as never, streamOptions) as never;
    }) as typeof streamEvents;
  }

  static from(compiled: Drawn, defaults: RunDefaults): AgentGraph {
    // Without this the private channels would show in streamed values and in `getState`.
    const fields = { ...compiled, streamChannels: ["messages"] };
    // The parameters of a generic constructor are typed for the graph that has no nodes.
    return new AgentGraph(fields as unknown as GraphFields, defaults);
  }

  /** The one door of a run: `invoke`, `stream`, `streamEvents`, the server and a parent graph all pass it. */
  override async *_streamIterator(
    input: StreamInput,
    options: StreamOptions = {},
  ): ReturnType<Base["_streamIterator"]> {
    // A copy, with the checkpointer of this moment: the server sets it anew on the shared graph for each run.
    const run = this.withConfig({});
    refuseForgedCalls(input);
    const isSubgraph = options.configurable?.["__pregel_read"] !== undefined;
    const context = this.#defaults.readContext(options.context, isSubgraph);
    const { handle, checkpointer } = watchCheckpointer(run.checkpointer);
    if (checkpointer !== undefined) run.checkpointer = checkpointer;
    yield* super._streamIterator.call(run, input, {
      ...options,
      context,
      configurable: { ...options.configurable, ...handle.toConfigurable() },
    });
  }
}

/** Copies of a graph share its builder. */
const runDefaults = new WeakMap<object, RunDefaults>();

function defaultsOf({ builder }: GraphFields): RunDefaults {
  const defaults = runDefaults.get(builder);
  if (defaults === undefined) throw new Error("An agent graph is made by `createAgentGraph`.");
  return defaults;
}

/** Only what our model node wrote goes to the tools; a client could name any call in a `Command`. */
function refuseForgedCalls(input: StreamInput): void {
  if (!isCommand(input)) return;
  const targets = [input.goto].flat().map((target) => (typeof target === "string" ? target : target?.node));
  if (targets.includes("tools")) {
    throw new InvalidCommandError(
      "A run cannot be sent to `tools`: only calls that the model makes are run.",
    );
  }
}

/** Remembers the first checkpoint that a run reads: the one that an earlier run may have left unfinished. */
function watchCheckpointer(saver: unknown): { handle: RunHandle; checkpointer?: BaseCheckpointSaver } {
  if (!isSaver(saver)) return { handle: new RunHandle() };
  const handle = new RunHandle((config) => saver.getTuple(config));
  let isFirst = true;
  const getTuple = async (
    config: Parameters<BaseCheckpointSaver["getTuple"]>[0],
  ): Promise<CheckpointTuple | undefined> => {
    const remembers = isFirst;
    isFirst = false;
    const tuple = await saver.getTuple(config);
    if (remembers) handle.abandoned = tuple;
    return tuple;
  };
  const checkpointer = new Proxy(saver, {
    get(target, name) {
      if (name === "getTuple") return getTuple;
      const value: unknown = Reflect.get(target, name, target);
      // Bound, so that savers may have private fields.
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { handle, checkpointer };
}

function isSaver(value: unknown): value is BaseCheckpointSaver {
  return typeof value === "object" && value !== null && "getTuple" in value;
}
