/** What `configurable` and the process tell about who runs a graph: a client, a parent graph or a server. */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import type { Client } from "@langchain/langgraph-sdk";
import { importOptional } from "../../shared/import-optional.js";
import { isRecord, textIn } from "../../shared/values.js";
import { isSaver } from "./replace-methods.js";
import { soundSaver } from "./sound-saver.js";

/** The prefix of LangGraph's own keys. A client can send any of them with a JSON value. Not exported. */
const INTERNAL = "__pregel_";

/** LangGraph's reader of channels, a function. Only tasks have it, so a run that has it is a subgraph. Not exported. */
const READ = "__pregel_read";
/** The checkpointer that a task gets from its run or a parent graph. Not exported. */
const CHECKPOINTER = "__pregel_checkpointer";
/** The assistant's id, which LangGraph's server sets in every run. Documented for clients only. */
const ASSISTANT = "assistant_id";

/** LangGraph's mark of the first superstep of a run that continues its thread. Not exported. */
const RESUMING = "__pregel_resuming";

/** Whether a task is in the superstep with which a run continues its thread: an ended run may have begun it. */
export function isContinuedStep({ configurable }: RunnableConfig): boolean {
  return configurable?.[RESUMING] === true;
}

/** The id of the task that runs a graph. Not exported. */
const TASK = "__pregel_task_id";

/** The id of the parent graph's task that runs this graph. */
export function taskOf({ configurable }: RunnableConfig): unknown {
  return configurable?.[TASK];
}

/** Whether LangGraph reads the checkpoint that a run begins on. It passes the run's whole config. */
export function isOfRun({ recursionLimit }: RunnableConfig): boolean {
  return recursionLimit !== undefined;
}

/** Whether the graph runs as a node of another one, or inside a tool. */
export function isSubgraphRun({ configurable }: RunnableConfig): boolean {
  return typeof configurable?.[READ] === "function";
}

/**
 * A run's options without LangGraph's own keys, unless the run is a subgraph. LangGraph would trust what a client
 * sends: it would write to another namespace, or call what is not a function.
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
 * A run's options that name its checkpoint by `checkpoint_id` alone. For a run that is not a subgraph, LangGraph
 * ignores `checkpoint_ns` and can take the checkpoint from `checkpoint_map`. `getState` does neither, so it could read
 * another state for the run than the run changes. Null, which clients send as JSON, names none.
 */
export function withPlainCheckpoint<Options extends RunnableConfig>(options: Options): Options {
  const { checkpoint_ns: namespace, checkpoint_map: map, checkpoint_id: given } = { ...options.configurable };
  if (given === null && !isSubgraphRun(options)) return withoutCheckpoint(options);
  const isPlain = namespace === undefined && map === undefined && (given === undefined || Boolean(given));
  if (isPlain || isSubgraphRun(options)) return options;
  const isOfRoot = namespace === undefined || namespace === "";
  const mapped = isRecord(map) ? map[isOfRoot ? String(namespace) : ""] : undefined;
  // LangGraph takes an empty id for none.
  const checkpoint_id = (isOfRoot && given) || mapped || undefined;
  return { ...options, configurable: { ...options.configurable, checkpoint_ns: "", checkpoint_id } };
}

/** Options that name no checkpoint. */
export function withoutCheckpoint<Options extends RunnableConfig>(options: Options): Options {
  const { checkpoint_id: _, checkpoint_map: __, ...configurable } = { ...options.configurable };
  return { ...options, configurable };
}

/** Whether the client names the checkpoint to begin on. LangGraph takes an empty id for none. */
export function isCheckpointNamed({ configurable }: Pick<RunnableConfig, "configurable">): boolean {
  return Boolean(configurable?.["checkpoint_id"]);
}

/** Where a config reads, without the name of a checkpoint: the latest one is there. */
export function latestOf({ configurable }: RunnableConfig): RunnableConfig {
  const { checkpoint_id: _, ...place } = { ...configurable };
  return { configurable: place };
}

/** Whether a waiting run is saved, by its own checkpointer or a parent graph's. */
export function isSavedRun(config: RunnableConfig): boolean {
  return inheritedCheckpointer(config) !== undefined;
}

/*
 * A task's namespace: its parents' and its own, each with a task id. Neither separator is exported.
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

/** LangGraph's answers by the ids of their questions, in a run that has such. Not exported. */
const ANSWERS = "__pregel_resume_map";

/** The questions that the run's answer names. Empty: it names none. */
export function questionsNamedIn({ configurable }: RunnableConfig): readonly string[] {
  return Object.keys(Object(configurable?.[ANSWERS]));
}

/** The id of the task that a node runs in. */
export function ownTaskOf({ configurable }: RunnableConfig): string {
  const namespace = String(configurable?.["checkpoint_ns"] ?? "");
  return namespace.slice(namespace.lastIndexOf(":") + 1);
}

/**
 * The nodes that run the task's graph, from the outermost one without a memory of its own, and the graph that this one is
 * in: its namespace, and the checkpoint that the run began on. Undefined for the outermost graph, and for one with its
 * own memory.
 */
