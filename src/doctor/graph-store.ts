/** Reads and writes threads through the user's own graph. */

import { types } from "node:util";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, Checkpoint, CheckpointTuple, StateSnapshot } from "@langchain/langgraph";
import { InvalidSettingError, TetherError } from "../errors.js";
import { unansweredCalls } from "../history/open-calls.js";
import { convertMessage } from "../history/read-messages.js";
import { isPlaceholder, isResult } from "../history/result.js";
import { safely } from "../shared/json.js";
import { hasMethods, isRecord } from "../shared/values.js";
import { type ArchiveReader, readArchive } from "../threads/archive.js";
import { endsAfterModel } from "../threads/close-calls.js";
import { messagesAmong } from "../threads/commands.js";
import { pairedMessagesDeltaReducer } from "../threads/langgraph/channels.js";
import {
  failuresOf,
  hasFailedTask,
  nodesToEnter,
  readDelta,
  sentNodes,
  waitingInterrupts,
  waitsForNode,
  writtenChannels,
} from "../threads/langgraph/read-checkpoints.js";
import { isSaver } from "../threads/langgraph/replace-methods.js";
import {
  compiledGraphOf,
  type ForeignGraph,
  isDeltaChannel,
  MESSAGES,
  readSnapshot,
  stopsBefore,
  tolerantChannel,
  unwrapped,
  writeMessages,
} from "../threads/langgraph/swap-channel.js";
import { isAddedBetweenRuns, isForked, walkLeftovers } from "../threads/leftovers.js";
import { checkpointsOf, isBeforeModel, viewForRun } from "../threads/run-saver.js";
import { readList } from "./examine.js";
import { pinJson, pinMessages } from "./stored-json.js";
import {
  type EndedRun,
  errorText,
  hasMetadata,
  type OpenTask,
  type StepSelection,
  type StoredMessages,
  type StoredThread,
  type ThreadRef,
  type ThreadSelection,
  type ThreadStatus,
  type ThreadStep,
  type ThreadStore,
  type ThreadWrite,
  type WriteOutcome,
} from "./thread-store.js";

/** What `createGraphStore` gets. */
export interface GraphStoreOptions {
  /** See `GraphThread`. */
  readonly graph: object;
  /** @default the one that the graph was compiled with */
  readonly checkpointer?: BaseCheckpointSaver | undefined;
  /** The place, for reports and receipts, without keys and passwords. @default `"graph"` */
  readonly target?: string | undefined;
  /**
   * Contract: gives each selected thread once, without reading its messages. A database can do this in one query.
   *
   * @default reads every checkpoint of the checkpointer, which is slow for a large database
   */
  readonly list?: ((selection: ThreadSelection) => AsyncIterable<ThreadRef>) | undefined;
  /** Contract: closes what `createGraphStore` was given. */
  readonly close?: (() => Promise<void>) | undefined;
}

/**
 * The threads of a graph, read and written through the graph itself. Only its channel of messages is replaced, on a
 * copy, so every other channel keeps its value.
 *
 * @throws InvalidSettingError if the graph or its checkpointer cannot be used.
 * @example
 * ```ts
 * import { MemorySaver } from "@langchain/langgraph";
 * import { createAgentGraph } from "langgraph-tether";
 * import { createGraphStore, diagnoseThread } from "langgraph-tether/doctor";
 *
 * const graph = await createAgentGraph({ model: "offline:", checkpointer: new MemorySaver() });
 * const config = { configurable: { thread_id: "1" } };
 * await graph.invoke({ messages: [{ role: "user", content: "Hello!" }] }, config);
 * const store = createGraphStore({ graph });
 * for await (const ref of store.threads({})) {
 *   const { outcome } = diagnoseThread(await store.read(ref));
 *   console.log(ref.threadId, outcome); // 1 sound
 * }
 * ```
 */
export function createGraphStore(options: GraphStoreOptions): ThreadStore {
  const opened = openGraph(options.graph, options.checkpointer);
  return {
    ...readingStore(opened, options),
    canWrite: true,
    write: (ref, write) => writeThread(opened, ref, write),
  };
}

