/** Reads what the pages need, from any store that the doctor can read. */

import type { BaseMessage } from "@langchain/core/messages";
import pLimit from "p-limit";
import { readList } from "../../doctor/examine.js";
import { type Finding, type RepairStepKind, type ThreadReport, worthALook } from "../../doctor/finding.js";
import { isKeptState, reportOn, reportWith } from "../../doctor/findings.js";
import { type NextHistory, nextHistoryOf, nextMessage } from "../../doctor/next-history.js";
import { planFor } from "../../doctor/plan.js";
import { UUID } from "../../doctor/targets/server-target.js";
import {
  type ListedThread,
  type StoredThread,
  storedListOf,
  type ThreadRef,
  type ThreadSelection,
  type ThreadStep,
  type ThreadStore,
  threadOfList,
} from "../../doctor/thread-store.js";
import { unfinishedIn } from "../../doctor/unfinished.js";
import { unansweredCalls } from "../../history/open-calls.js";
import { isSummaryDue, planSummary } from "../../history/plan-summary.js";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import { archiveOf, coverageOf } from "../../history/summary.js";
import { toJson } from "../../shared/json.js";
import { defined } from "../../shared/values.js";
import { walkSummaries } from "../../threads/summary/full-history.js";
import { messagesOfList, nameIn, type Question, questionsIn, titleOf } from "./message-view.js";
import { type ListQuery, LONGEST_QUERY, type ThreadQuery } from "./query.js";
import { refusal } from "./refusal.js";
import { formOf, type RequestSettings, reducedForm, type ShownRequest } from "./request.js";
import { distinctBy, lastRepairIn } from "./rows.js";
import {
  asksModel,
  asksModelNext,
  countedTokens,
  helpAt,
  readError,
  requestAt,
  stepOf,
  stepsAfter,
  withBranches,
} from "./steps.js";

/** Each step has the whole history, so few steps of a long thread are read. */
const MESSAGES_TO_READ = 20_000;
const LEAST_STEPS = 2;
const MOST_STEPS = 40;

/** What happens with the shown step's messages. */
export type Moment =
  /** The model was asked with them, or is being asked. */
  | { readonly kind: "asked" }
  /** The latest step: what is sent when the user's next message comes. */
  | ({ readonly kind: "next" } & Omit<NextHistory, "messages">)
  /** A human is asked. */
  | { readonly kind: "waiting"; readonly questions: readonly Question[]; readonly nodes: readonly string[] }
  /** A run is running, and is not asking the model now. */
  | { readonly kind: "running"; readonly nodes: readonly string[]; readonly since: string | null }
  /** An earlier step at which the model was not asked, or a thread without messages. */
  | { readonly kind: "silent" };

export interface Archive {
  /** The latest of them. */
  readonly messages: readonly BaseMessage[];
  /** Whether these are all. */
  readonly isWhole: boolean;
}

/** Contract: resolves to a graph's settings; undefined if they are unknown. */
export type SettingsOf = (graph: string | undefined) => Promise<RequestSettings | undefined>;

export type ThreadReading = Awaited<ReturnType<typeof readThread>>;

