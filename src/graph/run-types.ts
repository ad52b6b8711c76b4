/** What a run of an agent graph takes and gives, as the compiler sees it. */

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
import type { MessagesUpdate } from "../history/messages/messages-schema.js";
import type { Middleware } from "../middleware/middleware.js";
import type { AgentEvent } from "../nodes/run/agent-event.js";
import type { RunContext } from "../settings/run-context.js";
import type { AgentUpdate, AgentUpdates, AgentValues, BaseGraph } from "./base-graph.js";

/** New messages for the thread, a `Command`, or null: the run goes on where the thread stopped. */
export type AgentInput = { readonly messages: MessagesUpdate } | Command | null;

/** The result of a run: the messages of its thread. */
export interface AgentResult {
  messages: BaseMessage[];
}

/** The values are empty for a thread that does not exist yet. */
export interface AgentSnapshot extends StateSnapshot {
  readonly values: Partial<AgentResult>;
}

type Modes = StreamMode | StreamMode[] | undefined;
type Encodings = "text/event-stream" | undefined;

/** A chunk of a stream, by its modes. */
export type AgentChunk<
  Mode extends Modes,
  Subgraphs extends boolean,
  Encoding extends Encodings,
> = StreamOutputMap<Mode, Subgraphs, AgentUpdate, AgentValues, string, AgentUpdates, AgentEvent, Encoding>;

/** What a library caller may add to the options of `invoke`, `stream` and `streamEvents`. */
export interface RunOptions {
  /** For this run only; inside the middleware of the graph. @default none */
  readonly middleware?: readonly Middleware[] | undefined;
  /** What this run chooses for itself. @default as the graph was built */
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
  /** One mode, or several: then each chunk comes with the name of its mode. @default "updates" */
  readonly streamMode?: Mode;
  /** Whether chunks of subgraphs come too, each with its path. @default false */
  readonly subgraphs?: Subgraphs;
  /** `"text/event-stream"`: bytes for an HTTP response. @default objects */
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
