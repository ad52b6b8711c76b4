/** LangGraph's class for an agent, and the types of a run's input, options and output. */

import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableBatchOptions } from "@langchain/core/runnables";
import type { StreamEvent } from "@langchain/core/tracers/log_stream";
import type { IterableReadableStream } from "@langchain/core/utils/stream";
import type {
  BaseChannel,
  Command,
  CommandInstance,
  CompiledGraph,
  END,
  GraphRunStream,
  InferExtensions,
  Interrupt,
  LangGraphRunnableConfig,
  PregelOptions,
  START,
  StateSnapshot,
  StateType,
  StreamMode,
  StreamOutputMap,
  StreamTransformer,
  UpdateType,
  writer,
} from "@langchain/langgraph";
import type { MessagesUpdate } from "../../history/reducer/messages-schema.js";
import type { AgentEvent } from "../../threads/events.js";
import { WrappableGraph } from "../../threads/langgraph/wrappable-graph.js";
import type { NoKeys } from "../../threads/own-state.js";
import type { Middleware } from "../middleware/middleware.js";
import type { ResponseFormat, ResponseIn } from "../settings/response-format.js";
import type { RunContext } from "../settings/run-context.js";
import type { buildStateGraph } from "./graph.js";

/** The compiled graph's type, before it is wrapped. */
export type Drawn = ReturnType<ReturnType<typeof buildStateGraph>["compile"]>;
type NodeName = Exclude<keyof Drawn["nodes"], typeof START | typeof END>;

type Channels = { messages: BaseChannel<BaseMessage[], MessagesUpdate> };

/** The state of a thread, as LangGraph's types infer it. */
type AgentValues = StateType<Channels>;
type GraphUpdate = UpdateType<Channels>;

/**
 * A chunk of the `updates` stream: each node's update, or a list of them if the chunk has several tasks of the node.
 */
type AgentUpdates<Update = NoKeys> = { [Name in NodeName]: NodeUpdate<Update> } & {
  __interrupt__: Interrupt[];
};

type NodeUpdate<Update> = { messages?: BaseMessage[] } & Update;

/**
 * LangGraph's class for an agent. The context's type is open, because LangGraph would make its optional fields
 * required. Node names are plain strings, because a `Command` can contain them. The exact types for callers follow.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: The class inherits these methods.
export abstract class BaseGraph extends WrappableGraph<
  AgentValues,
  Record<string, unknown>,
  Channels,
  AgentUpdates,
  typeof writer<AgentEvent>
> {
  declare readonly batch: OpenMethod;
  declare readonly streamEvents: OpenMethod;
  declare readonly withConfig: OpenMethod;
}

/**
 * Open types for the methods that `AgentGraph` declares with its user's keys. LangGraph's types do not accept those
 * keys while they are type parameters.
 */
export interface BaseGraph {
  invoke(...given: Parameters<OpenMethod>): ReturnType<OpenMethod>;
  stream(...given: Parameters<OpenMethod>): ReturnType<OpenMethod>;
  getState(...given: Parameters<OpenMethod>): ReturnType<OpenMethod>;
}

// biome-ignore lint/suspicious/noExplicitAny: Any other type would be compared with the type parameters.
type OpenMethod = (...given: any[]) => any;

// Three parameters describe the keys that a user adds: `Own` are the state's values, `Update` is what can be written to
// it, and `Context` is what a run can be started with.

/** New messages for the thread and values for own keys, a `Command`, or null. Null continues a stopped run. */
export type AgentInput<Update = NoKeys> =
  | ({ readonly messages: MessagesUpdate } & Update)
  | CommandOf<Update>
  | null;

type CommandOf<Update> = [keyof Update] extends [never]
  ? Command
  : Command<unknown, { messages?: MessagesUpdate } & Update>;

interface Messages {
  /** All messages of the thread, in order. */
  messages: BaseMessage[];
}

/** The structured response of a graph with a response format. It is missing if the run ended without one. */
export type StructuredValues<Format extends ResponseFormat | undefined> = Format extends ResponseFormat
  ? { structuredResponse?: ResponseIn<Format> }
  : NoKeys;

/** A run's result: its thread's messages, and the own keys. */
export type AgentResult<Own = NoKeys> = Flat<Messages & Own>;

/** The same type without intersections. */
type Flat<Type> = { [Key in keyof Type]: Type[Key] };

/** A state of a thread. A thread that does not exist yet has no messages and no own keys. */
export interface AgentSnapshot<Own = NoKeys> extends StateSnapshot {
  readonly values: Flat<Messages & Partial<Own>>;
}

type Modes = StreamMode | StreamMode[] | undefined;
type Encodings = "text/event-stream" | undefined;

/**
 * A chunk of the `custom` stream that a tool or a middleware of your own wrote. Its fields are yours. The events of the
 * agent have a `type` without a colon, so a `type` of your own needs one to be told apart: `search:progress`.
 */
export interface OwnChunk {
  readonly type?: `${string}:${string}` | undefined;
  readonly [field: string]: unknown;
}