/** @throws The error of a server that refuses the thread or step, or one with the `status` 404. */
export async function readThread(
  store: ThreadStore,
  { threadId, ...asked }: ThreadQuery & { readonly threadId: string },
  settingsOf: SettingsOf,
) {
  const { ns: namespace = "", step: wanted, dialect, maxTokens } = asked;
  const [listed] = await listThreads(store, { threadIds: [threadId], limit: 1 }, 0);
  if (listed === undefined) throw refusal(404);
  const ref = { threadId, namespace };
  const below = await readSubgraphs(store, [threadId], () => true);
  const isThere = namespace === "" || below.some((one) => one.namespace === namespace);
  if (!isThere) throw refusal(404);
  const subgraphs = below.map((one) => ({
    namespace: one.namespace,
    isKept: isKeptState(one),
    report: reportOn(one, { dialect }),
  }));
  const read = await store.read(ref, { earlierMessages: MESSAGES_TO_READ });
  const latest = await readSteps(store, ref, read);
  const line = await readLine(store, ref, latest, wanted);
  const [[newest], [shown]] = [latest, line];
  // A server applies finished tasks' writes when it reads a state. The step has what is stored.
  const ofStep = newest?.messages;
  const isKept = read.content.kind === "read" && ofStep !== undefined;
  const stored: StoredThread = isKept ? { ...read, content: { kind: "read", messages: ofStep } } : read;
  const graphId = listed.metadata?.["graph_id"];
  const graph = typeof graphId === "string" ? graphId : undefined;
  const settings = await settingsOf(graph);
  // Whoever names the latest step wants to see what was sent at it, if anything.
  const all = distinctBy([...latest, ...line], ({ checkpointId }) => checkpointId);
  const after = stepsAfter(all);
  const isWanted = wanted !== undefined && shown !== undefined && asksModel(shown, after(shown));
  const isLatest = shown?.checkpointId === newest?.checkpointId && !(isWanted && read.status !== "busy");
  const isChosen = dialect !== undefined || maxTokens !== undefined;
  // Only this library's graphs have known settings.
  const { repairedBy = settings && "agent" } = stored;
  const isOurs = repairedBy !== undefined && repairedBy !== "nobody";
  const isMade = isOurs || asked.with === "tether";
  const thread: StoredThread = { ...stored, repairedBy: isOurs || !isMade ? repairedBy : "middleware" };
  const { moment, history } = momentOf(thread, [shown, after(shown)], isLatest, isChosen);
  const own = reportOn(stored, { dialect });
  // Only what a subgraph keeps can make a later request of the thread fail.
  const kept = subgraphs.flatMap((one) => (namespace === "" && one.isKept ? one.report : []));
  const report = reportWith(own, kept);
  const reportOfStep = (one: ThreadStep) =>
    one.checkpointId === newest?.checkpointId ? own : reportOnStep(one, stored);
  const steps = withBranches(all.map((one) => stepOf(one, after(one), worthOf(reportOfStep(one)))));

  const ask = async (
    from: ThreadStep | undefined,
    messages: readonly BaseMessage[],
  ): Promise<ShownRequest> => {
    const step = steps.find(({ checkpointId }) => checkpointId === from?.checkpointId);
    const context = step?.runId == null ? undefined : await store.contextOfRun?.(ref, step.runId);
    return {
      step,
      history: messages,
      isMade,
      form: reducedForm(
        formOf(messages, step, asked, settings, context),
        helpAt(from, from && after(from), messages),
        asked,
      ),
    };
  };
  const before = requestBefore(line, after);
  const policy = settings?.summary;
  const isNext = moment.kind === "next";
  return {
    threadId,
    graph,
    updatedAt: stored.updatedAt,
    mayRun: stored.mayRun,
    knowsRuns: store.knowsRuns === true,
    nodesBefore: stored.nodesBefore ?? [],
    /** The namespace of the shown state. */
    namespace,
    /** The states of subgraphs, with their verdicts. */
    subgraphs,
    /** How many runs wait for the thread on its server. */
    queued: (await store.queuedRuns?.(ref)) ?? 0,
    channel: stored.channel ?? "messages",
    /** The state's other channels. */
    values: stored.values ?? {},
    metadata: listed.metadata,
    report,
    /** What the doctor finds in the step's messages, with the indexes of their rows. */
    findings: withRows((shown === undefined ? own : reportOfStep(shown))?.findings, shown?.messages),
    repairedBy,
    /** Whether the graph's settings are known, such as its system prompt. */
    knowsSettings: settings !== undefined,
    /**
     * The summary that is written before the next request. Undefined: none is due, as far as the settings are known.
     */
    summary:
      isNext && isOurs && policy !== undefined && isSummaryDue(history, policy)
        ? planSummary(history, policy)
        : undefined,
    /** What a repair would do, and how often. */
    repairs: repairsOf(stored),
    /** Where the last run stopped; undefined if it ended, or if that is not known. */
    stopped: stoppedIn(stored, store),
    /** The errors of the step's tasks. */
    errors: (shown?.tasks ?? []).flatMap(({ node, error }) =>
      error === undefined ? [] : [{ node, ...readError(error) }],
    ),
    /** The steps that were read, latest first. */
    steps,
    isLatest,
    moment,
    /** The shown step; undefined for a thread without a readable state. */
    ...(await ask(shown, history)),
    /** The previous request; undefined if there is none, or if it was not read. */
    before: before && (await ask(before, requestAt(before, after(before), repairedBy))),
  };
}

