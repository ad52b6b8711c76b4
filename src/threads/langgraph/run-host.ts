/** What `configurable` and the process tell of who runs a graph: a client, a parent graph or a server. */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import type { Client } from "@langchain/langgraph-sdk";
import { importOptional } from "../../shared/import-optional.js";
import { isRecord, textIn } from "../../shared/values.js";

/** LangGraph's own keys begin with this. A client can send any of them with a JSON value. Not exported. */
const INTERNAL = "__pregel_";

/** LangGraph's reader of channels, a function. Only tasks have it, so a run that has it is a subgraph. Not exported. */
const READ = "__pregel_read";
/** The checkpointer that a task gets from its run or from a parent graph. Not exported. */
const CHECKPOINTER = "__pregel_checkpointer";
/** The id of the assistant, which LangGraph's server sets in every run. Documented for clients only. */
const ASSISTANT = "assistant_id";

/** The id of the task that runs a graph. Not exported. */
const TASK = "__pregel_task_id";

/** The id of the task of a parent graph that runs this one. */
export function taskOf({ configurable }: RunnableConfig): unknown {
  return configurable?.[TASK];
}

/** Whether the graph runs as a node of another one, or inside a tool. */
export function isSubgraphRun({ configurable }: RunnableConfig): boolean {
  return typeof configurable?.[READ] === "function";
}

/**
 * The options of a run without LangGraph's own keys, unless the run is a subgraph. LangGraph would take what a client
 * sends for its own: it would write to another namespace, or call what is no function.
 */
export function withoutForgedKeys<Options extends Pick<RunnableConfig, "configurable">>(
  options: Options,
): Options {
  const { configurable = {} } = options;
  const keys = Object.keys(configurable);
  const own = keys.filter((key) => !key.startsWith(INTERNAL));
  if (own.length === keys.length || isSubgraphRun(options)) return options;
  return { ...options, configurable: Object.fromEntries(own.map((key) => [key, configurable[key]])) };
}

/**
 * The options of a run that name its checkpoint by `checkpoint_id` alone. In a run that is no subgraph, LangGraph ignores
 * `checkpoint_ns` and can take the checkpoint from `checkpoint_map`. `getState` does neither, so what is read for the run
 * could be another state than the one that it changes.
 */
export function withPlainCheckpoint<Options extends RunnableConfig>(options: Options): Options {
  const { checkpoint_ns: namespace, checkpoint_map: map, checkpoint_id: given } = { ...options.configurable };
  if ((namespace === undefined && map === undefined) || isSubgraphRun(options)) return options;
  const isOfRoot = namespace === undefined || namespace === "";
  const mapped = isRecord(map) ? map[isOfRoot ? String(namespace) : ""] : undefined;
  const checkpoint_id = isOfRoot && given !== undefined ? given : mapped;
  return { ...options, configurable: { ...options.configurable, checkpoint_ns: "", checkpoint_id } };
}

/** Whether a waiting run is saved, by its own checkpointer or that of a parent graph. */
export function isSavedRun(config: RunnableConfig): boolean {
  return inheritedCheckpointer(config) !== undefined;
}

/*
 * The namespace of a task: those of its parents and its own, each with the id of a task. Neither separator is exported.
 */

const SUBGRAPH = "|";
const TASK_ID = /:[^|]*/g;

/** Whether no other graph runs this one. */
export function isOutermost({ configurable }: RunnableConfig): boolean {
  return !String(configurable?.["checkpoint_ns"] ?? "").includes(SUBGRAPH);
}

/** The namespace of the graph that a task belongs to. */
export function namespaceOfGraph({ configurable }: RunnableConfig): string {
  const namespace = String(configurable?.["checkpoint_ns"] ?? "");
  return namespace.slice(0, Math.max(namespace.lastIndexOf(SUBGRAPH), 0));
}

/** The namespace of a graph in a task that has a memory of its own: it has no id of a task. */
export function memoryNamespace({ configurable }: RunnableConfig): string {
  return String(configurable?.["checkpoint_ns"] ?? "").replaceAll(TASK_ID, "");
}

/** The ids of the checkpoints that the graphs of a task are at, by their namespaces. Not exported. */
const MAP = "checkpoint_map";