/**
 * The threads of a checkpointer whose graph nobody has at hand. They can only be read, and nothing is known of the nodes
 * that ran or run next, apart from what the checkpoints say.
 */
export function createSaverStore({
  checkpointer: saver,
  ...options
}: Omit<GraphStoreOptions, "graph"> & { readonly checkpointer: BaseCheckpointSaver }): ThreadStore {
  return readingStore({ graph: undefined, saver }, options);
}

function readingStore(
  opened: Opened,
  { target = "graph", list, close }: Omit<GraphStoreOptions, "graph">,
): ThreadStore {
  const items = opened.graph?.store;
  return {
    target,
    canWrite: false,
    threads: (selection) => list?.(selection) ?? listThreads(opened.saver, selection),
    read: (ref) => readThread(opened, ref),
    write: async () => {
      throw new Error("A thread is written through its graph, and none is named.");
    },
    steps: (ref, wanted) => readSteps(opened, ref, wanted),
    archived: hasMethods(items, "get")
      ? ({ threadId }, ids) => readArchive(items as ArchiveReader, threadId, ids)
      : undefined,
    close: async () => close?.(),
  };
}

/**
 * The threads of any checkpointer, and the subgraphs in them. A checkpointer has no method for this, so it reads every
 * checkpoint. Only what decides about a thread is kept: its latest checkpoint.
 */
async function* listThreads(
  saver: BaseCheckpointSaver,
  { threadIds, metadata, since, limit = Number.POSITIVE_INFINITY }: ThreadSelection,
): AsyncGenerator<ThreadRef> {
  const met = new Set<string>();
  const chosen = new Set<string>();
  for (const thread_id of threadIds ?? [undefined]) {
    const config = { configurable: thread_id === undefined ? {} : { thread_id } };
    // The first checkpoint of a thread that is listed is its latest one.
    for await (const tuple of saver.list(config)) {
      const { thread_id: threadId, checkpoint_ns: namespace = "" } = { ...tuple.config.configurable };
      const key = JSON.stringify([threadId, namespace]);
      if (typeof threadId !== "string" || met.has(key)) continue;
      met.add(key);
      if (!hasMetadata({ ...tuple.metadata }, metadata)) continue;
      if (since !== undefined && new Date(tuple.checkpoint.ts) < since) continue;
      // The subgraphs of a thread can be listed before it, and after other threads.
      if (!chosen.has(threadId) && chosen.size >= limit) continue;
      chosen.add(threadId);
      yield { threadId, namespace: String(namespace) };
    }
  }
}

/*
 * A thread of the user's own graph, in the same process.
 */

/** A thread and the graph that it belongs to. */
export interface GraphThread {
  /**
   * The graph that runs the thread: a compiled `StateGraph`, or an agent of `createAgent`, `createReactAgent`,
   * `createDeepAgent` or `createAgentGraph`. It must be the thread's own graph: another one would drop the channels that
   * it does not know.
   */
  readonly graph: object;
  /** The config of the thread, with `configurable.thread_id`. */
  readonly config: RunnableConfig;
  /** The checkpointer of the thread. @default the one that the graph was compiled with */
  readonly checkpointer?: BaseCheckpointSaver | undefined;
}

/** What threads are read with. */
interface Opened {
  /** Undefined: nobody has the graph at hand. */
  readonly graph: ForeignGraph | undefined;
  readonly saver: BaseCheckpointSaver;
}

interface OpenedGraph extends Opened {
  readonly graph: ForeignGraph;
}

/** @throws InvalidSettingError if the graph or its checkpointer cannot be used. */
function openGraph(given: unknown, checkpointer?: unknown): OpenedGraph {
  const graph = compiledGraphOf(given);
  if (graph === undefined)
    throw InvalidSettingError.expected(
      "graph",
      "a compiled graph, or an agent that has one as its `graph`",
      given,
      " Call `compile()` first. If the module exports a function, pass what it returns.",
    );
  const saver = checkpointer ?? graph.checkpointer;
  if (!isSaver(saver))
    throw InvalidSettingError.expected(
      "checkpointer",
      "a checkpointer, of the graph or beside it",
      saver,
      " Compile the graph with its checkpointer, or pass `checkpointer`.",
    );
  return { graph, saver };
}