/** Values that are not messages have no row. */
function withRows(findings: readonly Finding[] = [], list: readonly unknown[] = []): readonly Finding[] {
  if (findings.every(({ index }) => index === null)) return findings;
  const rows = new Map(readList(list).messages.map(({ index }, row) => [index, row]));
  return findings.map((found) => ({ ...found, index: rows.get(found.index ?? -1) ?? null }));
}

function repairsOf(thread: StoredThread) {
  const plan = planFor(thread);
  const counts = new Map<RepairStepKind, number>();
  for (const { kind } of plan.kind === "write" ? plan.steps : [])
    counts.set(kind, (counts.get(kind) ?? 0) + 1);
  return [...counts].map(([kind, count]) => ({ kind, count }));
}

function stoppedIn(thread: StoredThread, store: ThreadStore) {
  const found = unfinishedIn(thread, store);
  return found?.kind === "stopped" ? { nodes: found.nodes } : undefined;
}

/** The most states of subgraphs that are read for one page. */
const MOST_SUBGRAPHS = 20;

/**
 * The states of the subgraphs of these threads, such as those of sub-agents. A server does not list them.
 *
 * @param isWanted By default, only states that a subgraph keeps from run to run.
 */
async function readSubgraphs(
  store: ThreadStore,
  threadIds: readonly string[],
  isWanted: (ref: ThreadRef) => boolean = isKeptState,
): Promise<StoredThread[]> {
  if (store.knowsRuns || threadIds.length === 0) return [];
  const found: ThreadRef[] = [];
  for await (const ref of store.threads({ threadIds }))
    if (ref.namespace !== "" && isWanted(ref)) found.push(ref);
  // Those that are kept come first.
  const wanted = found.sort((one, other) => Number(isKeptState(other)) - Number(isKeptState(one)));
  return Promise.all(wanted.slice(0, MOST_SUBGRAPHS).map((ref) => store.read(ref, { earlierMessages: 0 })));
}

/** What happens with a step's messages, and those of the next request. */
function momentOf(
  thread: StoredThread,
  [step, after]: readonly [step: ThreadStep | undefined, after: ThreadStep | undefined],
  isLatest: boolean,
  isChosen: boolean,
): { readonly moment: Moment; readonly history: readonly BaseMessage[] } {
  const isAsked = step !== undefined && asksModel(step, after);
  const history = requestAt(step, after, thread.repairedBy);
  const nodes = [...new Set(step?.next)];
  const { status, endedRuns, checkpointId, repairedBy } = thread;
  if (isLatest && status === "busy" && !isAsked)
    return { moment: { kind: "running", nodes, since: step?.createdAt ?? null }, history };
  if (isLatest && status === "interrupted") {
    // Without the graph, nobody tells the open tasks. Their questions are among what the run left.
    const asking = thread.openTasks ?? endedRuns.filter(({ fate }) => fate === "pending");
    const questions = asking.flatMap(({ interrupts }) => interrupts.flatMap(questionsIn));
    return { moment: { kind: "waiting", questions, nodes }, history };
  }
  if (history.length === 0 && (!isAsked || endedRuns.length === 0))
    return { moment: { kind: "silent" }, history };
  if (!isLatest || status === "busy")
    return { moment: { kind: isAsked || isChosen ? "asked" : "silent" }, history };
  // A list without a checkpoint is sent as it is: nobody knows what comes next.
  const isList = checkpointId === undefined;
  if (repairedBy === "agent" || repairedBy === "middleware") {
    const { messages, ...foretold } = nextHistoryOf(thread, isList ? null : undefined);
    return { moment: { kind: "next", ...foretold }, history: messages };
  }
  const next = nextMessage();
  const messages =
    repairedBy === "field" ? reduceMessages(history, next).messages : [...history, ...(isList ? [] : [next])];
  return {
    moment: { kind: "next", added: new Map([[next, "next-message"]]), guessed: new Set() },
    history: messages,
  };
}