/** The type of a stream's chunks, which depends on its modes. */
export type AgentChunk<
  Mode extends Modes,
  Subgraphs extends boolean,
  Encoding extends Encodings,
  Own = NoKeys,
  Update = NoKeys,
> = StreamOutputMap<
  Mode,
  Subgraphs,
  GraphUpdate & Update,
  AgentResult<Own>,
  string,
  AgentUpdates<Update>,
  AgentEvent | OwnChunk,
  Encoding
>;

/** Options of `invoke`, `stream` and `streamEvents`, in addition to LangGraph's. */
export interface RunOptions<Context = NoKeys> {
  /** Middleware for this run only. It goes inside the graph's middleware. @default none */
  readonly middleware?: readonly Middleware[] | undefined;
  /** Settings for this run only, and own keys. @default the options of the graph */
  readonly context?: (RunContext & Context) | undefined;
}

/**
 * The overloads of LangChain's `batch`, with the input, options and result of `invoke`. A graph with a checkpointer
 * also needs a thread here: one for all inputs, whose runs then follow one another, or a list of options with one
 * thread each.
 */
export interface Batch<Own = NoKeys, Update = NoKeys, Context = NoKeys> {
  (
    inputs: AgentInput<Update>[],
    options?: InvokeOptions<Context> | InvokeOptions<Context>[],
    batchOptions?: RunnableBatchOptions & { returnExceptions?: false },
  ): Promise<AgentResult<Own>[]>;
  (
    inputs: AgentInput<Update>[],
    options: InvokeOptions<Context> | InvokeOptions<Context>[] | undefined,
    batchOptions: RunnableBatchOptions & { returnExceptions: true },
  ): Promise<(AgentResult<Own> | Error)[]>;
}

type GraphOptions = Partial<PregelOptions<BaseGraph["nodes"], BaseGraph["channels"]>>;

/** The options of `withConfig`. */
interface AgentConfig<Context> extends Omit<GraphOptions, "context">, Pick<RunOptions<Context>, "context"> {}

/** The options of `invoke`. */
export interface InvokeOptions<Context = NoKeys>
  extends Omit<GraphOptions, "context" | "encoding">,
    RunOptions<Context> {}

/** The options of `stream`. */
export interface StreamOptions<
  Mode extends Modes,
  Subgraphs extends boolean,
  Encoding extends Encodings,
  Context = NoKeys,
> extends Omit<InvokeOptions<Context>, "streamMode" | "subgraphs"> {
  /** One mode, or a list of modes. With a list, each chunk comes with the name of its mode. @default "updates" */
  readonly streamMode?: Mode;
  /** Whether the stream includes chunks of subgraphs, each with the path of its subgraph. @default false */
  readonly subgraphs?: Subgraphs;
  /** `"text/event-stream"` yields bytes for an HTTP response. @default chunks are objects */
  readonly encoding?: Encoding;
}

type Transformers = readonly (() => StreamTransformer<unknown>)[];
type EventsOptions<Context> = Omit<InvokeOptions<Context>, "subgraphs">;
type EventsFilter = Parameters<BaseGraph["streamEvents"]>[2];

/** LangGraph's overloads, with a context that the compiler checks. */
export interface WithConfig<Graph, Own, Update, Context> {
  <const Given extends Transformers>(
    config: Omit<LangGraphRunnableConfig<RunContext & Context>, "store" | "writer" | "interrupt"> & {
      streamTransformers: Given;
    },
  ): CompiledGraph<
    string,
    AgentResult<Own>,
    Record<string, unknown>,
    Record<string, unknown>,
    GraphUpdate & Update,
    AgentResult<Own>,
    AgentUpdates<Update>,
    CommandInstance<unknown, Record<string, unknown>, string>,
    AgentEvent,
    Given
  >;
  (config: AgentConfig<Context>): Graph;
}

/** LangGraph's overloads, with the input, the context and the middleware of a run. */
export interface StreamEvents<Own = NoKeys, Update = NoKeys, Context = NoKeys> {
  <const Given extends Transformers = []>(
    input: AgentInput<Update>,
    options: EventsOptions<Context> & { version: "v3"; transformers?: Given; encoding: "text/event-stream" },
  ): Promise<IterableReadableStream<Uint8Array>>;
  <const Given extends Transformers = []>(
    input: AgentInput<Update>,
    options: EventsOptions<Context> & { version: "v3"; transformers?: Given; encoding?: undefined },
  ): Promise<GraphRunStream<AgentResult<Own>, InferExtensions<Given>>>;
  (
    input: AgentInput<Update>,
    options: InvokeOptions<Context> & { version: "v1" | "v2"; encoding: "text/event-stream" },
    filter?: EventsFilter,
  ): IterableReadableStream<Uint8Array>;
  (
    input: AgentInput<Update>,
    options: InvokeOptions<Context> & { version: "v1" | "v2"; encoding?: Encodings },
    filter?: EventsFilter,
  ): IterableReadableStream<StreamEvent>;
}
