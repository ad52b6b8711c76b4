/** The threads of a LangGraph server. */

import type {
  Client,
  Thread,
  ThreadSelectField,
  ThreadState,
  ThreadStateSelectField,
} from "@langchain/langgraph-sdk";
import type { OptionValues } from "commander";
import { REMOVE_ALL_MESSAGES } from "../../history/message.js";
import { unansweredCalls } from "../../history/open-calls.js";
import { isPlaceholder } from "../../history/result.js";
import { defined, isRecord, madeOnce, recordsIn } from "../../shared/values.js";
import { isOfUpdate } from "../../threads/langgraph/read-checkpoints.js";
import { MESSAGES } from "../../threads/langgraph/swap-channel.js";
import {
  listsIn,
  messagesInState,
  nodesBeforeModel,
  repairedBy,
  resultsIn,
  type ShownState,
  stepTasksOf,
  threadOfState,
  waitsForHuman,
} from "../shown-state.js";
import {
  type FoundThread,
  type ListedThread,
  type ReadBounds,
  type StoredThread,
  selectThreads,
  storedListOf,
  type ThreadSelection,
  type ThreadStep,
  type ThreadStore,
  type ThreadWrite,
  unreadableThread,
  type WriteOutcome,
} from "../thread-store.js";
import {
  type HideSecrets,
  hideSecrets,
  importPackage,
  type OpenContext,
  optionOf,
  type Pair,
  readPairs,
  reasonOf,
  safeAddress,
  type TargetKind,
  THREADS_AT_ONCE,
  UsageError,
} from "./target.js";

const SDK = "@langchain/langgraph-sdk";
const TIMEOUT_MS = 60_000;

export const serverTarget: TargetKind = {
  option: optionOf(
    "--url <ADDRESS>",
    "A LangGraph server. Needs the package @langchain/langgraph-sdk.",
    readAddress,
  ),
  further: [
    optionOf(
      "--api-key-env <NAME>",
      "The environment variable with the server's API key. Default: LANGGRAPH_API_KEY, LANGSMITH_API_KEY or LANGCHAIN_API_KEY.",
    ),
    optionOf(
      "--header <KEY=VALUE>",
      "A header of each request to the server. Can be given more than once.",
      readPairs("--header"),
    ),
  ],
  canWrite: true,
  open: openServer,
  fromReceipt: (target) => (/^https?:/.test(target) ? { url: target } : undefined),
};

function readAddress(text: string): string {
  if (URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)) return text;
  throw new UsageError("Expected --url to be an address such as http://localhost:2024.");
}

async function openServer(place: OptionValues, context: OpenContext): Promise<ThreadStore> {
  const { url, apiKeyEnv, header = [] } = place as { url: string; apiKeyEnv?: string; header?: Pair[] };
  const { folder, environment } = context;
  const apiKey = apiKeyEnv === undefined ? undefined : environment[apiKeyEnv];
  if (apiKeyEnv !== undefined && !apiKey)
    throw new UsageError(`The environment variable ${apiKeyEnv} of --api-key-env is not set.`);
  const headers = Object.fromEntries(header);
  const why = "Reading a LangGraph server";
  const { Client } = await importPackage<typeof import("@langchain/langgraph-sdk")>(SDK, { folder, why });
  const client = new Client({
    apiUrl: url,
    ...(apiKey !== undefined && { apiKey }),
    defaultHeaders: headers,
    timeoutMs: TIMEOUT_MS,
    callerOptions: { maxRetries: 1, maxConcurrency: THREADS_AT_ONCE + 1 },
  });
  const target = safeAddress(url);
  const hide = hideSecrets(url, [...(apiKey === undefined ? [] : [apiKey]), ...Object.values(headers)]);
  const search = client.threads.search({ limit: 1, select: ["thread_id"] });
  const found: unknown = await search.catch((error: unknown) => {
    throw new UsageError(`${target}: ${explain(error, hide)}`);
  });
  if (!Array.isArray(found)) throw new UsageError(`${target}: ${NO_LIST}`);
  return threadsOfClient(client, target, hide);
}

const NO_LIST =
  "there is a server, but no LangGraph server: /threads/search gives no list of threads. Check the address, and whether it asks for a login.";

function explain(error: unknown, hide: HideSecrets): string {
  const status = statusCodeOf(error);
  if (status === 401 || status === 403)
    return `the server refuses the request (${status}). Name the variable with the key: --api-key-env NAME, or add a header: --header authorization="Bearer …".`;
  if (status === 404)
    return "there is a server, but no LangGraph server: it has no /threads/search (404). Check the address.";
  if (Object(error).name === "SyntaxError") return NO_LIST;
  if (typeof status === "number") return `the server answers ${status}: ${hide(reasonOf(error))}`;
  // The SDK wraps the reason in advice. Here the reason is known.
  const reason = hide(reasonOf(error)).replace(/^.*Original error: /, "");
  return `there is no server: ${reason === "fetch failed" ? "nothing answers at this address" : reason}.`;
}