/**
 * The id of the checkpoint that the superstep of a task began on. With the durability `async` it may not be saved yet, and
 * with `exit` it is saved when the run ends, also after an abort.
 */
export function checkpointOfStep(config: Pick<RunnableConfig, "configurable">): string | undefined {
  return textIn(config.configurable?.[MAP], namespaceOfGraph(config));
}

/*
 * The checkpointer of a run.
 */

/** The checkpointer that a parent graph passes to its subgraph; undefined if there is none. */
export function inheritedCheckpointer({ configurable }: RunnableConfig): unknown {
  return configurable?.[CHECKPOINTER];
}

/** The options of a subgraph's run with another checkpointer in place of the inherited one. */
export function withInheritedCheckpointer<Options extends RunnableConfig>(
  options: Options,
  checkpointer: BaseCheckpointSaver,
): Options {
  return { ...options, configurable: { ...options.configurable, [CHECKPOINTER]: checkpointer } };
}

/** Whether LangGraph's server started the run. A client of a program can send an assistant too. */
export function isServedRun({ configurable }: RunnableConfig): boolean {
  const isServer = SERVER_FETCH in globalThis || SERVER_URL in globalThis;
  return configurable?.[ASSISTANT] !== undefined && isServer;
}

/**
 * The values of these channels; undefined for a node that runs outside a graph.
 *
 * @param isFresh Whether the values have what the task itself has written.
 */
export function readChannels(
  { configurable }: Pick<RunnableConfig, "configurable">,
  names: readonly string[],
  isFresh = false,
): unknown {
  const read: unknown = configurable?.[READ];
  return typeof read === "function" ? read(names, isFresh) : undefined;
}

/*
 * Options that this library adds when it runs the compiled graph.
 */

/**
 * LangGraph's switch that refuses a resume value without an interrupt id if several interrupts wait. Without it, one
 * value goes to all of them: a decision about a call would also answer the question of another tool. Not exported.
 */
const STRICT_RESUME = "__pregel_strict_resume";

interface InnerRun {
  readonly hasStrictResume: boolean;
  /** Whether the run's result is held back because middleware can still change it. */
  readonly holdsResult: boolean;
}

export function innerOptions<Options extends RunnableConfig>(
  options: Options,
  { hasStrictResume, holdsResult }: InnerRun,
): Options {
  const run_id: unknown = options.configurable?.["run_id"];
  return {
    ...options,
    // A client can send metadata with the id of an earlier run. If the saver stores it, LangGraph continues that run and
    // ignores the input.
    ...(run_id !== undefined && { metadata: { ...options.metadata, run_id } }),
    // With a limit of 1, LangGraph runs only the first task of a superstep. So the tools node applies the limit
    // instead.
    maxConcurrency: Number.POSITIVE_INFINITY,
    // If a run has the name of its node, LangGraph takes it for the node and streams its result at once.
    ...(holdsResult && isSubgraphRun(options) && { runName: "agent-run" }),
    configurable: { ...options.configurable, [STRICT_RESUME]: hasStrictResume },
  };
}

/**
 * The options of a second run that writes after the first one. The first run may have started from an older checkpoint,
 * but the second one must start from the latest. It must not have the same `run_id`: LangGraph would resume the run
 * that wrote the latest checkpoint, and ignore the input.
 */
export function followingOptions<Options extends RunnableConfig>(options: Options): Options {
  const {
    checkpoint_id: _checkpoint,
    checkpoint_map: _map,
    run_id: _run,
    ...configurable
  } = { ...options.configurable };
  const { run_id: _inMetadata, ...metadata } = { ...options.metadata };
  // The `runId` stays, because readers of events take the last end of that run as its output.
  return { ...options, configurable, metadata };
}

/** Whether LangGraph saves the run only at its end. `checkpointDuring: false` is the old name of that. */
export function savesAtExit({ durability, checkpointDuring }: SavingOptions): boolean {
  return durability === "exit" || checkpointDuring === false;
}

interface SavingOptions extends RunnableConfig {
  readonly durability?: unknown;
  readonly checkpointDuring?: unknown;
}

/** The options that decide the shape of a run's chunks. */
export interface ChunkOptions extends RunnableConfig {
  readonly streamMode?: unknown;
  readonly subgraphs?: unknown;
  readonly encoding?: unknown;
}