export function isGraphThread(value: object): value is GraphThread {
  return "graph" in value && "config" in value;
}

/*
 * Reads a thread of a graph: the stored list, what its own graph makes of it, and what ended runs left.
 */

/** Contract: never throws for a thread that cannot be read, only if the checkpointer fails for every thread. */
async function readThread({ graph, saver: given }: Opened, ref: ThreadRef): Promise<StoredThread> {
  const { threadId, namespace } = ref;
  const saver = pinMessages(given);
  const place = { configurable: { thread_id: threadId, checkpoint_ns: namespace } };
  const base = { threadId, namespace, endedRuns: [], otherChannels: [], openTasks: undefined } as const;
  const tuple = await saver.getTuple(place).catch(errorText);
  if (typeof tuple === "string") {
    const content = { kind: "unreadable", reason: tuple } as const;
    return { ...base, checkpointId: undefined, status: "error", content };
  }
  if (tuple === undefined)
    return { ...base, checkpointId: undefined, status: "idle", content: { kind: "none" } };

  const opened = { graph, saver };
  const list = await listAt(opened, tuple);
  const isWhole = graph !== undefined && namespace === "";
  const otherGraph = isWhole ? otherGraphReason(graph, tuple.checkpoint) : undefined;
  // What this graph makes of a thread of another one says nothing about the thread.
  const own = isWhole && otherGraph === undefined ? await readOwn({ graph, saver: given }, place) : undefined;
  const shown = own?.kind === "read" ? own.state : await readTolerantly(opened, place);
  const tasks = shown?.tasks.map(openTask);
  const values = tuple.checkpoint.channel_values;
  const content = contentOf(list, own);
  return {
    threadId,
    namespace,
    checkpointId: tuple.checkpoint.id,
    updatedAt: tuple.checkpoint.ts,
    status: statusOf(graph, tuple, shown),
    content,
    endedRuns:
      content.kind === "read" || content.kind === "bricked" ? await findEndedRuns(opened, tuple) : [],
    openTasks: graph && (tasks ?? []).filter(({ node }) => shown?.next.includes(node)),
    otherChannels: Object.keys(values).filter((name) => name !== MESSAGES && isOwnName(name)),
    otherGraph,
    tellsStarts: true,
    mendedBy: graph === undefined ? mendedByNodes(tuple) : mendedBy(Object.keys(graph.nodes)),
  };
}

type Own =
  | { readonly kind: "read"; readonly state: StateSnapshot }
  | { readonly kind: "failed"; readonly reason: string };

/** What the thread's own graph shows, as any code of the user would read it. */
function readOwn({ graph, saver }: OpenedGraph, place: RunnableConfig): Promise<Own> {
  return readSnapshot(graph, saver, place).then(
    (state) => ({ kind: "read", state }),
    (error: unknown) => ({ kind: "failed", reason: errorText(error) }),
  );
}

/** Undefined without a graph, too. */
async function readTolerantly(
  { graph, saver }: Opened,
  place: RunnableConfig,
): Promise<StateSnapshot | undefined> {
  return graph && readSnapshot(graph, saver, place, channelOf(graph)).catch(() => undefined);
}

function channelOf(graph: ForeignGraph): object {
  return tolerantChannel(graph.channels[MESSAGES] ?? {}, (history, writes) =>
    pairedMessagesDeltaReducer(history, writes),
  );
}