/** The most archived messages that are read for one summary. */
const MOST_ARCHIVED = 200;
/** The most states that are read for the archives of a page. Each can have a whole history. */
const MOST_STATES = 20;

/** What summaries have archived, by their ids. */
export type Archives = Awaited<ReturnType<typeof readArchives>>;

/**
 * Anyone can write to a state, so many summaries can lead to one another.
 *
 * @param messages Those of one page. Only what is shown is read, the latest first.
 */
export async function readArchives(store: ThreadStore, threadId: string, messages: readonly BaseMessage[]) {
  const archives = new Map<string, Archive>();
  let states = 0;
  const read = async (from?: string) => {
    states += 1;
    if (states > MOST_STATES) return undefined;
    const [step] = (await store.steps?.({ threadId, namespace: "" }, { from, limit: 1 })) ?? [];
    return step?.messages;
  };
  for (const summary of messages.filter((message) => archiveOf(message) !== undefined).reverse()) {
    const reversed: BaseMessage[] = [];
    let isWhole = true;
    for await (const message of walkSummaries([summary], read, () => {})) {
      if (coverageOf(message) === undefined && reversed.length < MOST_ARCHIVED) reversed.push(message);
      else isWhole = false;
      if (!isWhole) break;
    }
    archives.set(summary.id ?? "", { messages: reversed.toReversed(), isWhole });
  }
  return archives;
}

/*
 * A thread's steps, latest first.
 */

/** The latest steps. A store without steps has one. */
async function readSteps(
  store: ThreadStore,
  ref: ThreadRef,
  thread: StoredThread,
): Promise<readonly ThreadStep[]> {
  const { checkpointId = "latest", updatedAt, openTasks = [] } = thread;
  const messages = storedListOf(thread);
  if (store.steps !== undefined) {
    // A busy thread's run is writing its steps, and nobody knows how long they are.
    const limit = messages === undefined ? LEAST_STEPS : stepsFor(messages);
    return (await store.steps(ref, { limit }).catch(unreadable)) ?? [];
  }
  const next = openTasks.map(({ node }) => node);
  return [{ checkpointId, createdAt: updatedAt, metadata: {}, messages, next, tasks: [] }];
}

/** The requested step and those before it. Empty if it cannot be read. */
async function readLine(
  store: ThreadStore,
  ref: ThreadRef,
  latest: readonly ThreadStep[],
  wanted: string | undefined,
): Promise<readonly ThreadStep[]> {
  if (wanted === undefined) return latest;
  const place = latest.findIndex(({ checkpointId }) => checkpointId === wanted);
  const known = place === -1 ? [] : latest.slice(place);
  if (store.steps === undefined || requestBefore(known, stepsAfter(latest)) !== undefined) return known;
  const found = await store.steps(ref, { from: wanted, limit: 1 }).catch(unreadable);
  if (found === undefined) return [];
  const [first] = found;
  if (first === undefined) throw refusal(404);
  const limit = stepsFor(first.messages) + 1;
  return (await store.steps(ref, { from: wanted, limit }).catch(unreadable)) ?? found;
}

/** The latest step in the branch before the first one at which the model was asked. */
function requestBefore(
  [shown, ...older]: readonly ThreadStep[],
  after: ReturnType<typeof stepsAfter>,
): ThreadStep | undefined {
  const isAsked = (step: ThreadStep) => asksModel(step, after(step));
  let wanted = shown?.parentId;
  if (wanted === undefined) return older.find(isAsked);
  for (const step of older) {
    if (step.checkpointId !== wanted) continue;
    if (isAsked(step)) return step;
    wanted = step.parentId;
  }
  return undefined;
}

/** How many findings are worth a look; null if nothing was judged. */
function worthOf(report: ThreadReport | undefined): number | null {
  const isJudged = report?.outcome === "sound" || report?.outcome === "findings";
  return isJudged ? worthALook(report.findings) : null;
}