/**
 * A value on the `custom` stream, as a chunk of a run with these options. Undefined if the caller did not ask for that
 * stream. LangGraph makes such chunks only for values that nodes write.
 */
export function customChunk(value: unknown, options: ChunkOptions): { readonly chunk: unknown } | undefined {
  const { streamMode, subgraphs, encoding } = options;
  if (![streamMode].flat().includes("custom")) return undefined;
  // The chunks of `streamEvents` become events, and are encoded later.
  const isEncoded = encoding === "text/event-stream" && !("version" in options);
  if (isEncoded) return { chunk: [subgraphs ? [] : null, "custom", value] };
  const isSingle = typeof streamMode === "string";
  if (isSingle) return { chunk: subgraphs ? [[], value] : value };
  return { chunk: subgraphs ? [[], "custom", value] : ["custom", value] };
}

/** Where LangGraph puts the questions that a run waits for among the values that it streams. Not exported. */
const QUESTIONS = "__interrupt__";

/**
 * Follows the values in the chunks of a run with a list of stream modes, as LangGraph's server asks for them. LangGraph
 * streams a question when it is asked, and then the values that the other tasks of its superstep have written, without
 * the question. The server's answer to `runs.wait` is what came last.
 */
export function followQuestions() {
  const questions: unknown[] = [];
  let later: readonly unknown[] | undefined;
  return {
    see(chunk: unknown): void {
      const values = valuesIn(chunk);
      if (values === undefined) return;
      const asked = values[QUESTIONS];
      later = Array.isArray(asked) ? undefined : (chunk as readonly unknown[]);
      if (Array.isArray(asked)) questions.push(...asked);
    },
    /** The last values with the questions that came before them; undefined if no values came after a question. */
    repeated(): unknown {
      if (questions.length === 0 || later === undefined) return undefined;
      return [...later.slice(0, -1), { ...valuesIn(later), [QUESTIONS]: questions }];
    },
  };
}

/** The values in a chunk of the outermost graph: `["values", …]`, after its namespace if there is one. */
function valuesIn(chunk: unknown): Record<string, unknown> | undefined {
  if (!Array.isArray(chunk) || chunk.at(-2) !== "values") return undefined;
  const isOuter = chunk.length === 2 || [chunk[0] ?? []].flat().length === 0;
  const values: unknown = chunk.at(-1);
  return isOuter && isRecord(values) ? values : undefined;
}

/*
 * The LangGraph server that runs in this process, and what it says of a run.
 */

/** Where the server keeps the function that sends requests to it. The SDK's client uses it. Not exported. */
const SERVER_FETCH = Symbol.for("langgraph_api:fetch");

/** Where a server that is no part of the process keeps its address. Not exported. */
const SERVER_URL = Symbol.for("langgraph_api:url");

export interface ServedRun {
  readonly runId: string;
  readonly threadId: string;
  readonly assistantId: string;
}

/**
 * The run for which the server asks for a graph; undefined if it only reads or changes a state. The config has what a client
 * has sent then.
 *
 * @param runtime What the server passes to the function that makes the graph, as its second argument.
 */
export function servedRunOf(
  config: RunnableConfig | undefined,
  runtime: { readonly accessContext: string } | undefined,
): ServedRun | undefined {
  if (runtime?.accessContext !== "threads.create_run") return undefined;
  const { run_id: runId, thread_id: threadId, assistant_id: assistantId } = config?.configurable ?? {};
  return typeof runId === "string"
    ? { runId, threadId: String(threadId), assistantId: String(assistantId) }
    : undefined;
}

/** What a client may send to say who it is. */
const RIGHTS = ["authorization", "x-api-key", "x-auth-scheme", "cookie"];

/** Asks the LangGraph server of this process with the rights of a request. The server checks who asks. */
export async function clientOfThisServer({ headers }: Pick<Request, "headers">): Promise<Client> {
  const { Client } =
    await importOptional<typeof import("@langchain/langgraph-sdk")>("@langchain/langgraph-sdk");
  const rights = [...headers].filter(([name]) => RIGHTS.includes(name));
  // Without an address, the client asks the server of this process. Without `null`, it would send a key of the environment.
  return new Client({
    apiKey: null,
    defaultHeaders: Object.fromEntries(rights),
    callerOptions: { maxRetries: 0 },
  });
}