export function parentOf(config: RunnableConfig) {
  const names = namespaceOfGraph(config).split(SUBGRAPH);
  const first = names.findIndex((name) => name.includes(":"));
  const inside = first === -1 ? [] : names.slice(first);
  if (inside.length === 0 || !inside.every((name) => name.includes(":"))) return undefined;
  const nodes = inside.map((name) => name.replace(TASK_ID, ""));
  const checkpoint_ns = names.slice(0, first).join(SUBGRAPH);
  return { nodes, checkpoint_ns, begunOn: textIn(config.configurable?.[MAP], checkpoint_ns) };
}

/** Whether the task's graph is a node of a saved graph and has no memory of its own. */
export function isNodeWithoutMemory(config: RunnableConfig): boolean {
  return isSavedRun(config) && parentOf(config) !== undefined;
}

/** The namespace of a graph with its own memory inside a task: it has no task id. */
export function memoryNamespace({ configurable }: RunnableConfig): string {
  return String(configurable?.["checkpoint_ns"] ?? "").replaceAll(TASK_ID, "");
}

/** The checkpoint ids that a task's graphs are at, by namespace. Not exported. */
const MAP = "checkpoint_map";

/**
 * The id of the checkpoint that a task's superstep began on. With the durability `async` it may not be saved yet. With
 * `exit` it is saved when the run ends, even after an abort.
 */
export function checkpointOfStep(config: Pick<RunnableConfig, "configurable">): string | undefined {
  return textIn(config.configurable?.[MAP], namespaceOfGraph(config));
}

/*
 * A run's id.
 */

/** Where this library puts the id. LangGraph copies keys without underscores into each checkpoint's metadata. */
const RUN_ID = "__tether_run_id";

/** The entry of a run's `configurable` that tells its tasks the run's id. */
export function runIdEntry(id: string): Record<string, string> {
  return { [RUN_ID]: id };
}

/** The id of the run that saved a checkpoint, where a server notes it. */
export function savedRunId({ metadata }: { readonly metadata?: object | undefined }): string | undefined {
  return textIn(metadata, "run_id");
}

/** What LangGraph makes for each run, and gives to all of its tasks. Its type does not say that nodes get it. */
export function controlOf(config: object | undefined): object | undefined {
  const control: unknown = Reflect.get(config ?? {}, "control");
  return isRecord(control) ? control : undefined;
}

/** The signals that abort a task. Not exported. */
const SIGNALS = "__pregel_abort_signals";

/** The signal of the caller: a task's own one also aborts if another task fails. */
export function externalSignalOf({ configurable }: RunnableConfig): AbortSignal | undefined {
  return Object(configurable?.[SIGNALS]).externalAbortSignal;
}

/** The id of a task's run, if this library runs it. */
export function runIdOf({ configurable }: Pick<RunnableConfig, "configurable">): string | undefined {
  return textIn(configurable, RUN_ID);
}

/** The id that an outermost run was started with: by its caller, or by a server. */
export function givenRunId({ runId, configurable, metadata }: RunnableConfig): string | undefined {
  return runId ?? textIn(configurable, "run_id") ?? textIn(metadata, "run_id");
}

/*
 * A run's checkpointer.
 */

/** The checkpointer that a parent graph passes to its subgraph; undefined if there is none. */
export function inheritedCheckpointer({ configurable }: RunnableConfig): unknown {
  return configurable?.[CHECKPOINTER];
}

/**
 * Where a task's graph saves its checkpoints. Undefined without a checkpointer, and for a subgraph without its own
 * memory: a task id in its namespace says that its checkpoints belong to one call.
 */
export function ownThreadOf(config: RunnableConfig) {
  const saver = inheritedCheckpointer(config);
  const { thread_id } = { ...config.configurable };
  const checkpoint_ns = namespaceOfGraph(config);
  if (!isSaver(saver) || thread_id === undefined || checkpoint_ns.includes(":")) return undefined;
  return { saver: soundSaver(saver), place: { thread_id, checkpoint_ns } };
}

/** The options of a subgraph's run with another checkpointer in place of the inherited one. */
export function withInheritedCheckpointer<Options extends RunnableConfig>(
  options: Options,
  checkpointer: BaseCheckpointSaver,
): Options {
  return { ...options, configurable: { ...options.configurable, [CHECKPOINTER]: checkpointer } };
}

/** Whether LangGraph's server started the run. A program's client can also send an assistant id. */
export function isServedRun({ configurable }: RunnableConfig): boolean {
  const isServer = SERVER_FETCH in globalThis || SERVER_URL in globalThis;
  return configurable?.[ASSISTANT] !== undefined && isServer;
}