type Threads = Client["threads"];

/** The HTTP status in an SDK error; undefined for other errors. */
const statusCodeOf = (error: unknown): unknown => Object(error).status;

/** Makes a handler that returns undefined for an error with this status, and throws every other one. */
const undefinedFor = (status: number) => (error: unknown) => {
  if (statusCodeOf(error) !== status) throw error;
  return undefined;
};

/** The threads that an SDK client reaches. */
export function threadsOfClient(
  { threads, assistants, runs }: Client,
  target: string,
  hide: HideSecrets = (text) => text,
): ThreadStore {
  /** The channels of messages of the threads that were read, if they are not `messages`. */
  const channels = new Map<string, string>();
  const repairs = new Map<string, Promise<Pick<StoredThread, "repairedBy" | "nodesBefore">>>();
  /** Undefined if the server does not show its graphs. */
  const repairedByGraph = (graphId: unknown) => {
    if (typeof graphId !== "string") return {};
    return madeOnce(repairs, graphId, () =>
      assistants.getGraph(graphId).then(
        (drawn) => ({
          repairedBy: repairedBy(recordsIn(Object(drawn).nodes).map(({ id }) => String(id))),
          nodesBefore: nodesBeforeModel(drawn),
        }),
        () => ({}),
      ),
    );
  };
  return {
    target,
    canWrite: true,
    knowsRuns: true,
    unseen:
      "A server does not show the states that subgraphs keep, results that came after the end of their run, or the text of a response that was cut. They were not looked at.",
    threads: (selection) => selectThreads(listThreads(threads, selection), selection),
    recent: async ({ limit, ...selection }, offset, order = "changed"): Promise<readonly ListedThread[]> => {
      const page = { ...(limit !== undefined && { limit }), offset, select: LISTED_FIELDS };
      const sortBy = order === "created" ? "created_at" : "updated_at";
      const latest = { sortBy, sortOrder: "desc" } as const;
      const found = await searchThreads(threads, selection, { ...latest, ...page });
      return found.map(({ thread_id, status, created_at, metadata }) => ({
        threadId: thread_id,
        status,
        createdAt: Date.parse(created_at),
        metadata: { ...metadata },
      }));
    },
    // Older servers and clients do not count.
    count: async (selection) => {
      try {
        return await threads.count(queryOf(selection));
      } catch {
        return undefined;
      }
    },
    steps: async ({ threadId }, { from, limit }) => {
      const channel = channels.get(threadId);
      const own: ThreadStateSelectField[] = channel === undefined ? [] : [`values.${channel}`];
      const options = { select: [...STATE_FIELDS, ...own] };
      if (from === undefined)
        return (await threads.getHistory(threadId, { ...options, limit })).flatMap(toStep);
      const [first] = toStep(await threads.getState(threadId, from, options));
      // For an id that is not a checkpoint, the server returns an empty state.
      if (first?.checkpointId !== from || first.messages === undefined) return [];
      // The server also takes a checkpoint's id.
      const before = { ...options, limit: limit - 1, before: from as never };
      const earlier = limit > 1 ? await threads.getHistory(threadId, before) : [];
      return [first, ...earlier.flatMap(toStep)];
    },
    queuedRuns: async ({ threadId }) => {
      const waiting = runs.list(threadId, { status: "pending", limit: PAGE });
      return (await waiting.catch(() => [])).length;
    },
    contextOfRun: async ({ threadId }, runId) => {
      const run = await runs.get(threadId, runId).catch(() => undefined);
      const context: unknown = Object(Object(run).kwargs).context;
      return isRecord(context) ? context : undefined;
    },
    read: async ({ threadId }, bounds) => {
      try {
        const thread = await findThread(threads, threadId);
        const read = await readServedThread(threads, threadId, thread, hide, bounds);
        const { channel = MESSAGES } = read;
        if (channel !== MESSAGES) channels.set(threadId, channel);
        return { ...read, ...(await repairedByGraph(thread?.metadata?.["graph_id"])) };
      } catch (error) {
        throw Object.assign(new Error(hide(reasonOf(error))), { status: statusCodeOf(error) });
      }
    },
    write: ({ threadId }, write) => writeServedThread(threads, threadId, write, hide),
    close: async () => {},
  };
}

/*
 * Finds the threads without their states, which contain all messages.
 */

const PAGE = 100;
const LISTED_FIELDS: ThreadSelectField[] = ["thread_id", "created_at", "updated_at", "metadata", "status"];

const queryOf = ({ threadIds, metadata, status }: ThreadSelection) =>
  defined({ ids: threadIds && [...threadIds], metadata, status });

