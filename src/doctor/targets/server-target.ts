/** Threads of a LangGraph server, read and written through its SDK. */

import { recordsIn } from "../../shared/records-in.js";
import { mendsItself } from "../graph/other-graph.js";
import type { StoredMessages, StoredThread, ThreadStatus } from "../stored-thread.js";
import type { ThreadRef, ThreadStore } from "../thread-store.js";
import { importPackage } from "./import-package.js";
import { reasonOf } from "./reason-of.js";
import { hideSecrets, safeAddress } from "./safe-address.js";
import { searchThreads } from "./search-threads.js";
import type {
  AssistantsClient,
  ServedState,
  ServedThread,
  ThreadsClient,
  ThreadsReader,
} from "./served-state.js";
import { endedRunsOf, mayLackResults, openTasksOf, statusCodeOf, waitsForHuman } from "./served-state.js";
import { UsageError } from "./usage-error.js";
import { writeServed } from "./write-served.js";

const SDK = "@langchain/langgraph-sdk";
/** How many states are read for the results of ended runs. */
const STATES_TO_READ = 50;
const TIMEOUT_MS = 60_000;

/** What is read of a state. Servers that do not know the choice send everything. */
export const STATE_FIELDS = ["values.messages", "checkpoint", "created_at", "next", "tasks", "metadata"];

export interface ServerPlace {
  readonly url: string;
  readonly apiKey: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
  readonly folder: string;
  readonly concurrency: number;
}

/** @throws UsageError if there is no LangGraph server at this address, or if it refuses the key. */
export async function openServer({
  url,
  apiKey,
  headers,
  folder,
  concurrency,
}: ServerPlace): Promise<ThreadStore> {
  const { Client } = await importPackage<{
    Client: new (options: object) => { threads: ThreadsClient; assistants: AssistantsClient };
  }>(SDK, { folder, why: "Reading a LangGraph server" });
  const { threads, assistants } = new Client({
    apiUrl: url,
    ...(apiKey !== undefined && { apiKey }),
    defaultHeaders: headers,
    timeoutMs: TIMEOUT_MS,
    callerOptions: { maxRetries: 1, maxConcurrency: concurrency + 1 },
  });
  const target = safeAddress(url);
  const hide = hideSecrets(url, [...(apiKey === undefined ? [] : [apiKey]), ...Object.values(headers)]);
  const known = new Map<unknown, Promise<boolean | undefined>>();
  const mends = (graphId: unknown): Promise<boolean | undefined> => {
    const asked = known.get(graphId) ?? mendsItselfAt(assistants, graphId);
    known.set(graphId, asked);
    return asked;
  };
  let found: unknown;
  try {
    found = await threads.search({ limit: 1, select: ["thread_id"] });
  } catch (error) {
    throw new UsageError(`${target}: ${explain(error, hide)}`);
  }
  if (!Array.isArray(found)) throw new UsageError(`${target}: ${NO_LIST}`);
  return {
    target,
    canWrite: true,
    threads: (selection) => searchThreads(threads, selection),
    read: async (ref) => {
      let graphId: unknown;
      const get = async (threadId: string) => {
        const thread = await threads.get(threadId);
        graphId = thread.metadata?.["graph_id"];
        return thread;
      };
      const reader = {
        get,
        getState: threads.getState.bind(threads),
        getHistory: threads.getHistory.bind(threads),
      };
      try {
        const thread = await readServedThread(reader, ref, hide);
        return { ...thread, mendsItself: await mends(graphId) };
      } catch (error) {
        throw new Error(hide(reasonOf(error)));
      }
    },
    write: (ref, write) => writeServed(threads, ref, write, hide),
    close: async () => {},
  };
}

/** Undefined if the server does not show its graphs. */
async function mendsItselfAt(assistants: AssistantsClient, graphId: unknown): Promise<boolean | undefined> {
  if (typeof graphId !== "string") return undefined;
  const drawn = await assistants.getGraph(graphId).catch(() => undefined);
  return mendsItself(recordsIn(Object(drawn).nodes).map(({ id }) => String(id)));
}

const NO_LIST =
  "there is a server, but no LangGraph server: /threads/search gives no list of threads. Check the address, and whether it asks for a login.";

function explain(error: unknown, hide: (text: string) => string): string {
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

/** @param statesToRead Contract: how many states are read for the results of ended runs, given the latest one. */
export async function readServedThread(
  threads: ThreadsReader,
  ref: ThreadRef,
  hide: (text: string) => string,
  statesToRead: (latest: ServedState) => number = () => STATES_TO_READ,
): Promise<StoredThread> {
  const thread = await threads.get(ref.threadId).catch((error: unknown) => {
    if (statusCodeOf(error) !== 404) throw error;
    return undefined;
  });
  if (thread === undefined) return { ...described(ref, DELETED), content: GONE };
  // What it has now may be half of what its run writes, so a busy thread is not read.
  if (thread.status === "busy") return { ...described(ref, thread), content: { kind: "none" } };
  try {
    const state = await threads.getState(ref.threadId, undefined, { select: STATE_FIELDS });
    const history = await historyOf(threads, ref, state, statesToRead(state));
    return { ...described(ref, thread), ...ofState(state), endedRuns: endedRunsOf(history) };
  } catch (error) {
    if (statusCodeOf(error) !== 500) throw error;
    return readFailing(threads, ref, thread, hide(reasonOf(error)));
  }
}

/**
 * The history is read only if a run has ended early, or if a result may be missing.
 */
async function historyOf(
  threads: ThreadsReader,
  { threadId }: ThreadRef,
  state: ServedState,
  limit: number,
): Promise<readonly ServedState[]> {
  if (limit === 0 || !mayLackResults(state)) return [];
  // Without it there are fewer results to recover, and nothing else changes.
  return threads.getHistory(threadId, { limit, select: STATE_FIELDS }).catch(() => []);
}

/**
 * LangGraph applies the writes of finished tasks when it reads the latest state. If one of them removes an unknown message,
 * that read fails, and the same checkpoint can still be read as a part of the history. The results of finished tasks
 * are there too.
 */
async function readFailing(
  threads: ThreadsReader,
  ref: ThreadRef,
  thread: ServedThread,
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
async function failingHistory(
  threads: ThreadsReader,
  { threadId }: ThreadRef,
): Promise<readonly ServedState[]> {
  for (const limit of [STATES_TO_READ, 1]) {
    try {
      return await threads.getHistory(threadId, { limit, select: STATE_FIELDS });
    } catch (error) {
      if (statusCodeOf(error) !== 500) throw error;
    }
  }
  return [];
}

/** A thread that was listed, and was deleted before it was read. */
const DELETED = { thread_id: "", status: "error", updated_at: "" };
const GONE = { kind: "unreadable", reason: "The server does not have the thread any more (404)." } as const;

function described(
  { threadId }: ThreadRef,
  { status, updated_at }: ServedThread,
): Omit<StoredThread, "content"> {
  return {
    threadId,
    namespace: "",
    checkpointId: undefined,
    updatedAt: updated_at || undefined,
    status: status as ThreadStatus,
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
