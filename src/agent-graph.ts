/** The compiled graph of an agent: what is settled once for a whole run, however the run was started. */

import type { BaseMessage } from "@langchain/core/messages";
import type { StreamEvent } from "@langchain/core/tracers/log_stream";
import type { IterableReadableStream } from "@langchain/core/utils/stream";
import { CompiledStateGraph, isCommand, type PregelOptions, type StreamMode } from "@langchain/langgraph";
import { messagesOfInput, withMessages } from "./agent-input.js";
import { throughAgentMiddleware } from "./agent-run.js";
import type { drawGraph } from "./draw-graph.js";
import { InvalidCommandError } from "./errors.js";
import type { MessagesUpdate } from "./history/messages-schema.js";
import { AgentContext } from "./middleware/agent-context.js";
import type { RunBag } from "./middleware/context.js";
import {
  joinMiddleware,
  type Middleware,
  type MiddlewareByKind,
  sortMiddleware,
} from "./middleware/middleware.js";
import type { publicStateSchema } from "./nodes/agent-state.js";
import { type GivenMessages, RunHandle } from "./nodes/run-handle.js";
import { watchCheckpointer } from "./nodes/watch-checkpointer.js";
import { checkSettings, countFrom } from "./settings/rule.js";
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
type InvokeOptions = NonNullable<Parameters<Base["invoke"]>[1]>;
type Chunk = Awaited<ReturnType<ReturnType<Base["_streamIterator"]>["next"]>>["value"];

type ModeOptions<
  Mode extends StreamMode | StreamMode[] | undefined,
  Subgraphs extends boolean,
  Encoding extends "text/event-stream" | undefined,
> = Partial<
  PregelOptions<Base["nodes"], Base["channels"], Record<string, unknown>, Mode, Subgraphs, Encoding>
>;

/** LangGraph's own overloads refuse what they do not know. */
type StreamEvents = Base["streamEvents"] &
  ((
    input: StreamInput,
    options: StreamOptions & RunOptions & { readonly version: "v1" | "v2" },
  ) => IterableReadableStream<StreamEvent>);

type GraphFields = ConstructorParameters<typeof Base>[0];

export interface RunDefaults {
  /** Supersteps of a run, where its caller does not say. */
  readonly recursionLimit: number;
  /** Of the graph; around that of a run. */
  readonly middleware: MiddlewareByKind;
  /**
   * Contract: returns what of the context is meant for this graph; throws a clear error for a context that a run may
   * not have. As a subgraph it is handed its parent's context, whose other fields are none of its business.
   */
  readonly readContext: (context: unknown, isSubgraph: boolean) => RunContext;
}

/** What a library caller may add to the options of `invoke`, `stream` and `streamEvents`. */
export interface RunOptions {
  /** For this run only; inside the middleware of the graph. @default none */
  readonly middleware?: readonly Middleware[] | undefined;
}

/** What is known of a run before it begins. */
interface RunStart {
  readonly isStreamed: boolean;
  readonly middleware: MiddlewareByKind;
}

export class AgentGraph extends Base {
  declare readonly streamEvents: StreamEvents;
  readonly #defaults: RunDefaults;
  #start: RunStart;

  /** @param defaults Kept apart from the fields of the graph, from which LangGraph makes copies of it. */
  constructor(fields: GraphFields, defaults = defaultsOf(fields)) {
    super(fields);
    this.#defaults = defaults;
    this.#start = { isStreamed: true, middleware: defaults.middleware };
    runDefaults.set(this.builder, defaults);
    this.config = { recursionLimit: defaults.recursionLimit, ...this.config };
    // The server passes `recursionLimit: undefined`, which would win. Set here, as the method has four overloads.
    const { streamEvents } = Base.prototype;
    this.streamEvents = ((input: never, options: StreamOptions & RunOptions, streamOptions?: never) => {
      const { run, rest } = this.#begin(options);
      const { recursionLimit, ...others } = rest;
      const given = recursionLimit === undefined ? others : rest;
      return streamEvents.call(run, input, given as never, streamOptions) as never;
    }) as unknown as StreamEvents;
  }

  static from(compiled: Drawn, defaults: RunDefaults): AgentGraph {
    // Without this the private channels would show in streamed values and in `getState`.
    const fields = { ...compiled, streamChannels: ["messages"] };
    // The parameters of a generic constructor are typed for the graph that has no nodes.
    return new AgentGraph(fields as unknown as GraphFields, defaults);
  }

  override async invoke(input: StreamInput, options: InvokeOptions & RunOptions = {}) {
    const { run, rest } = this.#begin(options, { isStreamed: false });
    return run.#invoke(input, rest);
  }