/** The list of a checkpoint, without the writes of its tasks. Undefined if it has none. */
async function listAt(
  { graph, saver }: Opened,
  { checkpoint, config }: CheckpointTuple,
): Promise<readonly unknown[] | undefined> {
  const stored = unwrapped(checkpoint.channel_values[MESSAGES]);
  if (stored !== undefined) return Array.isArray(stored) ? stored : undefined;
  if (graph === undefined) {
    const list: unknown = await readDelta(saver, config).catch(() => undefined);
    return Array.isArray(list) ? list : undefined;
  }
  if (!isDeltaChannel(graph.channels[MESSAGES])) return undefined;
  // The channel stores only what was added, so its value is made from earlier checkpoints. Its own reducer shows what
  // the user's code sees, even if that list is broken.
  for (const channel of [undefined, channelOf(graph)]) {
    // The second channel does not throw for a removal of an unknown message.
    const state = await readSnapshot(graph, saver, config, channel).catch(() => undefined);
    const list: unknown = state?.values[MESSAGES];
    if (Array.isArray(list)) return list;
  }
  return undefined;
}

function contentOf(list: readonly unknown[] | undefined, own: Own | undefined): StoredMessages {
  if (own?.kind === "failed") return { kind: "bricked", reason: own.reason, messages: list };
  return list === undefined ? { kind: "none" } : { kind: "read", messages: list };
}

function statusOf(
  graph: ForeignGraph | undefined,
  tuple: CheckpointTuple,
  shown: StateSnapshot | undefined,
): ThreadStatus {
  const isStopped = graph !== undefined && stopsBefore(graph, shown?.next ?? []);
  if (waitingInterrupts(tuple).length > 0 || isStopped) return "interrupted";
  return hasFailedTask(tuple) ? "error" : "idle";
}

function openTask({ id, name, error, interrupts }: StateSnapshot["tasks"][number]): OpenTask {
  return {
    id,
    node: name,
    error: error === undefined || error === null ? undefined : errorText(error),
    interrupts,
  };
}

/** See `ThreadStore.steps`. */
async function readSteps(
  opened: Opened,
  { threadId, namespace }: ThreadRef,
  { from, limit }: StepSelection,
): Promise<readonly ThreadStep[]> {
  const configurable = { thread_id: threadId, checkpoint_ns: namespace };
  const graph = { graph: opened.graph, saver: pinMessages(opened.saver) };
  const tuples: CheckpointTuple[] = [];
  if (from !== undefined) {
    const first = await graph.saver.getTuple({ configurable: { ...configurable, checkpoint_id: from } });
    if (first === undefined) return [];
    tuples.push(first);
  }
  const before = from === undefined ? {} : { before: { configurable: { checkpoint_id: from } } };
  const count = limit - tuples.length;
  if (count > 0)
    for await (const tuple of graph.saver.list({ configurable }, { limit: count, ...before }))
      tuples.push(tuple);
  return Promise.all(tuples.map((tuple) => stepOf(graph, tuple)));
}

async function stepOf(opened: Opened, tuple: CheckpointTuple): Promise<ThreadStep> {
  const { checkpoint, metadata = {}, config, parentConfig } = tuple;
  const shown = await readTolerantly(opened, config);
  const next = shown?.next ?? [...nodesToEnter(tuple), ...sentNodes(tuple)];
  return {
    checkpointId: checkpoint.id,
    parentId: parentConfig?.configurable?.["checkpoint_id"],
    createdAt: checkpoint.ts,
    metadata: { ...metadata },
    messages: await listAt(opened, tuple),
    next,
    tasks:
      shown?.tasks.map((task) => ({
        node: task.name,
        result: Reflect.get(task, "result"),
        error: openTask(task).error,
      })) ??
      failuresOf(tuple).map((error) => ({ node: nameOf(next), result: undefined, error: errorText(error) })),
  };
}

/** A failed write has the id of its task, and not the name of its node. */
function nameOf(nodes: readonly string[]): string {
  return [...new Set(nodes)].join(" or ") || "a node";
}

/*
 * Writes the messages of a thread of a graph, and nothing else of it.
 */

