/**
 * Threads that their last run left unfinished, and what a next run would do with them. It says no more than what is
 * stored. LangGraph does not note that a run began or was cancelled. This library notes how a run ended that is neither
 * done nor asks a human, so a killed run has no note. A lock, a server or the time since the last write can tell more.
 */

import { z } from "zod/v4";
import { placeOfCall } from "../history/group.js";
import { checkSettings, countFrom, type Rule } from "../shared/check-settings.js";
import { amount } from "../shared/text.js";
import { hasMethods, recordsIn, textIn } from "../shared/values.js";
import { askedCalls } from "../threads/ended-runs/close-calls.js";
import { readList } from "./examine.js";
import { createGraphStore } from "./graph-store.js";
import { nextRecovery } from "./next-history.js";
import { type StoredThread, storedListOf, type ThreadSelection, type ThreadStore } from "./thread-store.js";

/** A call of an unfinished thread that has no result in its messages. */
export interface UnfinishedCall {
  readonly callId: string;
  readonly tool: string;
  /**
   * - `returned`: its result is saved, and is used.
   * - `not-started`: it runs. A tool that may be replayed leaves no note, so it can have been started.
   * - `unknown`: it has started and has no result, or the store does not tell. It gets a placeholder, and runs again only
   *   if its tool may be replayed.
   * - `asked`: a human is asked about it.
   */
  readonly outcome: "returned" | "not-started" | "unknown" | "asked";
}

/** A thread whose last run ended without an end, as far as its store tells. */
export interface UnfinishedThread {
  readonly threadId: string;
  /** The latest checkpoint; null if the store does not tell it. */
  readonly checkpointId: string | null;
  /** When the latest checkpoint was written, in ISO 8601; null if that is unknown. */
  readonly updatedAt: string | null;
  /**
   * - `waiting`: a human is asked, or the graph stops before its next node. Only an answer continues it.
   * - `going-on`: its run may be going on: see `evidence`.
   * - `cancelled`: the run was aborted, or nobody read its stream any more, and it has noted that.
   * - `failed`: the run failed, and it or LangGraph has stored that.
   * - `stopped`: nothing tells how the run ended. Its process was killed, or an agent without this library ran it.
   * - `unreadable`: the store cannot read the thread, so it may be unfinished.
   */
  readonly kind: "waiting" | "going-on" | "cancelled" | "failed" | "stopped" | "unreadable";
  /** One sentence that says why it is of this kind. */
  readonly evidence: string;
  /** The stored error; null if there is none. It can quote what a model or tool was given. */
  readonly error: string | null;
  /** The nodes with which a next run would continue. Empty if the store does not tell them. */
  readonly nodes: readonly string[];
  /** What becomes of the calls without a result if the thread is continued without a new message. */
  readonly calls: readonly UnfinishedCall[];
  /** The questions to a human, as LangGraph has them. */
  readonly interrupts: readonly unknown[];
  /** Why the thread belongs to another graph than the given one, in one sentence; null if nothing says so. */
  readonly otherGraph: string | null;
}

/** The options of `unfinishedThreads`. */
export interface UnfinishedOptions extends Pick<ThreadSelection, "threadIds" | "since" | "limit"> {
  /**
   * How many milliseconds a thread must have been without a new checkpoint. Before that, its run may be going on. A
   * checkpoint is written only when a model or tool has returned, so choose more than the slowest takes. 0: every run
   * whose lock is free has ended, such as when a program starts that alone runs these threads. A server knows its runs
   * itself. @default 600000
   */
  readonly quietMs?: number | undefined;
}

const RULES: Readonly<Record<keyof UnfinishedOptions, Rule>> = {
  threadIds: { schema: z.array(z.string()), expects: "a list of thread ids" },
  since: { schema: z.date(), expects: "a Date" },
  limit: countFrom(1),
  quietMs: countFrom(0),
};

/**
 * Finds the threads that their last run left unfinished: killed, cancelled or failed in the middle of a turn, or waiting
 * for a human. It changes nothing. A thread that an update of the state has changed since is not listed. Over a
 * `PostgresSaver` or `SqliteSaver`, one query finds them, and no message of a finished thread is read. `finishThreads`
 * continues them.
 *
 * If `postgresThreadLock` locks the threads in the database of a `PostgresSaver`, a thread whose lock is held is
 * `going-on`.
 *
 * @param place The agent or compiled graph that runs the threads, or a store, such as of `createGraphStore`.
 * @throws InvalidSettingError for an unknown option or an unusable value, or if there is no checkpointer.
 * @example
 * ```ts
 * import { MemorySaver, RunControl } from "@langchain/langgraph";
 * import { createAgentGraph } from "langgraph-tether";
 * import { unfinishedThreads } from "langgraph-tether/doctor";
 *
 * const agent = createAgentGraph({ model: "offline:", checkpointer: new MemorySaver() });
 * const config = { configurable: { thread_id: "1" } };
 * const control = new RunControl();
 * control.requestDrain("the machine is replaced");
 * const input = { messages: [{ role: "user", content: "Hello!" }] };
 * await agent.invoke(input, { ...config, control }).catch(() => {});
 * for await (const { threadId, kind, nodes } of unfinishedThreads(agent, { quietMs: 0 })) {
 *   console.log(threadId, kind, nodes); // 1 cancelled [ '__start__' ]
 * }
 * ```
 */