/** Calls that are about to be answered are in good order, like those that wait for a human. */
function reportOnStep(step: ThreadStep, { threadId, repairedBy }: StoredThread): ThreadReport | undefined {
  const { messages, next } = step;
  if (messages === undefined) return undefined;
  const isGoingOn =
    next.length > 0 && !asksModelNext(step) && unansweredCalls(messagesOfList(messages)).pending.length > 0;
  const status = isGoingOn ? "interrupted" : "idle";
  return reportOn({ ...threadOfList(messages, threadId), status, openTasks: [], repairedBy });
}

function stepsFor(messages: readonly unknown[] = []): number {
  return Math.min(MOST_STEPS, Math.max(LEAST_STEPS, Math.floor(MESSAGES_TO_READ / (messages.length + 1))));
}

/**
 * An unreadable step is a finding of the doctor.
 *
 * @throws The error itself, if the server says anything else than that it cannot read.
 */
function unreadable(error: unknown): undefined {
  const { status = 500 } = Object(error);
  if (status !== 500) throw error;
  return undefined;
}

/*
 * Reads what the list of threads needs.
 */

const THREADS_PER_PAGE = 20;
/** The most that a server's API returns at once. */
const SEARCH_STEP = 1_000;
/** The most threads that are searched for part of a text. */
const MOST_SEARCHED = 5_000;
/** The most threads that are read for what only reading tells. */
const MOST_READ = 500;
const CONCURRENCY = 4;

/** With the defaults. */
interface ListQuestion extends ListQuery {
  readonly q: string;
  readonly page: number;
}

export type ListView = Awaited<ReturnType<typeof readListView>>;

/** @throws The error of the server, with its `status`. */
export async function readListView(store: ThreadStore, { q = "", page = 1, ...asked }: ListQuery) {
  const question = { ...asked, q: q.slice(0, LONGEST_QUERY), page };
  const { found, searched } = await findThreads(store, question);
  const limit = pLimit(CONCURRENCY);
  const shownIds = found.slice(0, THREADS_PER_PAGE).map(({ threadId }) => threadId);
  const subgraphs = await readSubgraphs(store, shownIds);
  const threads = found.slice(0, THREADS_PER_PAGE).map(({ threadId, createdAt, metadata }) =>
    limit(async () => {
      const stored = await store.read({ threadId, namespace: "" }, { earlierMessages: 0 });
      const messages = messagesOfList(storedListOf(stored));
      return {
        // A server of another maker may not say a time.
        createdAt: Number.isFinite(createdAt) ? new Date(Number(createdAt)).toISOString() : null,
        /** What the providers counted for the responses that are still in the thread. */
        tokens: messages.reduce((sum, message) => sum + countedTokens(message), 0),
        title: titleOf(messages, metadata),
        graph: nameIn(metadata?.["graph_id"]),
        updatedAt: stored.updatedAt ?? null,
        lastRepair: lastRepairIn(messages),
        openCalls: openCallsOf(stored),
        /** See `readThread`. */
        stopped: stoppedIn(stored, store) ?? null,
        report: reportWith(
          reportOn(stored),
          subgraphs.flatMap((one) => (one.threadId === threadId ? reportOn(one) : [])),
        ),
      };
    }),
  );
  return {
    ...question,
    knowsRuns: store.knowsRuns === true,
    threads: await Promise.all(threads),
    /** How many there are; undefined if the store cannot count them. */
    count: searched === null ? await countOf(store, question, found.length) : undefined,
    hasNext: found.length > THREADS_PER_PAGE,
    /** How many threads were searched, if not all. */
    searched,
  };
}

/** @param length How many were found from the page on. */
async function countOf(store: ThreadStore, question: ListQuestion, length: number) {
  if (length <= THREADS_PER_PAGE) return (question.page - 1) * THREADS_PER_PAGE + length;
  const { status, has } = question;
  const { threadIds, metadata } = filterOf(question) ?? { threadIds: [] };
  const isOfStore = threadIds === undefined && has === undefined;
  return isOfStore ? store.count?.(defined({ metadata, status })) : undefined;
}