/** See `ThreadStore.write`. */
async function writeThread(
  { graph, saver }: OpenedGraph,
  { threadId, namespace }: ThreadRef,
  { expectedCheckpointId, messages, asNode }: ThreadWrite,
): Promise<WriteOutcome> {
  if (namespace !== "")
    throw new Error("Expected a thread, got the state of a subgraph, which is never written.");
  const config = { configurable: { thread_id: threadId, checkpoint_ns: "" } };
  const reading = pinMessages(saver);
  const head = await reading.getTuple(config);
  if (head?.checkpoint.id !== expectedCheckpointId)
    return { kind: "moved", checkpointId: head?.checkpoint.id };
  const foreign = head && otherGraphReason(graph, head.checkpoint);
  if (foreign !== undefined) throw new Error(foreign);
  const list = routable(messages.map(asInstance));
  let reason: unknown;
  const known = nodesOf(graph);
  if (asNode !== undefined && !known.includes(asNode))
    throw new Error(`The graph has no node \`${asNode}\`. Its nodes are ${known.join(", ")}.`);
  const nodes = candidates(head).filter((name) => known.includes(name));
  for (const node of asNode === undefined ? [undefined, ...nodes] : [asNode]) {
    const guarded = { threadId, messageIds: () => [] };
    const view = viewForRun(reading, { signal: undefined, guarded });
    try {
      const written = await writeMessages(graph, view.checkpointer, config, list, node);
      return { kind: "written", checkpointId: written.configurable?.["checkpoint_id"] };
    } catch (error) {
      if (TetherError.isInstance(error) && error.code === "THREAD_MOVED") {
        const latest = await saver.getTuple(config);
        return { kind: "moved", checkpointId: latest?.checkpoint.id };
      }
      if (!isAboutNode(error)) throw error;
      reason ??= error;
    }
  }
  if (asNode !== undefined) throw reason;
  throw new Error(
    `${errorText(reason)}. Name the node that the thread is written as with --as-node (\`asNode\` in the library): ${known.join(", ")}.`,
  );
}

/** LangGraph cannot tell which of several nodes ran last, or none ran, or the graph has lost that node since. */
function isAboutNode(error: unknown): boolean {
  return /Ambiguous update|Node ".*" does not exist|No writers found for node/.test(errorText(error));
}

const nodesOf = ({ nodes }: OpenedGraph["graph"]): string[] =>
  Object.keys(nodes).filter((name) => !name.startsWith("__"));

/** The nodes that the latest superstep ran, or that wait to run. */
function candidates(head: CheckpointTuple | undefined): string[] {
  const latest = (seen: object) =>
    Math.max(...Object.values(seen).map((version) => Number.parseFloat(String(version))));
  return nodesThatRan({ ...head?.checkpoint })
    .sort(([, one], [, other]) => latest(other) - latest(one))
    .map(([name]) => name);
}

/** The nodes that have run, each with the versions of the channels that it saw. */
function nodesThatRan({ versions_seen = {} }: Partial<Checkpoint>): [name: string, seen: object][] {
  return Object.entries(versions_seen).filter(
    ([name, seen]) => !name.startsWith("__") && Object.keys(seen).length > 0,
  );
}

/**
 * The routes of the graph read the list, and expect messages with the fields of their types. They get those that can be
 * read; the stored list is the given one.
 */
function routable(list: readonly unknown[]): readonly unknown[] {
  const { messages, foreign } = readList(list);
  const isSound = foreign.length === 0 && messages.every(({ issue }) => issue === undefined);
  return isSound
    ? list
    : pinJson(
        messages.map(({ message }) => message),
        list,
      );
}

/** A message in its serialized form is stored in that form. */
function asInstance(value: unknown): unknown {
  if (!isRecord(value) || value["lc"] !== 1) return value;
  const message = convertMessage(value);
  return message === undefined ? value : pinJson(message, value);
}

/*
 * Finds what runs that ended early have saved with their checkpoints, for calls that still have no result.
 */

/** How many checkpoints are read at most, for one thread. */
const CHECKPOINTS_TO_READ = 1000;

/**
 * Walks back from the latest checkpoint to the one in which the first call without a result was made, and over all runs
 * that ended before they looked for leftovers themselves.
 */
