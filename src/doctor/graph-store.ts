/** Reads the threads of a checkpointer, and writes them through their own graph. */

import { types } from "node:util";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type {
  BaseCheckpointSaver,
  Checkpoint,
  CheckpointTuple,
  DeltaChannel,
  StateSnapshot,
} from "@langchain/langgraph";
import { z } from "zod/v4";
import { InvalidSettingError, TetherError } from "../errors.js";
import { unansweredCalls } from "../history/open-calls.js";
import { pairedMessagesReducer } from "../history/reducer/paired-messages.js";
import { isPlaceholder, isResult } from "../history/result.js";
import { isSerializedForm } from "../history/storable.js";
import {
  aFunction,
  checkGiven,
  checkSettings,
  countFrom,
  hintAtClass,
  hintAtPromise,
  type Rule,
  type Rules,
  text,
} from "../shared/check-settings.js";
import { safely } from "../shared/json.js";
import { spanText } from "../shared/text.js";
import { defined, hasMethods, isRecord, pickFields } from "../shared/values.js";
import { messagesAmong } from "../threads/commands.js";
import { diaryOf } from "../threads/diary.js";
import { endsAfterModel } from "../threads/ended-runs/close-calls.js";
import { awaitedCheckpoints } from "../threads/ended-runs/late-results.js";
import { historyIn, isAddedBetweenRuns, isForked, walkLeftovers } from "../threads/ended-runs/leftovers.js";
import { pairedMessagesDeltaReducer } from "../threads/langgraph/channels.js";
import {
  failuresOf,
  hasNewInput,
  hasTasks,
  isOfUpdate,
  isOwnChannel,
  mayGoOn,
  nodesToEnter,
  readDelta,
  sentNodes,
  tasksOf,
  waitingInterrupts,
  waitsForNode,
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
import { type Tables, tablesOf } from "../threads/langgraph/tables.js";
import { checkpointsOf, isBeforeModel } from "../threads/saver/run-checkpoints.js";
import { RunSaver } from "../threads/saver/run-saver.js";
import type { AgentState } from "../threads/state.js";
import { readList, STRUCTURED_RESPONSE } from "./examine.js";
import { countThreads, headsOf } from "./heads.js";
import {
  ASKING_NODE,
  listsIn,
  nodesBeforeModel,
  openTasksOf,
  ranBeforeModel,
  repairedBy,
  stepTasksOf,
} from "./shown-state.js";
import { pinJson, pinMessages } from "./stored-json.js";
import {
  contentOf,
  type EndedRun,
  errorText,
  type FoundThread,
  NOTHING_LEFT,
  type StepSelection,
  type StoredThread,
  selectThreads,
  type ThreadRef,
  type ThreadSelection,
  type ThreadStep,
  type ThreadStore,
  type ThreadWrite,
  threadOfList,
  unreadableThread,
  type WriteOutcome,
} from "./thread-store.js";

/** What `createGraphStore` gets. */
export interface GraphStoreOptions {
  /** See `GraphThread`. */
  readonly graph: object;
  /** @default the one that the graph was compiled with */
  readonly checkpointer?: BaseCheckpointSaver | undefined;
  /** The place's name for reports and receipts, without keys and passwords. @default `"graph"` */
  readonly target?: string | undefined;
  /**
   * Contract: yields each selected thread once, without reading its messages. A database can do this in one query.
   *
   * @default one query for a `PostgresSaver` or `SqliteSaver`; otherwise all checkpoints are read, which can be slow
   */
  readonly list?: ((selection: ThreadSelection) => AsyncIterable<ThreadRef>) | undefined;
  /**
   * How many milliseconds a thread must have been without a new checkpoint before its run counts as ended. Until then a
   * thread that waits in a node is `busy`: nothing in a checkpointer tells whether the node still works. 0: every run
   * whose lock is free has ended. @default 600000
   */
  readonly quietMs?: number | undefined;
  /** Contract: closes what `createGraphStore` was given. */
  readonly close?: (() => Promise<void>) | undefined;
}

/**
 * A graph's threads, read and written through the graph itself. Only its messages channel is replaced, on a copy, so
 * every other channel keeps its value.
 *
 * @throws InvalidSettingError for a wrong option, or if the graph or its checkpointer cannot be used.
 * @example
 * ```ts
 * import { MemorySaver } from "@langchain/langgraph";
 * import { createAgentGraph } from "langgraph-tether";
 * import { createGraphStore, diagnoseThread } from "langgraph-tether/doctor";
 *
 * const graph = createAgentGraph({ model: "offline:", checkpointer: new MemorySaver() });
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
  checkGiven("options", options, notAGraph);
  checkSettings(options, STORE_RULES, "options");
  return storeOf(openGraph(options.graph, options.checkpointer), options);
}

const notAGraph = {
  schema: z.custom<object>((value) => isRecord(value) && !isGraph(value)),
  expects: "an object with the `graph`",
  hint: (value) => (isGraph(value) ? " Did you mean `{ graph }`?" : ""),
} satisfies Rule;

const STORE_RULES = {
  // `openGraph` checks these two.
  graph: { schema: z.unknown(), expects: "a compiled graph" },
  checkpointer: { schema: z.unknown(), expects: "a checkpointer" },
  target: text,
  list: aFunction(),
  quietMs: countFrom(0),
  close: aFunction(),
} satisfies Rules;

/** Whether a graph was given in place of an object that has one. An agent of LangChain has its graph in a field too. */
function isGraph(value: unknown): boolean {
  return compiledGraphOf(value) !== undefined && hasMethods(value, "invoke");
}

/** What threads are read with. */
interface Opened {
  /**
   * Undefined: the graph is not at hand. Then threads can only be read, and only their checkpoints tell about nodes.
   */
  readonly graph: ForeignGraph | undefined;
  readonly saver: BaseCheckpointSaver;
  /** See `StoredThread`. Undefined: the graph is not at hand, or cannot be drawn. */
  readonly nodesBefore?: readonly string[] | undefined;
}

/** The same, for what was opened before. */
export function storeOf(
  opened: Opened,
  {
    target = "graph",
    list,
    tables = tablesOf(opened.saver),
    quietMs = QUIET_MS,
    now = Date.now,
    close,
  }: Omit<GraphStoreOptions, "graph" | "checkpointer"> & {
    readonly tables?: Tables | undefined;
    readonly now?: (() => number) | undefined;
  },
): ThreadStore {
  const { graph, saver } = opened;
  const nodesBefore =
    graph?.getGraph && safely(() => nodesBeforeModel(graph.getGraph?.(), askingNode(graph)), undefined);
  const find = (selection: ThreadSelection) =>
    tables === undefined ? listThreads(saver, selection) : headsOf(tables, selection, "by name");
  return {
    target,
    canWrite: graph !== undefined,
    threads: (selection) => list?.(selection) ?? selectThreads(find(selection), selection),
    ...(list === undefined && tables !== undefined && listOf(tables)),
    read: (ref, bounds = {}) =>
      readThread({ quietMs, now, ...tables, ...defined(bounds), ...opened, nodesBefore }, ref),
    write: async (ref, write) => {
      if (graph === undefined) throw new Error("A thread is written through its graph, and none is named.");
      return writeThread({ graph, saver }, ref, write);
    },
    steps: (ref, wanted) =>
      readSteps({ graph: ref.namespace === "" ? graph : undefined, saver }, ref, wanted),
    close: async () => close?.(),
  };
}

/** How a database lists its threads by time. */
function listOf(tables: Tables): Pick<ThreadStore, "recent" | "count"> {
  return {
    recent: async (selection, offset, order) => {
      const limit = offset + (selection.limit ?? Number.POSITIVE_INFINITY);
      const heads = headsOf(tables, selection, order === "created" ? "by age" : "by change");
      const found: FoundThread[] = [];
      for await (const head of selectThreads(heads, { ...selection, limit })) found.push(head);
      return found.slice(offset);
    },
    count: async ({ metadata, status }) =>
      metadata === undefined && status === undefined ? countThreads(tables) : undefined,
  };
}

/**
 * A checkpointer's threads, and the subgraphs in them. A checkpointer has no method for this, so it reads every
 * checkpoint.
 */
async function* listThreads(
  saver: BaseCheckpointSaver,
  {
    threadIds = [undefined],
    isUnfinished = false,
  }: Pick<ThreadSelection, "isUnfinished"> & {
    readonly threadIds?: readonly (string | undefined)[] | undefined;
  },
): AsyncGenerator<FoundThread> {
  const met = new Set<string>();
  for (const thread_id of threadIds)
    for await (const tuple of saver.list({ configurable: { thread_id } })) {
      const { config, checkpoint, metadata } = tuple;
      const { thread_id: threadId, checkpoint_ns: namespace = "" } = { ...config.configurable };
      const key = JSON.stringify([threadId, namespace]);
      // A thread's first listed checkpoint is its latest.
      if (typeof threadId !== "string" || met.has(key)) continue;
      met.add(key);
      if (isUnfinished && !mayGoOn(tuple)) continue;
      const changedAt = Date.parse(checkpoint.ts);
      yield { threadId, namespace: String(namespace), changedAt, metadata: { ...metadata } };
    }
}

/*
 * A thread of the user's own graph, in the same process.
 */

/** A thread and the graph that it belongs to. */
export interface GraphThread {
  /**
   * The graph that runs the thread: a compiled `StateGraph`, or an agent from `createAgent`, `createReactAgent`,
   * `createDeepAgent` or `createAgentGraph`. It must be the thread's own graph, because another one would drop channels
   * that it does not know.
   */
  readonly graph: object;
  /** The thread's config, with `configurable.thread_id`. */
  readonly config: RunnableConfig;
  /** The thread's checkpointer. @default the one that the graph was compiled with */
  readonly checkpointer?: BaseCheckpointSaver | undefined;
  /** See `GraphStoreOptions`. @default 600000 */
  readonly quietMs?: number | undefined;
}

/** @throws InvalidSettingError if the graph or its checkpointer cannot be used. */
export function openGraph(given: unknown, checkpointer?: unknown, name = "graph") {
  const graph = compiledGraphOf(given);
  if (graph === undefined)
    throw InvalidSettingError.expected(
      name,
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
      hintAtClass(saver) || " Compile the graph with its checkpointer, or pass `checkpointer`.",
    );
  return { graph, saver };
}

/*
 * Reads a graph's thread: the stored list, what its own graph makes of it, and what ended runs left.
 */

/** What tells whether a run may be going on. */
type RunEvidence = Pick<Tables, "isLocked"> & { readonly quietMs: number; readonly now: () => number };

/** Contract: does not throw for a thread whose head cannot be read, but reports it as unreadable. */
async function readThread(
  { graph, saver: given, nodesBefore, ...evidence }: Opened & RunEvidence,
  ref: ThreadRef,
): Promise<StoredThread> {
  const { threadId, namespace } = ref;
  const saver = pinMessages(given);
  const place = { configurable: { thread_id: threadId, checkpoint_ns: namespace } };
  const unread = { ...threadOfList([], threadId), namespace };
  const tuple = await saver.getTuple(place).catch(errorText);
  if (typeof tuple === "string") return unreadableThread(ref, tuple);
  if (tuple === undefined) return { ...unread, content: { kind: "none" } };

  const { checkpoint } = tuple;
  const whole = namespace === "" ? graph : undefined;
  const otherGraph = whole && otherGraphReason(whole, checkpoint);
  // What the thread's own graph shows to any user code. What this graph makes of another graph's thread, or of the state
  // of a subgraph, says nothing about it.
  const ownGraph = otherGraph === undefined ? whole : undefined;
  const opened = { graph: ownGraph, saver };
  const own = ownGraph && (await readSnapshot(ownGraph, given, place).catch(errorText));
  const shown = typeof own === "object" ? own : await readTolerantly(opened, place);
  const { messages, ...lists } = await listsAt(opened, tuple, shown);
  const waits = waitingInterrupts(tuple).length > 0 || (ownGraph && stopsBefore(ownGraph, shown?.next ?? []));
  const goesOn = !isOfUpdate(tuple.metadata) && (hasTasks(tuple) || (shown?.tasks ?? []).length > 0);
  const isLocked = goesOn && (await evidence.isLocked?.(threadId)) === true;
  const nodes = shown?.next ?? [...nodesToEnter(tuple), ...sentNodes(tuple)];
  const end = diaryOf(tuple).ends.at(-1)?.outcome;
  const isYoung = goesOn && !waits && end === undefined ? youngText(checkpoint, nodes, evidence) : undefined;
  const hasFailed = failuresOf(tuple).length > 0;
  // What a run's own graph cannot read, the run cannot read either.
  const isBusy = isLocked || (isYoung !== undefined && !hasFailed && typeof own !== "string");
  return {
    ...unread,
    checkpointId: checkpoint.id,
    updatedAt: checkpoint.ts,
    status: isBusy ? "busy" : waits ? "interrupted" : hasFailed ? "error" : "idle",
    content: typeof own === "string" ? { kind: "bricked", reason: own, messages } : contentOf(messages),
    // A run's finished tasks are read for `messages` only.
    endedRuns:
      messages === undefined || lists.channel !== MESSAGES
        ? []
        : await findEndedRuns(opened, tuple, messages),
    openTasks: ownGraph ? openTasksOf({ ...shown }) : hasTasks(tuple) ? undefined : [],
    goesOn,
    end,
    mayRun: isLocked ? "A process holds the lock of the thread: a run is going on." : isYoung,
    ...lists,
    otherGraph,
    tellsStarts: true,
    repairedBy: repairedByGraph(ownGraph, checkpoint),
    nodesBefore: (ownGraph && nodesBefore) ?? ranBeforeModel(Object.keys(checkpoint.versions_seen)),
  };
}

const QUIET_MS = 600_000;

/** That a checkpoint is too young to say that its run has ended; undefined if it is not. */
function youngText(
  { ts }: Checkpoint,
  nodes: readonly string[],
  { quietMs, now }: RunEvidence,
): string | undefined {
  // The clock of another machine can be ahead.
  const age = Math.max(0, now() - Date.parse(ts));
  if (!(age < quietMs)) return undefined;
  const names = [...new Set(nodes)].filter((name) => !name.startsWith("__")).map((name) => `\`${name}\``);
  const place = names.length === 0 ? "leads to more work" : `waits in ${names.join(" and ")}`;
  return `The latest checkpoint is ${spanText(age)} old and ${place}: a run may be going on.`;
}

/** Undefined without a graph, or if it cannot be read. */
async function readTolerantly(
  { graph, saver }: Opened,
  place: RunnableConfig,
): Promise<StateSnapshot | undefined> {
  if (graph === undefined) return undefined;
  const channel = tolerantChannel(graph.channels[MESSAGES] ?? {}, (history, writes) =>
    pairedMessagesDeltaReducer(history, writes),
  );
  return readSnapshot(graph, saver, place, channel).catch(() => undefined);
}

/** A checkpoint's lists. @param shown What its graph shows, which also has the values of delta channels. */
async function listsAt(opened: Opened, tuple: CheckpointTuple, shown: StateSnapshot | undefined) {
  const { channel_values, channel_versions } = tuple.checkpoint;
  const stored = Object.entries(channel_values).map(([name, value]) => [name, unwrapped(value)]);
  const values = pickFields({ ...Object(shown?.values), ...Object.fromEntries(stored) }, isOwnChannel);
  const lists = listsIn({ ...values, [MESSAGES]: await listAt(opened, tuple) });
  if (lists.messages !== undefined || opened.graph !== undefined) return lists;
  // Without the graph, nothing tells which channel stores only what was added.
  const unread = Object.keys(channel_versions).filter((name) => isOwnChannel(name) && !(name in values));
  const added = await Promise.all(
    unread.map(async (name) => [
      name,
      await readDelta(opened.saver, tuple.config, undefined, name).catch(() => undefined),
    ]),
  );
  return listsIn({ ...values, ...Object.fromEntries(added) });
}

/** A checkpoint's list, without its tasks' writes. */
async function listAt(opened: Opened, { checkpoint, config }: CheckpointTuple): Promise<unknown> {
  const stored = checkpoint.channel_values[MESSAGES];
  const isDelta = stored === undefined && MESSAGES in checkpoint.channel_versions;
  return isDelta ? deltaAt(opened, config) : unwrapped(stored);
}

/**
 * The list of a checkpoint that stores only what was added: earlier checkpoints give its value. The graph's own reducer
 * comes first, because it shows what the user's code sees, even a broken list. Then ours, which does not throw when an
 * unknown message is removed.
 */
async function deltaAt({ graph, saver }: Opened, config: RunnableConfig): Promise<unknown> {
  const own = graph?.channels[MESSAGES];
  if (graph !== undefined && !isDeltaChannel(own)) return undefined;
  const readWith = (channel?: DeltaChannel<BaseMessage[]>) =>
    readDelta(saver, config, channel).catch(() => undefined);
  return (own && (await readWith(own as DeltaChannel<BaseMessage[]>))) ?? readWith();
}

/** See `ThreadStore.steps`. */
async function readSteps(
  { graph, saver: given }: Opened,
  { threadId, namespace }: ThreadRef,
  { from, limit }: StepSelection,
): Promise<readonly ThreadStep[]> {
  const saver = pinMessages(given);
  const configurable = { thread_id: threadId, checkpoint_ns: namespace };
  const at = { configurable: { ...configurable, checkpoint_id: from } };
  const first = from === undefined ? undefined : await saver.getTuple(at);
  if (from !== undefined && first === undefined) return [];
  const tuples = first === undefined ? [] : [first];
  const count = limit - tuples.length;
  const which = { limit: count, ...(first !== undefined && { before: at }) };
  if (count > 0) for await (const tuple of saver.list({ configurable }, which)) tuples.push(tuple);
  return Promise.all(tuples.map((tuple) => stepOf({ graph, saver }, tuple)));
}

async function stepOf(opened: Opened, tuple: CheckpointTuple): Promise<ThreadStep> {
  const { checkpoint, metadata, config, parentConfig } = tuple;
  const shown = await readTolerantly(opened, config);
  const entered = hasNewInput(tuple) ? ["__start__"] : [...nodesToEnter(tuple), ...sentNodes(tuple)];
  const next = shown?.next ?? entered;
  // A write has its task's id, but not its node's name.
  const name = [...new Set(next)].join(" or ") || "a node";
  return {
    checkpointId: checkpoint.id,
    parentId: parentConfig?.configurable?.["checkpoint_id"],
    createdAt: checkpoint.ts,
    metadata: { ...metadata },
    messages: (await listsAt(opened, tuple, shown)).messages,
    next,
    tasks: stepTasksOf(shown?.tasks ?? tasksOf(tuple, MESSAGES).map((task) => ({ ...task, name }))),
  };
}

/*
 * Writes only a thread's messages, through its graph.
 */

/** See `ThreadStore.write`. */
async function writeThread(
  { graph, saver }: Opened & { readonly graph: ForeignGraph },
  { threadId, namespace }: ThreadRef,
  { expectedCheckpointId, messages }: ThreadWrite,
): Promise<WriteOutcome> {
  if (namespace !== "")
    throw new Error("Expected a thread, got the state of a subgraph, which is never written.");
  const config = { configurable: { thread_id: threadId, checkpoint_ns: "" } };
  // It writes only while the checkpoint read here is the latest.
  const guarded = { threadId, messageIds: () => [] };
  const { checkpointer } = new RunSaver(pinMessages(saver), { signal: undefined, guarded });
  const head = await checkpointer.getTuple(config);
  if (head?.checkpoint.id !== expectedCheckpointId)
    return { kind: "moved", checkpointId: head?.checkpoint.id };
  const foreign = head && otherGraphReason(graph, head.checkpoint);
  if (foreign !== undefined) throw new Error(foreign);
  const known = Object.keys(graph.nodes).filter((name) => !name.startsWith("__"));
  const list = routable(messages);
  const ran = latestNodes(head?.checkpoint).filter((name) => known.includes(name));
  let reason: unknown;
  // If no node has run, LangGraph itself writes as the start.
  for (const node of [undefined, ...(ran.length > 0 ? ran : ["__start__"])]) {
    try {
      const written = await writeMessages(graph, checkpointer, config, list, node);
      return { kind: "written", checkpointId: written.configurable?.["checkpoint_id"] };
    } catch (error) {
      if (TetherError.from(error)?.code === "THREAD_MOVED")
        return { kind: "moved", checkpointId: (await saver.getTuple(config))?.checkpoint.id };
      // Several nodes ran last and LangGraph cannot choose, or none ran, or the graph no longer has that node.
      const isAboutNode = /Ambiguous update|^Node ".*" does not exist|No writers found for node/;
      if (!isAboutNode.test(errorText(error))) throw error;
      reason ??= error;
    }
  }
  throw reason;
}

/** The nodes that have run, the latest first. */
function latestNodes({ versions_seen = {} }: Partial<Checkpoint> = {}): string[] {
  const latest = (seen: object) =>
    Math.max(...Object.values(seen).map((version) => Number.parseFloat(String(version))));
  return Object.entries(versions_seen)
    .filter(([name, seen]) => !name.startsWith("__") && Object.keys(seen).length > 0)
    .sort(([, one], [, other]) => latest(other) - latest(one))
    .map(([name]) => name);
}

/**
 * The graph's routes read the list, and expect messages with their types' fields. They get the readable ones; what is
 * stored are the given ones.
 */
function routable(list: readonly unknown[]): readonly unknown[] {
  const { messages, foreign } = readList(list);
  const readable = messages.map(({ message, value, issue }) =>
    issue === undefined && !isSerializedForm(value) ? value : pinJson(message, value),
  );
  return foreign.length === 0 ? readable : pinJson(readable, list);
}

/*
 * Finds what runs that ended early saved with their checkpoints, for calls that still have no result.
 */

/** The most checkpoints that are read for one thread. */
const CHECKPOINTS_TO_READ = 1000;

/**
 * Walks back from the latest checkpoint to the one that made the first call without a result, and over all runs that
 * ended before they looked for leftovers.
 */
async function findEndedRuns(
  opened: Opened,
  { checkpoint, ...tuple }: CheckpointTuple,
  list: readonly unknown[],
): Promise<readonly EndedRun[]> {
  const found: EndedRun[] = [];
  const channel_values = { ...checkpoint.channel_values, [MESSAGES]: list };
  const latest = { ...tuple, checkpoint: { ...checkpoint, channel_values } };
  const readDelta = (config: RunnableConfig) => deltaAt(opened, config);
  const checkpoints = { ...checkpointsOf(opened.saver, latest), readDelta };
  const { all } = unansweredCalls(messagesAmong(list).filter((message) => !isPlaceholder(message)));
  const wanted = new Set(all.map(({ group }) => group.head.id));
  /** Whether the walk is past the point where the next run stops looking. From there on only results count. */
  let isPassed = false;
  const goesOn = async (checkpoint: CheckpointTuple): Promise<boolean> => {
    isPassed ||=
      !isAddedBetweenRuns(checkpoint) && !waitsForNode(checkpoint, "patch") && !isBeforeModel(checkpoint);
    if (!isPassed || wanted.size === 0) return !isPassed;
    return messagesAmong(await historyIn(checkpoint, checkpoints)).some(({ id }) => wanted.has(id));
  };
  const ended = { input: {}, checkpoints, isOwnKey: () => false };
  for await (const { step, left, lost } of walkLeftovers(ended, goesOn, CHECKPOINTS_TO_READ)) {
    const { checkpoint, child, fate } = step;
    // Another branch has the other messages, or a run has passed them.
    const hasOnlyResults = isPassed || (await isForked(step, checkpoints).catch(() => false));
    const { history, interrupts, nodes, noted, unstarted, removed, headId, late, shown } = left;
    const writtenTo = new Set((checkpoint.pendingWrites ?? []).map(([, channel]) => channel));
    const otherChannels = [...writtenTo].filter(isOwnChannel);
    const run = { ...NOTHING_LEFT, checkpointId: left.checkpointId, headId, history, removed, otherChannels };
    const kept = (written: readonly BaseMessage[]) => (hasOnlyResults ? written.filter(isResult) : written);
    const ofTasks = child === undefined ? "pending" : fate === "applied" ? "applied" : "discarded";
    const runs: EndedRun[] = [
      // What a state update took over may be gone again, for example after an undo.
      { ...run, fate: ofTasks, written: kept(left.written), late, interrupts, noted, unstarted, nodes },
      // LangGraph drops these: only the next run with input puts them back.
      { ...run, written: kept([...shown, ...lost]) },
    ];
    // A repair closes a call with a placeholder that names the checkpoint.
    const hasOpenCall = headId !== undefined && wanted.has(headId);
    found.unshift(...runs.filter((one, index) => hasLeftSomething(one) || (index === 0 && hasOpenCall)));
  }
  for (const id of awaitedCheckpoints(messagesAmong(list))) {
    if (found.some(({ checkpointId }) => checkpointId === id)) continue;
    const { config } = latest;
    const sent = await opened.saver.getTuple({ configurable: { ...config.configurable, checkpoint_id: id } });
    const late = sent === undefined ? [] : diaryOf(sent).results;
    // The run after this checkpoint has reported what else there was.
    if (late.length > 0) found.unshift({ ...NOTHING_LEFT, checkpointId: id, late });
  }
  return found;
}

const hasLeftSomething = ({ written, late, interrupts, unstarted, nodes }: EndedRun): boolean =>
  written.length + late.length + interrupts.length + unstarted.length > 0 || endsAfterModel(nodes);

/** Who repairs the thread. Without the graph, only `createAgent`'s nodes and `createAgentGraph`'s channels tell it. */
function repairedByGraph(
  graph: ForeignGraph | undefined,
  { versions_seen = {}, channel_values = {} }: Partial<Checkpoint>,
): StoredThread["repairedBy"] {
  const nodes = Object.keys(graph?.nodes ?? versions_seen);
  if (graph !== undefined) {
    const found = repairedBy(nodes);
    return found === "nobody" && isPairedChannel(graph.channels[MESSAGES]) ? "field" : found;
  }
  if (Object.hasOwn(channel_values, AGENT_CHANNEL)) return "agent";
  return nodes.includes(ASKING_NODE) ? repairedBy(nodes) : undefined;
}

/** Each checkpoint of `createAgentGraph` has a value of it. */
const AGENT_CHANNEL = "threadUsage" satisfies keyof AgentState;

/**
 * The node that sends the messages of the state, if LangChain has made the graph: `createReactAgent`'s graph has a
 * channel that few others have.
 */
const askingNode = ({ channels, nodes }: ForeignGraph): string | undefined =>
  Object.hasOwn(channels, STRUCTURED_RESPONSE) && !Object.hasOwn(nodes, ASKING_NODE) ? "agent" : undefined;

/** The graph can have another copy of this library, so its reducer is recognised by name. */
function isPairedChannel(channel: object | undefined): boolean {
  const { operator, reducer } = Object(channel);
  return PAIRING.has(Object(operator ?? reducer).name);
}

const PAIRING: ReadonlySet<unknown> = new Set([pairedMessagesReducer.name, pairedMessagesDeltaReducer.name]);

/**
 * Why a checkpoint does not belong to this graph, in one sentence; undefined if it may. A write through another graph
 * would drop channels that this graph does not know. Several agents can share a database, and a checkpoint does not
 * name its graph.
 */
function otherGraphReason(graph: ForeignGraph, checkpoint: Checkpoint): string | undefined {
  const { channels, nodes } = graph;
  const { channel_values } = checkpoint;
  const unknown = Object.keys(channel_values).filter(
    (name) => isOwnChannel(name) && !Object.hasOwn(channels, name),
  );
  if (unknown.length > 0)
    return `The thread has values that this graph does not know, and a write would drop them: ${unknown.join(", ")}. Name the graph that the thread belongs to.`;
  const ran = latestNodes(checkpoint);
  if (ran.length > 0 && !ran.some((name) => Object.hasOwn(nodes, name)))
    return `Another graph has run the thread: its nodes were ${ran.join(", ")}, and this graph has none of them. Name the graph that the thread belongs to.`;
  const entry = unreachedEntry(graph, checkpoint);
  const missing = Object.keys(channels).filter(
    (name) => isOwnChannel(name) && !(name in channel_values) && hasDefault(channels[name]),
  );
  if (entry !== undefined && missing.length > 0)
    return `Another graph has run the thread: each run of this graph begins at ${entry}, where the thread has never been, and a write would add values to it: ${missing.join(", ")}. Name the graph that the thread belongs to. If your graph has changed since, name it as it was.`;
  return undefined;
}

/**
 * The first node of each of the graph's runs, if the thread had runs and none reached it. A node that was added later
 * proves nothing: a middleware can bring it, and its threads may be repaired.
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

/** Whether each checkpoint of a graph with this channel can have its value, even if nobody wrote one. */
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

/** A thread, named in either way. */
export type ThreadPlace = GraphThread | StoreThread;

export const storeRule = {
  schema: z.custom<ThreadStore>((value) => hasMethods(value, "read", "threads", "write")),
  expects: "a store of threads",
  hint: hintAtStore,
} satisfies Rule;

export function hintAtStore(value: unknown): string {
  if (isGraph(value)) return " Did you mean `createGraphStore({ graph })`?";
  return hintAtPromise(value) || " `createGraphStore({ graph })` makes one.";
}

const threadRef = {
  schema: z.object({ threadId: z.string().min(1), namespace: z.string().optional() }),
  expects: "an object with a `threadId`",
} satisfies Rule;

const A_PLACE = "a thread's place: `{ graph, config }` or `{ store, ref }`";

/** The end of an error message for what is not a place. */
export function hintAtPlace(value: unknown): string {
  return isGraph(value) ? " Did you mean `{ graph, config }`?" : hintAtPromise(value);
}

/** Whether the value names a thread, rightly or wrongly. */
export function isPlace(value: unknown): value is ThreadPlace {
  return isRecord(value) && !isGraph(value) && ("graph" in value || "store" in value);
}

/** @throws InvalidSettingError if the graph, its config, the store or its reference cannot be used. */
export function storeThreadOf(place: ThreadPlace): StoreThread {
  if (!isPlace(place)) throw InvalidSettingError.expected("place", A_PLACE, place, hintAtPlace(place));
  if ("store" in place) {
    const { store, ref } = place;
    checkGiven("store", store, storeRule);
    checkGiven("ref", ref, threadRef);
    return { store, ref: { ...ref, namespace: ref.namespace ?? "" } };
  }
  const { config, graph, checkpointer, quietMs } = place;
  const { thread_id: threadId, checkpoint_ns: namespace = "" } = { ...Object(Object(config).configurable) };
  if (typeof threadId !== "string" || threadId === "")
    throw InvalidSettingError.expected("config.configurable.thread_id", "the id of a thread", threadId);
  return {
    store: createGraphStore({ graph, checkpointer, quietMs }),
    ref: { threadId, namespace: String(namespace) },
  };
}