/**
 * The values of these channels; undefined outside a graph.
 *
 * @param isFresh Whether the values include the task's own writes.
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
 * LangGraph's switch that refuses a resume value without an interrupt id if several interrupts wait. Otherwise one
 * value goes to all of them: a decision about a call would also answer another tool's question. Not exported.
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
    // A client can send metadata with an earlier run's id. If the saver stores it, LangGraph continues that run and
    // ignores the input.
    ...(run_id !== undefined && { metadata: { ...options.metadata, run_id } }),
    // With a limit of 1, LangGraph runs only a superstep's first task. So the tools node applies the limit.
    maxConcurrency: Number.POSITIVE_INFINITY,
    // If a run has its node's name, LangGraph takes it for the node and streams its result at once.
    ...(holdsResult && isSubgraphRun(options) && { runName: "agent-run" }),
    configurable: { ...options.configurable, [STRICT_RESUME]: hasStrictResume },
  };
}

/**
 * The options of a second run that writes after the first. The first may have started from an older checkpoint, but the
 * second must start from the latest. Its `run_id` must differ, because LangGraph would otherwise resume the run that
 * wrote the latest checkpoint, and ignore the input.
 */
export function followingOptions<Options extends RunnableConfig>(options: Options): Options {
  const {
    checkpoint_id: _checkpoint,
    checkpoint_map: _map,
    run_id: _run,
    ...configurable
  } = { ...options.configurable };
  const { run_id: _inMetadata, ...metadata } = { ...options.metadata };
  // The `runId` stays, because event readers take that run's last end as its output.
  return { ...options, configurable, metadata };
}

/** Whether LangGraph saves the run only at its end. `checkpointDuring: false` is the old name for that. */
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
 * Whether LangChain's `streamEvents` reads the run. It reads a run's first chunk only between the start and the end of
 * the compiled graph. At any other time, it stops reading and aborts the run. LangGraph makes the events of version 3.
 */
export function isReadAsEvents(options: ChunkOptions): boolean {
  return "version" in options && options.version !== "v3";
}

/**
 * A value on the `custom` stream, as a chunk of a run with these options. Undefined if the caller did not request that
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

/** The key of pending questions among a run's streamed values. Not exported. */
const QUESTIONS = "__interrupt__";

/**
 * The questions in a run's chunks, which are repeated with the last values. With a list of stream modes, as LangGraph's
 * server requests them, LangGraph streams a question when it is asked. Then it streams values that other tasks of the
 * superstep wrote, without the question, and the server answers `runs.wait` with the last values.
 */
export class StreamedQuestions<Chunk> {
  readonly #questions: unknown[] = [];
  /** The last values that came after all questions. */
  #later: Chunk | undefined;

  /** Call it with each chunk. */
  note(chunk: Chunk): void {
    const values = valuesIn(chunk);
    if (values === undefined) return;
    const asked = values[QUESTIONS];
    this.#later = Array.isArray(asked) ? undefined : chunk;
    if (Array.isArray(asked)) this.#questions.push(...asked);
  }

  /** The last values with all questions. Undefined if the client has them already. */
  repeated(): Chunk | undefined {
    const later = this.#later;
    if (this.#questions.length === 0 || !Array.isArray(later)) return undefined;
    return [...later.slice(0, -1), { ...valuesIn(later), [QUESTIONS]: this.#questions }] as Chunk;
  }
}

/** The values in a chunk of the outermost graph: `["values", …]`, after its namespace if there is one. */
function valuesIn(chunk: unknown): Record<string, unknown> | undefined {
  if (!Array.isArray(chunk) || chunk.at(-2) !== "values") return undefined;
  const isOuter = chunk.length === 2 || [chunk[0] ?? []].flat().length === 0;
  const values: unknown = chunk.at(-1);
  return isOuter && isRecord(values) ? values : undefined;
}

/*
 * The LangGraph server in this process, and what it says about a run.
 */

/** Where the server keeps the function that sends it requests. The SDK's client uses it. Not exported. */
const SERVER_FETCH = Symbol.for("langgraph_api:fetch");

/** Where a server in another process keeps its address. Not exported. */
const SERVER_URL = Symbol.for("langgraph_api:url");

export interface ServedRun {
  readonly runId: string;
  readonly threadId: string;
  readonly assistantId: string;
}

/**
 * The run for which the server requests a graph; undefined if it only reads or changes a state. The config then has
 * what a client sent.
 *
 * @param runtime The second argument that the server passes to the function that makes the graph.
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

/** What a client may send to identify itself. */
const RIGHTS = ["authorization", "x-api-key", "x-auth-scheme", "cookie"];

/** Asks this process's LangGraph server with a request's rights. The server checks who asks. */
export async function clientOfThisServer({ headers }: Pick<Request, "headers">): Promise<Client> {
  const { Client } =
    await importOptional<typeof import("@langchain/langgraph-sdk")>("@langchain/langgraph-sdk");
  const rights = [...headers].filter(([name]) => RIGHTS.includes(name));
  // Without an address, the client uses this process's server. Without `null`, it would send a key from the
  // environment.
  return new Client({
    apiKey: null,
    defaultHeaders: Object.fromEntries(rights),
    callerOptions: { maxRetries: 0 },
  });
}
