/** The types of the input, the options and the output of a run. */

import type { BaseMessage } from "@langchain/core/messages";
import type { StreamEvent } from "@langchain/core/tracers/log_stream";
import type { IterableReadableStream } from "@langchain/core/utils/stream";
import type {
  Command,
  CommandInstance,
  CompiledGraph,
  GraphRunStream,
  InferExtensions,
  LangGraphRunnableConfig,
  PregelOptions,
  StateSnapshot,
  StreamMode,
  StreamOutputMap,
  StreamTransformer,
} from "@langchain/langgraph";
import type { MessagesUpdate } from "../history/reading/messages-schema.js";
import type { Middleware } from "../middleware/middleware.js";
import type { AgentEvent } from "../nodes/run/agent-event.js";
import type { RunContext } from "../settings/run-context.js";
import type { AgentUpdate, AgentUpdates, AgentValues, BaseGraph } from "./base-graph.js";

/** New messages for the thread, a `Command`, or null. Null continues a run where the thread stopped. */
export type AgentInput = { readonly messages: MessagesUpdate } | Command | null;

/** The result of a run: the messages of its thread, and the structured response if the graph has a format for it. */
export type AgentResult<Response = never> = {
  /** All messages of the thread, in order. */
  messages: BaseMessage[];
} & StructuredValues<Response>;

/** The structured response. It is left out if the run ended without one. */
type StructuredValues<Response> = [Response] extends [never] ? unknown : { structuredResponse?: Response };

/** A state of a thread. Its values are empty if the thread does not exist yet. */
export interface AgentSnapshot<Response = never> extends StateSnapshot {
  readonly values: Partial<AgentResult<Response>>;
}

type Modes = StreamMode | StreamMode[] | undefined;
type Encodings = "text/event-stream" | undefined;

/** The type of a stream's chunks, which depends on its modes. */
export type AgentChunk<
  Mode extends Modes,
  Subgraphs extends boolean,
  Encoding extends Encodings,
  Response = never,
> = StreamOutputMap<
  Mode,
  Subgraphs,
  AgentUpdate,
  AgentValues & StructuredValues<Response>,
  string,
  AgentUpdates,
  AgentEvent,
  Encoding
>;

/** Options that `invoke`, `stream` and `streamEvents` take in addition to those of LangGraph. */
export interface RunOptions {
  /** Middleware for this run only. It goes inside the middleware of the graph. @default none */
  readonly middleware?: readonly Middleware[] | undefined;
  /** Settings for this run only. @default the options of the graph */
  readonly context?: RunContext | undefined;
}

type GraphOptions = Partial<PregelOptions<BaseGraph["nodes"], BaseGraph["channels"]>>;

/** The options of `withConfig`. */
interface AgentConfig extends Omit<GraphOptions, "context"> {
  readonly context?: RunContext | undefined;
}

/** The options of `invoke`. */
export interface InvokeOptions extends Omit<GraphOptions, "context" | "encoding">, RunOptions {}

/** The options of `stream`. */
export interface StreamOptions<Mode extends Modes, Subgraphs extends boolean, Encoding extends Encodings>
  extends Omit<InvokeOptions, "streamMode" | "subgraphs"> {
  /** One mode, or a list of modes. With a list, each chunk comes with the name of its mode. @default "updates" */
  readonly streamMode?: Mode;
  /** Whether the stream includes chunks of subgraphs, each with the path of its subgraph. @default false */
  readonly subgraphs?: Subgraphs;
  /** `"text/event-stream"` yields bytes for an HTTP response. @default chunks are objects */
  readonly encoding?: Encoding;
}

type Transformers = readonly (() => StreamTransformer<unknown>)[];
type EventsOptions = Omit<InvokeOptions, "subgraphs">;
type EventsFilter = Parameters<BaseGraph["streamEvents"]>[2];

/** LangGraph's overloads, with a context that the compiler checks. */
export interface WithConfig<Graph> {
  <const Given extends Transformers>(
    config: Omit<LangGraphRunnableConfig<RunContext>, "store" | "writer" | "interrupt"> & {
      streamTransformers: Given;
    },
  ): CompiledGraph<
    string,
    AgentValues,
    Record<string, unknown>,
    Record<string, unknown>,
    AgentUpdate,
    AgentValues,
    AgentUpdates,
    CommandInstance<unknown, Record<string, unknown>, string>,
    AgentEvent,
    Given
  >;
  (config: AgentConfig): Graph;
}

/** LangGraph's overloads, with the input, the context and the middleware of a run. */
export interface StreamEvents {
  <const Given extends Transformers = []>(
    input: AgentInput,
    options: EventsOptions & { version: "v3"; transformers?: Given; encoding: "text/event-stream" },
  ): Promise<IterableReadableStream<Uint8Array>>;
  <const Given extends Transformers = []>(
    input: AgentInput,
    options: EventsOptions & { version: "v3"; transformers?: Given; encoding?: undefined },
  ): Promise<GraphRunStream<AgentValues, InferExtensions<Given>>>;
  (
    input: AgentInput,
    options: InvokeOptions & { version: "v1" | "v2"; encoding: "text/event-stream" },
    filter?: EventsFilter,
  ): IterableReadableStream<Uint8Array>;
  (
    input: AgentInput,
    options: InvokeOptions & { version: "v1" | "v2"; encoding?: Encodings },
    filter?: EventsFilter,
  ): IterableReadableStream<StreamEvent>;
}