/** The ids of LangGraph's own server. */
export const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/**
 * A server refuses ids that none of its threads can have, with all others in the request. Those are then requested
 * alone.
 */
async function searchThreads(
  threads: Threads,
  selection: ThreadSelection,
  page: Parameters<Threads["search"]>[0],
): Promise<Thread[]> {
  const { threadIds = [] } = selection;
  const possible = threadIds.filter((id) => UUID.test(id));
  try {
    return await threads.search({ ...queryOf(selection), ...page });
  } catch (error) {
    const isAboutIds = possible.length < threadIds.length && [400, 422].includes(Number(statusCodeOf(error)));
    if (!isAboutIds) throw error;
    // Without any id the search could select all threads.
    if (possible.length === 0) return [];
    return threads.search({ ...queryOf({ ...selection, threadIds: possible }), ...page });
  }
}

/**
 * Oldest threads come first, so a new one moves no other. A deleted one moves others to a page that was already read,
 * so the list is read twice.
 */
async function* listThreads(threads: Threads, selection: ThreadSelection): AsyncGenerator<FoundThread> {
  const oldest = { sortBy: "created_at", sortOrder: "asc", select: LISTED_FIELDS, limit: PAGE } as const;
  const met = new Set<string>();
  for (const _ of ["first", "second"])
    for (let offset = 0; offset <= met.size; offset += PAGE) {
      const page = await searchThreads(threads, selection, { ...oldest, offset });
      for (const { thread_id: threadId, updated_at, status } of page) {
        if (met.has(threadId)) continue;
        met.add(threadId);
        if (selection.isUnfinished && status === "idle" && (await isAtEnd(threads, threadId))) continue;
        yield { threadId, namespace: "", changedAt: Date.parse(updated_at) };
      }
      if (page.length < PAGE) break;
    }
}

/** Whether a thread has nothing left to do. A server also calls a thread idle whose run was cancelled. */
async function isAtEnd(threads: Threads, threadId: string): Promise<boolean> {
  const select: ThreadStateSelectField[] = ["next", "tasks", "metadata"];
  const state = await threads.getState(threadId, undefined, { select }).catch(() => undefined);
  if (state === undefined) return false;
  const { next = [], tasks = [], metadata } = state;
  return isOfUpdate(metadata ?? undefined) || next.length + tasks.length === 0;
}

/** Undefined if it was deleted after it was listed. */
async function findThread(threads: Threads, threadId: string): Promise<Thread | undefined> {
  const [listed] = await threads.search({ ids: [threadId], limit: 1, select: LISTED_FIELDS });
  if (listed?.thread_id === threadId) return listed;
  // An older server has no search by id.
  return threads.get(threadId).catch(undefinedFor(404));
}

/*
 * Reads a thread.
 */

/** How many states are read to find ended runs' results. */
const STATES_TO_READ = 50;

/** What is read of a state. Servers that do not know the choice send everything. */
const STATE_FIELDS: ThreadStateSelectField[] = [
  "values.messages",
  "checkpoint",
  "parent_checkpoint",
  "created_at",
  "next",
  "tasks",
  "metadata",
];

const GOES_ON =
  "The server says that a run is going on. If it was stopped during a run, the thread can stay busy for ever, and refuses messages with status 422: continue with a copy (`client.threads.copy`), and delete the thread.";
const GONE = "The server does not have the thread any more (404).";

/** @param thread Undefined: it is gone. */
async function readServedThread(
  threads: Threads,
  threadId: string,
  thread: Thread | undefined,
  hide: HideSecrets,
  { earlierMessages = Number.POSITIVE_INFINITY }: ReadBounds = {},
): Promise<StoredThread> {
  const gone = unreadableThread({ threadId, namespace: "" }, GONE);
  if (thread === undefined) return gone;
  const { status, updated_at } = thread;
  const unread = { ...gone, status, updatedAt: updated_at || undefined };
  // A busy thread may hold half of what its run writes, so it is not read.
  if (status === "busy") return { ...unread, content: { kind: "none" }, mayRun: GOES_ON };
  const read = (state: ShownState, history: readonly ShownState[]): StoredThread => ({
    ...unread,
    ...threadOfState(threadId, state, history),
    ...(!waitsForHuman(state) && { status }),
  });
  const readHistory = (limit: number) => threads.getHistory(threadId, { limit, select: STATE_FIELDS });
  try {
    const state = await threads.getState(threadId, undefined, { select: [...STATE_FIELDS, "values"] });
    if (earlierMessages === 0 || !mayLackResults(state)) return read(state, []);
    // Each state has the whole history. The latest two tell what the last run left.
    const states = Math.floor(earlierMessages / (messagesInState(state).length + 1));
    // Without it, fewer results can be recovered, and nothing else changes.
    const history = await readHistory(Math.min(STATES_TO_READ, Math.max(2, states))).catch(() => []);
    return read(state, history);
  } catch (error) {
    if (statusCodeOf(error) === 404) return gone;
    if (statusCodeOf(error) !== 500) throw error;
    // LangGraph applies finished tasks' writes when it reads the latest state. If one removes an unknown message, that
    // read fails, but the history still has the same checkpoint.
    const reason = hide(reasonOf(error));
    const failing = undefinedFor(500);
    // If an earlier state cannot be read, the latest one may still be readable.
    const history =
      (await readHistory(STATES_TO_READ).catch(failing)) ?? (await readHistory(1).catch(failing));
    const [state] = history ?? [];
    if (history === undefined || state === undefined)
      return {
        ...unread,
        content: { kind: "unreadable", reason: `${reason}. The log of the server says why.` },
      };
    const shown = read(state, history);
    return { ...shown, content: { kind: "bricked", reason, messages: storedListOf(shown) } };
  }
}