/** The page's threads, and one more if there are more. `searched` says how many threads were searched, if not all. */
async function findThreads(store: ThreadStore, question: ListQuestion) {
  const { q, status, has, page, sort } = question;
  const offset = (page - 1) * THREADS_PER_PAGE;
  const filter = filterOf(question);
  const ofGraph = filterOf({ ...question, q: "" });
  if (filter !== undefined && has === undefined) {
    const found = await listThreads(store, { ...filter, status, limit: THREADS_PER_PAGE + 1 }, offset, sort);
    if (status === undefined || found.every((thread) => thread.status !== undefined))
      return { found, searched: null };
  }
  const wanted = q.toLowerCase();
  const found: ListedThread[] = [];
  let read = 0;
  const answer = (searched: number | null) => ({ found: found.slice(offset), searched });
  for await (const thread of searchedThreads(store, { ...(filter ?? ofGraph), status }, sort)) {
    if (thread === undefined) return answer(MOST_SEARCHED);
    const isNamed = filter !== undefined || searchedText(thread).includes(wanted);
    const isOfStatus = status === undefined || thread.status !== undefined;
    if (!isNamed || !isOfStatus || has !== undefined) {
      read += 1;
      if (read > MOST_READ) return answer(MOST_READ);
      const stored = await store.read({ threadId: thread.threadId, namespace: "" }, { earlierMessages: 0 });
      if (!isOfStatus && stored.status !== status) continue;
      if (!isNamed && !toJson(storedListOf(stored))?.toLowerCase().includes(wanted)) continue;
      if (has !== undefined && !hasTrait(stored, has)) continue;
    }
    found.push(thread);
    if (found.length > offset + THREADS_PER_PAGE) break;
  }
  return answer(null);
}

/** The threads of a selection, step by step. Undefined ends them if there may be more. */
async function* searchedThreads(store: ThreadStore, selection: ThreadSelection, sort: ListQuery["sort"]) {
  for (let start = 0; start < MOST_SEARCHED; start += SEARCH_STEP) {
    const some = await listThreads(store, { ...selection, limit: SEARCH_STEP }, start, sort);
    yield* some;
    if (some.length < SEARCH_STEP) return;
  }
  yield undefined;
}

function hasTrait(thread: StoredThread, trait: string): boolean {
  if (trait === "open-calls") return openCallsOf(thread) > 0;
  if (trait === "repairs") return lastRepairIn(messagesOfList(storedListOf(thread))) !== null;
  const { outcome, findings } = reportOn(thread);
  if (trait === "findings") return outcome === "findings";
  return findings.some(
    ({ code, severity }) => code === trait || (trait === "errors" && severity === "error"),
  );
}

/** How many calls have no result, in a thread in which nothing runs or waits for a human. */
function openCallsOf(thread: StoredThread): number {
  const waits = thread.status === "busy" || thread.status === "interrupted";
  if (waits) return 0;
  const { all } = unansweredCalls(messagesOfList(storedListOf(thread)));
  return all.filter(({ group, index }) => group.results[index] === undefined).length;
}

/** What a store itself can select; undefined for part of a text. */
function filterOf({ q, graph }: ListQuestion): ThreadSelection | undefined {
  const ofGraph = graph === undefined ? {} : { metadata: { graph_id: graph } };
  if (q === "") return ofGraph;
  if (UUID.test(q)) return { ...ofGraph, threadIds: [q.toLowerCase()] };
  const [, key, value] = /^([\w.-]+)=(.+)$/s.exec(q) ?? [];
  if (key === undefined || value === undefined) return undefined;
  return { metadata: { ...ofGraph.metadata, [key]: value } };
}

/** @throws The error of the server, with its `status`. */
async function listThreads(
  store: ThreadStore,
  selection: ThreadSelection & { readonly limit: number },
  offset: number,
  order?: ListQuery["sort"],
): Promise<readonly ListedThread[]> {
  if (store.recent !== undefined) return store.recent(selection, offset, order);
  const listed: ListedThread[] = [];
  for await (const { threadId, namespace } of store.threads({
    ...selection,
    limit: offset + selection.limit,
  }))
    if (namespace === "") listed.push({ threadId });
  return listed.slice(offset);
}

function searchedText({ threadId, metadata = {} }: ListedThread): string {
  const values = Object.values(metadata).map((value) => (typeof value === "string" ? value : toJson(value)));
  return [threadId, ...values].join("\n").toLowerCase();
}