async function findEndedRuns(opened: Opened, tuple: CheckpointTuple): Promise<readonly EndedRun[]> {
  const found: EndedRun[] = [];
  const { saver } = opened;
  const hydrated = async (one: CheckpointTuple): Promise<CheckpointTuple> => {
    const list = await listAt(opened, one);
    const channel_values = { ...one.checkpoint.channel_values, [MESSAGES]: list ?? [] };
    return { ...one, checkpoint: { ...one.checkpoint, channel_values } };
  };
  const read = async (config: RunnableConfig) => {
    const one = await saver.getTuple(config);
    return one && hydrated(one);
  };
  const latest = await hydrated(tuple);
  const checkpoints = { ...checkpointsOf(saver, latest), read };
  const wanted = idsOfUnansweredCalls(latest);
  /** Whether a run that comes next looks no further. Beyond, only results are looked for. */
  let isPassed = false;
  const goesOn = (checkpoint: CheckpointTuple): boolean => {
    isPassed ||=
      !isAddedBetweenRuns(checkpoint) && !waitsForNode(checkpoint, "patch") && !isBeforeModel(checkpoint);
    return !isPassed || messagesOf(checkpoint).some(({ id }) => wanted.has(id));
  };
  const ended = { input: {}, checkpoints, ownState: { keys: [] } };
  for await (const { step, left, lost } of walkLeftovers(ended, CHECKPOINTS_TO_READ, goesOn)) {
    const { checkpoint, child, fate } = step;
    // Another branch has the other messages, or a run has passed them.
    const hasOnlyResults = isPassed || (await isForked(step, checkpoints).catch(() => false));
    const { history, interrupts, nodes, unstarted, removed } = left;
    const run = {
      checkpointId: checkpoint.checkpoint.id,
      history,
      removed,
      otherChannels: writtenChannels(checkpoint).filter((name) => name !== "messages"),
    };
    const kept = (written: readonly BaseMessage[]) => (hasOnlyResults ? written.filter(isResult) : written);
    const ofTasks = child === undefined ? "pending" : fate === "folded" ? "applied" : "discarded";
    const runs: EndedRun[] = [
      // What an update of the state took over can be gone again, for example after an undo.
      { ...run, fate: ofTasks, written: kept(left.written), interrupts, unstarted, nodes },
      // LangGraph drops what a killed run wrote: only the next run with input puts it back.
      { ...run, fate: "discarded", written: kept(lost), interrupts: [], unstarted: [], nodes: [] },
    ];
    found.unshift(...runs.filter(hasLeftSomething));
  }
  return found;
}

const hasLeftSomething = ({ written, interrupts, unstarted, nodes }: EndedRun): boolean =>
  written.length + interrupts.length + unstarted.length > 0 || endsAfterModel(nodes);

/** The ids of the messages whose calls have no result of their tool. */
function idsOfUnansweredCalls(checkpoint: CheckpointTuple): ReadonlySet<string | undefined> {
  const { dangling, pending } = unansweredCalls(
    messagesOf(checkpoint).filter((message) => !isPlaceholder(message)),
  );
  return new Set([...dangling, ...pending].map(({ group }) => group.head.id));
}

function messagesOf({ checkpoint }: CheckpointTuple) {
  return messagesAmong(checkpoint.channel_values[MESSAGES]);
}

/** Whether a channel is one of the user. LangGraph's own have a colon or underscores in their names. */
function isOwnName(name: string): boolean {
  return !name.includes(":") && !name.startsWith("__");
}

/** The nodes of `createAgentGraph`, which are always there. */
const AGENT_NODES = ["patch", "summarize", "model", "approve", "tools"];

/** What mends the threads of a graph with these nodes. */
export function mendedBy(nodes: readonly string[]): NonNullable<StoredThread["mendedBy"]> {
  if (nodes.includes("tether.before_agent")) return "middleware";
  return AGENT_NODES.every((name) => nodes.includes(name)) ? "agent" : "nobody";
}