  #invoke(input: StreamInput, options: InvokeOptions) {
    return super.invoke(input, options);
  }

  override async stream<
    Mode extends StreamMode | StreamMode[] | undefined,
    Subgraphs extends boolean,
    Encoding extends "text/event-stream" | undefined,
  >(input: StreamInput, options: ModeOptions<Mode, Subgraphs, Encoding> & RunOptions = {}) {
    const { run, rest } = this.#begin(options);
    return run.#stream(input, rest);
  }

  #stream<
    Mode extends StreamMode | StreamMode[] | undefined,
    Subgraphs extends boolean,
    Encoding extends "text/event-stream" | undefined,
  >(input: StreamInput, options: ModeOptions<Mode, Subgraphs, Encoding>) {
    return super.stream<Mode, Subgraphs, Encoding>(input, options);
  }

  /**
   * A copy for one run, with the checkpointer of this moment: the server sets it anew on the shared graph for each run.
   * Middleware of the run leaves the options here, before LangGraph hands them to what runs inside.
   */
  #begin<Options extends RunOptions>(options: Options, start: Partial<RunStart> = {}) {
    const { middleware, ...rest } = options;
    const run = this.withConfig({}) as AgentGraph;
    run.#start = { ...this.#start, ...start };
    if (middleware !== undefined) {
      run.#start = {
        ...run.#start,
        middleware: joinMiddleware(run.#start.middleware, sortMiddleware(middleware)),
      };
    }
    return { run, rest };
  }

  /** The one door of a run: `invoke`, `stream`, `streamEvents`, the server and a parent graph all pass it. */
  override async *_streamIterator(
    input: StreamInput,
    options: StreamOptions = {},
  ): ReturnType<Base["_streamIterator"]> {
    const { run } = this.#begin({});
    refuseForgedCalls(input);
    const { maxConcurrency = Number.POSITIVE_INFINITY } = options;
    if (maxConcurrency !== Number.POSITIVE_INFINITY)
      checkSettings({ maxConcurrency }, { maxConcurrency: countFrom(1) }, "options");
    const { middleware, isStreamed } = this.#start;
    const isSubgraph = options.configurable?.["__pregel_read"] !== undefined;
    const readContext = (given: unknown) => this.#defaults.readContext(given, isSubgraph);
    const bag: RunBag = { metadata: {} };
    const { checkpoints, checkpointer } = watchCheckpointer(run.checkpointer);
    if (checkpointer !== undefined) run.checkpointer = checkpointer;

    const begin = (runInput: unknown, context: RunContext, given?: GivenMessages, own = options) => {
      const handle = new RunHandle({ bag, middleware, checkpoints, given, maxConcurrency });
      const runOptions = {
        ...own,
        // A run with the name of its node would be taken for the node, and shown before the middleware is done with it.
        ...(isSubgraph && middleware.agent.length > 0 && { runName: "agent-run" }),
        // With a limit of 1 LangGraph 1.7 forgets all tasks of a superstep but the first; so the tools node keeps it.
        maxConcurrency: Number.POSITIVE_INFINITY,
        context,
        configurable: { ...own.configurable, ...handle.toConfigurable() },
      };
      const chunks = super._streamIterator.call(run, runInput as StreamInput, runOptions);
      return { handle, chunks };
    };
    const settings = readContext(options.context);
    if (middleware.agent.length === 0) {
      const { chunks, handle } = begin(input, settings);
      yield* chunks;
      if (handle.failure !== undefined) throw handle.failure.error;
      return;
    }
    const threadId: unknown = options.configurable?.["thread_id"];
    const context = new AgentContext({
      bag,
      messages: messagesOfInput(input),
      options: { ...settings },
      isStreamed,
      threadId: typeof threadId === "string" ? threadId : undefined,
      signal: options.signal,
    });
    const keepsHistory = checkpointer !== undefined && !isSubgraph;
    yield* throughAgentMiddleware<Chunk>(middleware.agent, context, {
      start: () => begin(withMessages(input, context.messages), readContext(context.options)),
      answer: (given) => {
        const messages = isCommand(input)
          ? { messages: context.messages }
          : withMessages(input ?? {}, context.messages);
        return begin(messages, readContext(context.options), given).chunks;
      },
      correct: (given, history) =>
        begin({ messages: keepsHistory ? [] : history }, settings, given, behindRun(options)).chunks,
    });
  }
}

/**
 * The options of a run for what is written behind it. It may have begun in the past of its thread, and this belongs to
 * its end. Given the id of the run that wrote the last checkpoint, LangGraph would resume that run and take no input; and
 * tracers must not be told twice of one run.
 */
function behindRun(options: StreamOptions): StreamOptions {
  const { checkpoint_id: _checkpoint, run_id: _run, ...configurable } = { ...options.configurable };
  const { run_id: _runId, ...metadata } = { ...options.metadata };
  return { ...options, configurable, metadata };
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
  if (targets.includes("tools") || targets.includes("approve")) {
    throw new InvalidCommandError(
      "A run cannot be sent to `tools` or `approve`: only calls that the model makes are run.",
    );
  }
}