/** Whether the history may have results that the state lacks. */
function mayLackResults(state: ShownState): boolean {
  const messages = messagesInState(state);
  const { all } = unansweredCalls(messages);
  const isStopped = (state.next ?? []).length > 0 && !waitsForHuman(state);
  return isStopped || all.length > 0 || messages.some(isPlaceholder);
}

function toStep(state: ThreadState<unknown>): ThreadStep[] {
  const { checkpoint, parent_checkpoint, created_at, metadata, values, next = [], tasks } = state;
  if (checkpoint?.checkpoint_id == null) return [];
  return [
    {
      checkpointId: checkpoint.checkpoint_id,
      parentId: parent_checkpoint?.checkpoint_id ?? undefined,
      createdAt: created_at ?? undefined,
      metadata: metadata ?? {},
      messages: listsIn(values).messages,
      next,
      tasks: stepTasksOf(tasks),
    },
  ];
}

/*
 * Writes the messages of a thread.
 */

/** See `ThreadStore.write`. */
async function writeServedThread(
  threads: Threads,
  threadId: string,
  { expectedCheckpointId, messages }: ThreadWrite,
  hide: HideSecrets,
): Promise<WriteOutcome> {
  if ((await findThread(threads, threadId))?.status === "busy") return { kind: "busy" };
  const state = await threads
    .getState(threadId, undefined, { select: ["checkpoint"] })
    .catch(undefinedFor(500));
  const fields = { limit: 1, select: ["checkpoint", "tasks"] } satisfies Parameters<Threads["getHistory"]>[1];
  const [failing] = state === undefined ? await threads.getHistory(threadId, fields) : [];
  const head = (state ?? failing)?.checkpoint?.checkpoint_id ?? undefined;
  if (head !== expectedCheckpointId) return { kind: "moved", checkpointId: head };
  const list = [{ type: "remove", id: REMOVE_ALL_MESSAGES, content: "" }, ...messages.map(asSent)];
  try {
    const written = await threads.updateState(threadId, {
      values: { ...(failing && otherWritesOf(failing)), messages: list },
      // A write to a named checkpoint does not apply the pending writes, one of which makes the thread unreadable.
      ...(failing && head !== undefined && { checkpointId: head }),
    });
    return { kind: "written", checkpointId: Object(Object(written).checkpoint).checkpoint_id ?? undefined };
  } catch (error) {
    const status = statusCodeOf(error);
    if (status === 409) return { kind: "busy" };
    if (typeof status !== "number") throw new Error(hide(reasonOf(error)));
    // A server can quote what it refuses: the messages.
    throw new Error(`The server answers ${status}, and its log says why.`);
  }
}

/**
 * What a state's finished tasks wrote to keys other than `messages`. A key that several wrote is left out, because one
 * update cannot repeat what its reducer made.
 */
function otherWritesOf(state: ShownState): Record<string, unknown> {
  const written = resultsIn(state).flatMap(Object.entries<unknown>);
  const times = new Map<string, number>();
  for (const [name] of written) times.set(name, (times.get(name) ?? 0) + 1);
  return Object.fromEntries(written.filter(([name]) => times.get(name) === 1));
}

/**
 * A message as it is sent, so that the server sends it back with the same bytes. LangChain adds fields that a message
 * was made without, after its calls. Where they are sent, they come before the calls.
 */
function asSent(message: unknown): unknown {
  if (!isRecord(message)) return message;
  const fields = Object.entries(message);
  const calls = fields.findIndex(([name]) => name === "tool_calls");
  const isAdded = (name: string, value: unknown) =>
    ADDED.has(name) && typeof value === "object" && value !== null && Object.keys(value).length === 0;
  return Object.fromEntries(
    fields.filter(([name, value], place) => calls === -1 || place < calls || !isAdded(name, value)),
  );
}

const ADDED: ReadonlySet<string> = new Set(["invalid_tool_calls", "additional_kwargs", "response_metadata"]);