export function unfinishedThreads(
  place: object,
  options: UnfinishedOptions = {},
): AsyncGenerator<UnfinishedThread> {
  checkSettings(options, RULES, "options");
  const store = isStore(place) ? place : createGraphStore({ graph: place });
  return listUnfinished(store, options);
}

const isStore = (place: object): place is ThreadStore => hasMethods(place, "threads", "read");

async function* listUnfinished(
  store: ThreadStore,
  { limit = Number.POSITIVE_INFINITY, quietMs, ...selection }: UnfinishedOptions,
): AsyncGenerator<UnfinishedThread> {
  let found = 0;
  for await (const ref of store.threads({ ...selection, isUnfinished: true })) {
    const thread = ref.namespace === "" ? await store.read(ref, { quietMs }) : undefined;
    const unfinished = thread && unfinishedIn(thread, store);
    if (unfinished === undefined) continue;
    yield unfinished;
    found += 1;
    if (found >= limit) return;
  }
}

/** Undefined for a thread that is finished, and for a subgraph. */
export function unfinishedIn(
  thread: StoredThread,
  { knowsRuns = false }: Pick<ThreadStore, "knowsRuns">,
): UnfinishedThread | undefined {
  const { threadId, namespace, status, content, openTasks = [], endedRuns, mayRun, end } = thread;
  const isUnread = content.kind === "unreadable";
  const { goesOn = openTasks.length > 0 } = thread;
  if (namespace !== "" || !(goesOn || isUnread || status === "busy")) return undefined;
  const pending = endedRuns.findLast(({ fate }) => fate === "pending");
  const interrupts = pending?.interrupts ?? openTasks.flatMap((task) => task.interrupts);
  const nodes = thread.openTasks?.map(({ node }) => node) ?? pending?.nodes ?? [];
  const common = {
    threadId,
    checkpointId: thread.checkpointId ?? null,
    updatedAt: thread.updatedAt ?? null,
    nodes: [...new Set(nodes)],
    calls: isUnread ? [] : callsIn(thread, interrupts),
    interrupts,
    error: openTasks.find((task) => task.error !== undefined)?.error ?? null,
    otherGraph: thread.otherGraph ?? null,
  };
  const as = (kind: UnfinishedThread["kind"], evidence: string) => ({ ...common, kind, evidence });
  if (isUnread) return as("unreadable", content.reason);
  if (mayRun !== undefined) return as("going-on", mayRun);
  if (interrupts.length > 0) return as("waiting", `It asks ${amount(interrupts.length, "question")}.`);
  // A server also says so of a run that was cancelled.
  if (status === "interrupted" && !knowsRuns) return as("waiting", "Its graph stops before the next node.");
  if (end === "waiting") return as("waiting", "Its last run has noted that it stops before the next node.");
  if (end === "cancelled") return as("cancelled", "The last run has noted that it was cancelled.");
  if (end === "failed") return as("failed", "The last run has noted that it failed.");
  if (common.error !== null || status === "error") return as("failed", "The last run has stored an error.");
  return as(
    "stopped",
    "Nothing tells how its last run ended: its process was killed, or it was run without this library.",
  );
}

function callsIn(thread: StoredThread, interrupts: readonly unknown[]): UnfinishedCall[] {
  const history = readList(storedListOf(thread) ?? []).messages.map(({ message }) => message);
  const { calls } = nextRecovery(thread, history, false);
  const noted = new Map(thread.endedRuns.flatMap((run) => [...(run.noted ?? [])]));
  const asked = new Set(askedCalls(interrupts).map(({ id }) => id));
  // In the hooks of `createAgent`, each start of a tool that must not be replayed leaves a note.
  const notesEachStart = thread.repairedBy === "middleware" && thread.tellsStarts === true;
  return calls.map(({ call, group, index, remains, cause, isPending }) => {
    const named = { callId: call.id, tool: call.name };
    if (remains?.kind === "result") return { ...named, outcome: "returned" };
    // A later message has closed the turn of the others: they do not run.
    if (!isPending || call.kind !== "valid") return { ...named, outcome: "unknown" };
    const note = noted.get(placeOfCall(group, index));
    const isAsked = asked.has(call.id) || remains?.kind === "question" || cause === "declined";
    if (isAsked || (note === "asked" && interrupts.length > 0)) return { ...named, outcome: "asked" };
    const isNew = note === undefined && (cause === "not-started" || notesEachStart);
    return { ...named, outcome: isNew ? "not-started" : "unknown" };
  });
}

/** The tools that a human is asked about, as far as the questions name them. */
export function askedTools({ interrupts }: UnfinishedThread): string[] {
  return interrupts.flatMap((interrupt) => {
    const { action_requests, actionRequests } = Object(Object(interrupt).value);
    return recordsIn(action_requests ?? actionRequests).flatMap((request) => textIn(request, "name") ?? []);
  });
}