/** What the nodes that ran tell of an agent of `createAgent`. The nodes of another graph do not tell it. */
function mendedByNodes({ checkpoint: { versions_seen = {} } }: CheckpointTuple): StoredThread["mendedBy"] {
  const ran = Object.keys(versions_seen);
  return ran.includes("model_request") ? mendedBy(ran) : undefined;
}

/**
 * Why a checkpoint does not belong to this graph, in one sentence; undefined if it may belong to it. A write through
 * another graph would drop the channels that this graph does not know. Several agents can share one database, and a
 * checkpoint does not name its graph.
 */
function otherGraphReason(graph: ForeignGraph, checkpoint: Checkpoint): string | undefined {
  const { channels, nodes } = graph;
  const { channel_values } = checkpoint;
  const unknown = Object.keys(channel_values).filter(
    (name) => name !== MESSAGES && isOwnName(name) && !Object.hasOwn(channels, name),
  );
  if (unknown.length > 0)
    return `The thread has values that this graph does not know, and a write would drop them: ${unknown.join(", ")}. Name the graph that the thread belongs to.`;
  const ran = nodesThatRan(checkpoint).map(([name]) => name);
  if (ran.length > 0 && !ran.some((name) => Object.hasOwn(nodes, name)))
    return `Another graph has run the thread: its nodes were ${ran.join(", ")}, and this graph has none of them. Name the graph that the thread belongs to.`;
  const entry = unreachedEntry(graph, checkpoint);
  const missing = Object.keys(channels).filter(
    (name) => name !== MESSAGES && isOwnName(name) && !(name in channel_values) && hasDefault(channels[name]),
  );
  if (entry !== undefined && missing.length > 0)
    return `Another graph has run the thread: each run of this graph begins at ${entry}, where the thread has never been, and a write would add values to it: ${missing.join(", ")}. Name the graph that the thread belongs to. If your graph has changed since, name it as it was.`;
  return undefined;
}

/**
 * The first node of each run of the graph, if the thread has had runs and none of them came there. One that a graph has
 * got since is no proof: a middleware can bring it, and its threads may be repaired.
 */
function unreachedEntry(
  graph: ForeignGraph,
  { channel_versions, versions_seen }: Checkpoint,
): string | undefined {
  const edges: unknown = Reflect.get(Object(Reflect.get(graph, "builder")), "edges");
  if (versions_seen?.["__start__"] === undefined || !types.isSet(edges)) return undefined;
  const entries = [...edges].flatMap((edge) =>
    Array.isArray(edge) && edge[0] === "__start__" ? [String(edge[1])] : [],
  );
  const isReached = (node: string): boolean =>
    Object.hasOwn(versions_seen, node) ||
    Object.keys(channel_versions ?? {}).some((channel) => channel.endsWith(`:${node}`));
  return entries.some(isReached) ? undefined : entries[0];
}

/** Whether each checkpoint of a graph with this channel can have a value of it, also if nobody wrote one. */
function hasDefault(channel: object | undefined): boolean {
  return safely(() => {
    const fresh = Reflect.apply(Reflect.get(Object(channel), "fromCheckpoint"), channel, [undefined]);
    return Object(fresh).isAvailable() === true;
  }, false);
}

/*
 * Where a thread is: in a store, or in a graph of this process.
 */

/** A thread of a store. */
export interface StoreThread {
  readonly store: ThreadStore;
  readonly ref: ThreadRef;
}

/** A thread, in one of both ways to name it. */
export type ThreadPlace = GraphThread | StoreThread;

/** @throws InvalidSettingError if the graph or its config cannot be used. */
export function placeOf(place: ThreadPlace): StoreThread {
  if (!isGraphThread(place)) return place;
  const { config, graph, checkpointer } = place;
  const { thread_id: threadId, checkpoint_ns: namespace = "" } = { ...config.configurable };
  if (typeof threadId !== "string" || threadId === "")
    throw InvalidSettingError.expected("config.configurable.thread_id", "the id of a thread", threadId);
  return {
    store: createGraphStore({ graph, checkpointer }),
    ref: { threadId, namespace: String(namespace) },
  };
}
