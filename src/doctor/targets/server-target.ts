/** Threads of a LangGraph server, read and written through its SDK. */

import type { StoredMessages, StoredThread, ThreadStatus } from "../stored-thread.js";
import type { ThreadRef, ThreadSelection, ThreadStore, ThreadWrite, WriteOutcome } from "../thread-store.js";
import { importPackage } from "./import-package.js";
import { reasonOf } from "./reason-of.js";
import { hideSecrets, safeAddress } from "./safe-address.js";
import type { ServedState, ServedThread, ThreadsClient, ThreadsReader } from "./served-state.js";
import { endedRunsOf, mayLackResults, openTasksOf, waitsForHuman } from "./served-state.js";
import { UsageError } from "./usage-error.js";

const SDK = "@langchain/langgraph-sdk";
const PAGE = 100;
/** How many states are read for the results of ended runs. */
const STATES_TO_READ = 50;
const TIMEOUT_MS = 60_000;
const REMOVE_ALL = "__remove_all__";

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
  const { Client } = await importPackage<{ Client: new (options: object) => { threads: ThreadsClient } }>(
    SDK,
    {
      folder,
      why: "Reading a LangGraph server",
    },
  );
  const { threads } = new Client({
    apiUrl: url,
    ...(apiKey !== undefined && { apiKey }),
    defaultHeaders: headers,
    timeoutMs: TIMEOUT_MS,
    callerOptions: { maxRetries: 1, maxConcurrency: concurrency + 1 },
  });
  const target = safeAddress(url);
  const hide = hideSecrets(url, [...(apiKey === undefined ? [] : [apiKey]), ...Object.values(headers)]);
  try {
    await threads.search({ limit: 1, select: ["thread_id"] });
  } catch (error) {
    throw new UsageError(`${target}: ${explain(error, hide)}`);
  }
  return {
    target,
    canWrite: true,
    threads: (selection) => searchThreads(threads, selection),
    read: (ref) => readServedThread(threads, ref, hide),
    write: (ref, write) => writeThread(threads, ref, write),
    close: async () => {},
  };
}

const statusCodeOf = (error: unknown): unknown => Object(error).status;

function explain(error: unknown, hide: (text: string) => string): string {
  const status = statusCodeOf(error);
  if (status === 401 || status === 403)
    return `the server refuses the request (${status}). Name the variable with the key: --api-key-env NAME, or add a header: --header authorization="Bearer …".`;
  if (status === 404)
    return "there is a server, but no LangGraph server: it has no /threads/search (404). Check the address.";
  if (typeof status === "number") return `the server answers ${status}: ${hide(reasonOf(error))}`;
  // The SDK puts advice around the reason, which is known here.
  return `there is no server: ${hide(reasonOf(error)).replace(/^.*Original error: /, "")}.`;
}

/** The oldest threads come first, so a thread that is made meanwhile moves no other one to another page. */
async function* searchThreads(
  threads: ThreadsClient,
  { threadIds, metadata, status, since, limit = Number.POSITIVE_INFINITY }: ThreadSelection,
): AsyncGenerator<ThreadRef> {
  const seen = new Set<string>();
  let count = 0;
  let offset = 0;
  let last: string | undefined;
  for (;;) {
    const page = await threads.search({
      ...(threadIds !== undefined && { ids: [...threadIds] }),
      ...(metadata !== undefined && { metadata }),
      ...(status !== undefined && { status }),
      sortBy: "created_at",
      sortOrder: "asc",
      limit: PAGE,
      offset,
      select: ["thread_id", "updated_at"],
    });
    // A page begins with the last thread of the page before. If it does not, a thread was deleted meanwhile, and
    // others may have moved to an earlier page.
    if (last !== undefined && page[0]?.thread_id !== last) {
      offset = Math.max(0, offset - PAGE);
      last = undefined;
      continue;
    }
    for (const { thread_id, updated_at } of page) {
      if (seen.has(thread_id)) continue;
      seen.add(thread_id);
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

/** @param statesToRead Contract: how many states are read for the results of ended runs, given the latest one. */
export async function readServedThread(
  threads: ThreadsReader,
  ref: ThreadRef,
  hide: (text: string) => string,
  statesToRead: (latest: ServedState) => number = () => STATES_TO_READ,
): Promise<StoredThread> {
  const thread = await threads.get(ref.threadId);
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
 * that read fails, and the same checkpoint can still be read as a part of the history.
 */
async function readFailing(
  threads: ThreadsReader,
  ref: ThreadRef,
  thread: ServedThread,
  reason: string,
): Promise<StoredThread> {
  const [state] = await threads
    .getHistory(ref.threadId, { limit: 1, select: STATE_FIELDS })
    .catch((error: unknown) => {
      if (statusCodeOf(error) !== 500) throw error;
      return [];
    });
  if (state === undefined) {
    const kind = /removal|delet(?:e|ing) a message/i.test(reason) ? "bricked" : "unreadable";
    return { ...described(ref, thread), content: { kind, reason, messages: undefined } };
  }
  const { content, ...rest } = ofState(state);
  const messages = content.kind === "read" ? content.messages : undefined;
  return { ...described(ref, thread), ...rest, content: { kind: "bricked", reason, messages } };
}

function described(
  { threadId }: ThreadRef,
  { status, updated_at }: ServedThread,
): Omit<StoredThread, "content"> {
  return {
    threadId,
    namespace: "",
    checkpointId: undefined,
    updatedAt: updated_at,
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

async function writeThread(
  threads: ThreadsClient,
  { threadId }: ThreadRef,
  { expectedCheckpointId, messages, asNode }: ThreadWrite,
): Promise<WriteOutcome> {
  const { status } = await threads.get(threadId);
  if (status === "busy") return { kind: "busy" };
  const { id: head, isReadable } = await headOf(threads, threadId);
  if (head !== expectedCheckpointId) return { kind: "moved", checkpointId: head };
  try {
    const { checkpoint } = await threads.updateState(threadId, {
      values: { messages: [{ type: "remove", id: REMOVE_ALL, content: "" }, ...messages] },
      // A write to a named checkpoint does not apply the pending writes, of which one makes the thread unreadable.
      ...(!isReadable && head !== undefined && { checkpointId: head }),
      ...(asNode !== undefined && { asNode }),
    });
    return { kind: "written", checkpointId: checkpoint?.checkpoint_id ?? undefined };
  } catch (error) {
    if (statusCodeOf(error) === 409) return { kind: "busy" };
    throw error;
  }
}

async function headOf(
  threads: ThreadsClient,
  threadId: string,
): Promise<{ readonly id: string | undefined; readonly isReadable: boolean }> {
  try {
    const { checkpoint } = await threads.getState(threadId, undefined, { select: ["checkpoint"] });
    return { id: checkpoint?.checkpoint_id ?? undefined, isReadable: true };
  } catch (error) {
    if (statusCodeOf(error) !== 500) throw error;
    const [state] = await threads.getHistory(threadId, { limit: 1, select: ["checkpoint"] });
    return { id: state?.checkpoint?.checkpoint_id ?? undefined, isReadable: false };
  }
}
