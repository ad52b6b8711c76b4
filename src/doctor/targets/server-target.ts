/** The threads of a LangGraph server. */

import type {
  Client,
  Thread,
  ThreadSelectField,
  ThreadState,
  ThreadStateSelectField,
} from "@langchain/langgraph-sdk";
import type { OptionValues } from "commander";
import { unansweredCalls } from "../../history/open-calls.js";
import { coerceMessage } from "../../history/read-messages.js";
import { isMadeUpResult, isPlaceholder } from "../../history/result.js";
import { isRecord, recordsIn } from "../../shared/values.js";
import { readArchive } from "../../threads/archive.js";
import { endsAfterModel } from "../../threads/close-calls.js";
import { mendedBy } from "../graph-store.js";
import type {
  EndedRun,
  OpenTask,
  StoredMessages,
  StoredThread,
  ThreadRef,
  ThreadSelection,
  ThreadStep,
  ThreadStore,
  ThreadWrite,
  WriteOutcome,
} from "../thread-store.js";
import { errorText } from "../thread-store.js";
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
  type Target,
  UsageError,
} from "./target.js";

const SDK = "@langchain/langgraph-sdk";
/** How many states are read for the results of ended runs. */
const STATES_TO_READ = 50;
const TIMEOUT_MS = 60_000;

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

export const serverTarget: Target = {
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
  const { folder, environment, concurrency } = context;
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
    callerOptions: { maxRetries: 1, maxConcurrency: concurrency + 1 },
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

/** The threads that a client of the SDK reaches. */
export function threadsOfClient(
  { threads, assistants, runs, store }: Client,
  target: string,
  hide: HideSecrets = (text) => text,
): ThreadStore {
  const known = new Map<string, Promise<object | undefined>>();
  /** Undefined if the server does not show its graphs. */
  const mends = async (graphId: unknown): Promise<StoredThread["mendedBy"]> => {
    if (typeof graphId !== "string") return undefined;
    const asked = known.get(graphId) ?? assistants.getGraph(graphId).catch(() => undefined);
    known.set(graphId, asked);
    const drawn = await asked;
    return drawn && mendedBy(recordsIn(Object(drawn).nodes).map(({ id }) => String(id)));
  };
  return {
    target,
    canWrite: true,
    threads: (selection) => searchThreads(threads, selection),
    recent: async ({ limit, ...selection }, offset) => {
      const found = await threads.search({
        ...queryOf(selection),
        ...(limit !== undefined && { limit }),
        offset,
        sortBy: "updated_at",
        sortOrder: "desc",
        select: LISTED_FIELDS,
      });
      return found.map(({ thread_id: threadId, status, metadata }) => ({
        threadId,
        status,
        metadata: { ...metadata },
      }));
    },
    steps: async ({ threadId }, { from, limit }) => {
      const options = { select: STATE_FIELDS };
      if (from === undefined)
        return (await threads.getHistory(threadId, { ...options, limit })).flatMap(toStep);
      const [first] = toStep(await threads.getState(threadId, from, options));
      // The server has an empty state for each id that is not a checkpoint.
      if (first?.checkpointId !== from || first.messages === undefined) return [];
      // The server takes the id of a checkpoint too.
      const before = { ...options, limit: limit - 1, before: from as never };
      const earlier = limit > 1 ? await threads.getHistory(threadId, before) : [];
      return [first, ...earlier.flatMap(toStep)];
    },
    contextOfRun: async ({ threadId }, runId) => {
      const run = await runs.get(threadId, runId).catch(() => undefined);
      const context: unknown = Object(Object(run).kwargs).context;
      return isRecord(context) ? context : undefined;
    },
    archived: ({ threadId }, ids) =>
      readArchive({ get: (namespace, key) => store.getItem(namespace, key) }, threadId, ids),
    read: async (ref, { earlierMessages = Number.POSITIVE_INFINITY } = {}) => {
      try {
        const thread = await findThread(threads, ref.threadId);
        const read = await readServedThread(threads, ref, thread, hide, earlierMessages);
        return { ...read, mendedBy: await mends(thread?.metadata?.["graph_id"]) };
      } catch (error) {
        throw Object.assign(new Error(hide(reasonOf(error))), { status: statusCodeOf(error) });
      }
    },
    write: (ref, write) => writeServed(threads, ref, write, hide),
    close: async () => {},
  };
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
  // The SDK puts advice around the reason, which is known here.
  const reason = hide(reasonOf(error)).replace(/^.*Original error: /, "");
  return `there is no server: ${reason === "fetch failed" ? "nothing answers at this address" : reason}.`;
}

/** The threads come without their state, which has all of their messages. */
const LISTED_FIELDS: ThreadSelectField[] = ["thread_id", "updated_at", "metadata", "status"];

/** Undefined if it was deleted after it was listed. */
async function findThread(threads: Threads, threadId: string): Promise<Thread | undefined> {
  const [listed] = await threads.search({ ids: [threadId], limit: 1, select: LISTED_FIELDS });
  if (listed?.thread_id === threadId) return listed;
  // An older server knows no search by id.
  return threads.get(threadId).catch(undefinedFor(404));
}

async function readServedThread(
  threads: Threads,
  ref: ThreadRef,
  thread: Thread | undefined,
  hide: HideSecrets,
  earlierMessages: number,
): Promise<StoredThread> {
  if (thread === undefined) return { ...described(ref), content: GONE };
  // What it has now may be half of what its run writes, so a busy thread is not read.
  if (thread.status === "busy") return { ...described(ref, thread), content: { kind: "none" } };
  try {
    const state = await threads.getState(ref.threadId, undefined, { select: STATE_FIELDS });
    const history = await historyOf(threads, ref, state, earlierMessages);
    return { ...described(ref, thread), ...ofState(state), endedRuns: endedRunsOf(history) };
  } catch (error) {
    if (statusCodeOf(error) === 404) return { ...described(ref), content: GONE };
    if (statusCodeOf(error) !== 500) throw error;
    return readFailing(threads, ref, thread, hide(reasonOf(error)));
  }
}

/**
 * The history is read only if a run has ended early, or if a result may be missing.
 */
async function historyOf(
  threads: Threads,
  { threadId }: ThreadRef,
  state: ServedState,
  earlierMessages: number,
): Promise<readonly ServedState[]> {
  if (earlierMessages === 0 || !mayLackResults(state)) return [];
  // Each state has the whole history. The latest one and the one before tell what the last run left.
  const states = Math.floor(earlierMessages / (messagesIn(state.values).length + 1));
  const limit = Math.min(STATES_TO_READ, Math.max(2, states));
  // Without it there are fewer results to recover, and nothing else changes.
  return threads.getHistory(threadId, { limit, select: STATE_FIELDS }).catch(() => []);
}

/**
 * LangGraph applies the writes of finished tasks when it reads the latest state. If one of them removes an unknown message,
 * that read fails, and the same checkpoint can still be read as a part of the history. The results of finished tasks
 * are there too.
 */
async function readFailing(
  threads: Threads,
  ref: ThreadRef,
  thread: Thread,
  reason: string,
): Promise<StoredThread> {
  const states = await failingHistory(threads, ref);
  const [state] = states;
  if (state === undefined) {
    const kind = /removal|delet(?:e|ing) a message/i.test(reason) ? "bricked" : "unreadable";
    const said = kind === "bricked" ? reason : `${reason}. The log of the server says why.`;
    return { ...described(ref, thread), content: { kind, reason: said, messages: undefined } };
  }
  const { content, ...rest } = ofState(state);
  const messages = content.kind === "read" ? content.messages : undefined;
  return {
    ...described(ref, thread),
    ...rest,
    endedRuns: endedRunsOf(states),
    content: { kind: "bricked", reason, messages },
  };
}

/** If an earlier state cannot be read, the latest one may still be readable. Empty if nothing is. */
async function failingHistory(threads: Threads, { threadId }: ThreadRef): Promise<readonly ServedState[]> {
  const read = (limit: number) =>
    threads.getHistory(threadId, { limit, select: STATE_FIELDS }).catch(undefinedFor(500));
  return (await read(STATES_TO_READ)) ?? (await read(1)) ?? [];
}

const GONE = { kind: "unreadable", reason: "The server does not have the thread any more (404)." } as const;

/** @param thread Undefined: it is gone. */
function described({ threadId }: ThreadRef, thread?: Thread): Omit<StoredThread, "content"> {
  return {
    threadId,
    namespace: "",
    checkpointId: undefined,
    updatedAt: thread?.updated_at || undefined,
    status: thread?.status ?? "error",
    endedRuns: [],
    openTasks: undefined,
    otherChannels: [],
  };
}

function ofState(state: ServedState) {
  const messages: unknown = Object(state.values)["messages"];
  const content: StoredMessages = Array.isArray(messages) ? { kind: "read", messages } : { kind: "none" };
  return {
    content,
    checkpointId: state.checkpoint?.checkpoint_id ?? undefined,
    openTasks: openTasksOf(state),
    ...(waitsForHuman(state) && { status: "interrupted" as const }),
    otherChannels: Object.keys(Object(state.values)).filter((name) => name !== "messages"),
  };
}

/*
 * The state of a thread as a LangGraph server sends it.
 */

type Threads = Client["threads"];
/** Older servers, and files, leave out fields. */
export type ServedState = Partial<ThreadState<unknown>>;
type ServedTask = ThreadState["tasks"][number];

/** The status of the response that an error of the SDK is about; undefined for another error. */
const statusCodeOf = (error: unknown): unknown => Object(error).status;

/** Makes a handler that gives undefined for an error with this status, and throws every other one. */
const undefinedFor = (status: number) => (error: unknown) => {
  if (statusCodeOf(error) !== status) throw error;
  return undefined;
};

export function openTasksOf(state: ServedState): OpenTask[] {
  return tasksIn(state)
    .filter(({ result }) => result == null)
    .map((task) => ({
      id: task.id,
      node: task.name,
      error: task.error ?? undefined,
      interrupts: recordsIn(task.interrupts).map(({ value }) => value),
    }));
}

export function waitsForHuman(state: ServedState): boolean {
  return tasksIn(state).some(({ interrupts }) => Array.isArray(interrupts) && interrupts.length > 0);
}

/** A file can have anything. */
function tasksIn({ tasks }: ServedState): readonly ServedTask[] {
  return recordsIn(tasks) as unknown as readonly ServedTask[];
}

/** Whether the history may have results that the state does not have. */
function mayLackResults(state: ServedState): boolean {
  const messages = messagesIn(state.values);
  const { dangling, pending } = unansweredCalls(messages);
  const isStopped = (state.next ?? []).length > 0 && !waitsForHuman(state);
  return (
    isStopped ||
    dangling.length + pending.length > 0 ||
    messages.some((message) => isPlaceholder(message) || isMadeUpResult(message))
  );
}

/**
 * What the finished tasks of ended runs wrote, the oldest first.
 *
 * @param states The history, the latest state first.
 */
export function endedRunsOf(states: readonly ServedState[]): EndedRun[] {
  return states
    .flatMap((state, index): EndedRun[] => {
      // The state that follows has the writes of its tasks, unless new input discarded them.
      const isDiscarded = states[index - 1]?.metadata?.["source"] === "input";
      const checkpointId = state.checkpoint?.checkpoint_id;
      if (checkpointId == null || (index > 0 && !isDiscarded)) return [];
      const results = tasksIn(state).flatMap(({ result }) => (isRecord(result) ? [result] : []));
      const written = results.flatMap((result) => [result["messages"] ?? []].flat());
      const others = results.flatMap(Object.keys).filter((name) => name !== "messages");
      const interrupts = tasksIn(state).flatMap((task) => recordsIn(task.interrupts));
      const nodes = state.next ?? [];
      if (written.length + others.length + interrupts.length === 0 && !endsAfterModel(nodes)) return [];
      return [
        {
          checkpointId,
          fate: index === 0 ? "pending" : "discarded",
          history: messagesIn(state.values),
          written,
          interrupts,
          nodes,
          unstarted: [],
          removed: new Set(),
          otherChannels: [...new Set(others)],
        },
      ];
    })
    .toReversed();
}

/**
 * What finished tasks of a state wrote to other keys than `messages`. A key that several of them wrote is left out,
 * because one update cannot repeat what its reducer made of them.
 */
function otherWritesOf(state: ServedState): Record<string, unknown> {
  const written = tasksIn(state)
    .flatMap(({ result }) => (isRecord(result) ? Object.entries(result) : []))
    .filter(([name]) => name !== "messages");
  const names = written.map(([name]) => name);
  return Object.fromEntries(written.filter(([name]) => names.indexOf(name) === names.lastIndexOf(name)));
}

/**
 * A message as it is sent, so that the server sends it back with the same bytes. LangChain gives a message without invalid
 * calls an empty list of them, after its calls. A list that is sent comes before them.
 */
function asSent(message: unknown): unknown {
  if (!isRecord(message)) return message;
  const { invalid_tool_calls, ...rest } = message;
  const names = Object.keys(message);
  const isAfter = names.indexOf("tool_calls") < names.indexOf("invalid_tool_calls");
  return isAfter && Array.isArray(invalid_tool_calls) && invalid_tool_calls.length === 0 ? rest : message;
}

function messagesIn(values: unknown) {
  const messages: unknown = Object(values)["messages"];
  return Array.isArray(messages) ? messages.flatMap((value) => coerceMessage(value) ?? []) : [];
}

/*
 * Writes the messages of a thread of a LangGraph server.
 */

const REMOVE_ALL = "__remove_all__";

/** See `ThreadStore.write`. */
async function writeServed(
  threads: Threads,
  { threadId }: ThreadRef,
  { expectedCheckpointId, messages, asNode }: ThreadWrite,
  hide: HideSecrets,
): Promise<WriteOutcome> {
  const { status } = await threads.get(threadId);
  if (status === "busy") return { kind: "busy" };
  const { id: head, failing } = await headOf(threads, threadId);
  if (head !== expectedCheckpointId) return { kind: "moved", checkpointId: head };
  const list = [{ type: "remove", id: REMOVE_ALL, content: "" }, ...messages.map(asSent)];
  try {
    const written = await threads.updateState(threadId, {
      values: { ...(failing && otherWritesOf(failing)), messages: list },
      // A write to a named checkpoint does not apply the pending writes, of which one makes the thread unreadable.
      ...(failing && head !== undefined && { checkpointId: head }),
      ...(asNode !== undefined && { asNode }),
    });
    return { kind: "written", checkpointId: Object(Object(written).checkpoint).checkpoint_id ?? undefined };
  } catch (error) {
    if (statusCodeOf(error) === 409) return { kind: "busy" };
    const status = statusCodeOf(error);
    if (typeof status !== "number") throw new Error(hide(reasonOf(error)));
    // A server can quote what it refuses, which is the messages.
    const about =
      asNode === undefined ? "If it asks for a node, name one" : `It may not know the node \`${asNode}\``;
    throw new Error(
      `The server answers ${status}, and its log says why. ${about}: --as-node (\`asNode\` in the library).`,
    );
  }
}

async function headOf(
  threads: Threads,
  threadId: string,
): Promise<{ readonly id: string | undefined; readonly failing?: ServedState | undefined }> {
  const idOf = (state: ServedState | undefined) => state?.checkpoint?.checkpoint_id ?? undefined;
  const state = await threads
    .getState(threadId, undefined, { select: ["checkpoint"] })
    .catch(undefinedFor(500));
  if (state !== undefined) return { id: idOf(state) };
  const [failing] = await threads.getHistory(threadId, { limit: 1, select: ["checkpoint", "tasks"] });
  return { id: idOf(failing), failing };
}

/*
 * Finds the threads of a LangGraph server, page by page.
 */

const PAGE = 100;
/** How often pages may move before another thread is found. */
const MOST_RESTARTS = 20;

const queryOf = ({ threadIds, metadata, status }: ThreadSelection) => ({
  ...(threadIds !== undefined && { ids: [...threadIds] }),
  ...(metadata !== undefined && { metadata }),
  ...(status !== undefined && { status }),
});

/** The oldest threads come first, so a thread that is made meanwhile moves no other one to another page. */
async function* searchThreads(threads: Threads, selection: ThreadSelection): AsyncGenerator<ThreadRef> {
  const { since, limit = Number.POSITIVE_INFINITY } = selection;
  const seen = new Set<string>();
  let count = 0;
  let offset = 0;
  let last: string | undefined;
  let restarts = 0;
  for (;;) {
    const page = await threads.search({
      ...queryOf(selection),
      sortBy: "created_at",
      sortOrder: "asc",
      limit: PAGE,
      offset,
      select: ["thread_id", "updated_at"],
    });
    // A page begins with the last thread of the page before. If it does not, a thread was deleted meanwhile, and
    // others may have moved to an earlier page.
    if (last !== undefined && page[0]?.thread_id !== last) {
      restarts += 1;
      if (restarts > MOST_RESTARTS)
        throw new Error("The server lists its threads in another order with each request.");
      offset = Math.max(0, offset - PAGE);
      last = undefined;
      continue;
    }
    for (const { thread_id, updated_at } of page) {
      if (seen.has(thread_id)) continue;
      seen.add(thread_id);
      restarts = 0;
      if (since !== undefined && Date.parse(updated_at) < since.getTime()) continue;
      if (count === limit) return;
      count += 1;
      yield { threadId: thread_id, namespace: "" };
    }
    if (page.length < PAGE) return;
    offset += page.length - 1;
    last = page.at(-1)?.thread_id;
  }
}

function toStep(state: ServedState): ThreadStep[] {
  const { checkpoint, parent_checkpoint, created_at, metadata, values, next = [] } = state;
  const messages: unknown = Object(values).messages;
  if (checkpoint?.checkpoint_id == null) return [];
  return [
    {
      checkpointId: checkpoint.checkpoint_id,
      parentId: parent_checkpoint?.checkpoint_id ?? undefined,
      createdAt: created_at ?? undefined,
      metadata: metadata ?? {},
      messages: Array.isArray(messages) ? messages : undefined,
      next,
      tasks: tasksIn(state).map(({ name, result, error }) => ({
        node: name,
        result,
        error: error == null ? undefined : errorText(error),
      })),
    },
  ];
}
