/** Reads what the page of one thread needs. */

import type { Context } from "hono";
import pLimit from "p-limit";
import { type DiagnoseOptions, reportOn } from "../../src/doctor/findings.js";
import {
  readServedThread,
  type ServedState,
  type ServedThread,
  STATE_FIELDS,
  type ThreadsReader,
} from "../../src/doctor/targets/server-target.js";
import type { DialectName } from "../../src/providers/dialects.js";
import { toJson } from "../../src/shared/json.js";
import { isRecord } from "../../src/shared/values.js";
import type { ServerFetch } from "../../src/threads/langgraph/run-host.js";
import { credentialOf } from "../access/authenticate.js";
import { type ListView, viewListed } from "./view/list-view.js";
import { formOf, type ServedForm } from "./view/request-form.js";
import {
  messagesIn,
  type Step,
  stepOf,
  storedListOf,
  type ThreadReading,
  type TimedState,
} from "./view/thread-view.js";

/** Each state has the whole history, so few states of a long thread are read. */
const MESSAGES_TO_READ = 20_000;
const LEAST_STATES = 2;
const MOST_STATES = 40;

/** What the reader asks for. */
export interface ThreadQuestion {
  readonly threadId: string;
  /** The checkpoint of the step; undefined for the latest. */
  readonly step: string | undefined;
  readonly dialect: DialectName | undefined;
  readonly maxTokens: number | undefined;
}

/** A step with its state. */
interface Told {
  readonly step: Step;
  readonly state: TimedState;
}

/**
 * @param servedFor The settings of a graph that this server runs; undefined for one whose settings are not known.
 * @throws The error of the server, with its `status`, if it refuses the thread or the step.
 */
export async function readThread(
  threads: ThreadsOfCaller,
  { threadId, step: wanted, dialect, maxTokens }: ThreadQuestion,
  servedFor: (graph: string | undefined) => ServedForm | undefined,
): Promise<ThreadReading> {
  const ref = { threadId, namespace: "" };
  const thread = await threads.get(threadId);
  // A run of a busy thread writes its states, and nobody knows how long they are.
  let most = LEAST_STATES;
  const stored = await readServedThread(
    threads,
    ref,
    (text) => text,
    ({ values }) => {
      most = statesFor(values);
      return most;
    },
  );
  const steps = toldIn(await statesOf(threads, threadId, most));
  const { shown, older } = await shownStep(threads, threadId, steps, wanted);
  const options: DiagnoseOptions = { ...(dialect !== undefined && { dialect }) };
  const graph = thread.metadata?.["graph_id"];
  const graphName = typeof graph === "string" ? graph : undefined;
  const served = servedFor(graphName);

  const contexts = new Map<string, Promise<Readonly<Record<string, unknown>> | undefined>>();
  const contextOf = (runId: string) => {
    const context = contexts.get(runId) ?? threads.contextOfRun(threadId, runId);
    contexts.set(runId, context);
    return context;
  };
  const ask = async (told: Told | undefined) => {
    const history = told === undefined ? [] : messagesIn(told.state.values);
    const runId = told?.step.runId;
    const context = runId == null ? undefined : await contextOf(runId);
    const chosen = { dialect, maxTokens };
    return { history, form: formOf({ messages: history, step: told?.step, chosen, served, context }) };
  };
  const before = older.find(({ step }) => step.asksModel);
  return {
    threadId,
    graph: graphName,
    updatedAt: thread.updated_at,
    metadata: thread.metadata,
    report: reportOn(stored, options),
    steps: distinctSteps([...steps, ...(shown === undefined ? [] : [shown]), ...older]),
    step: shown?.step,
    isLatest: shown?.step.checkpointId === steps[0]?.step.checkpointId,
    ...(await ask(shown)),
    before: before && { step: before.step, ...(await ask(before)) },
  };
}

/** The step that is asked for, and those before it, the latest first. */
async function shownStep(
  threads: ThreadsOfCaller,
  threadId: string,
  steps: readonly Told[],
  wanted: string | undefined,
): Promise<{ readonly shown: Told | undefined; readonly older: readonly Told[] }> {
  const place = wanted === undefined ? 0 : steps.findIndex(({ step }) => step.checkpointId === wanted);
  const shown = steps[place];
  const older = steps.slice(place + 1);
  if (shown !== undefined && (older.some(({ step }) => step.asksModel) || wanted === undefined))
    return { shown, older };
  if (wanted === undefined) return { shown: undefined, older: [] };
  const state = shown?.state ?? (await threads.stateAt(threadId, wanted).catch(unreadable));
  if (state === undefined) return { shown: undefined, older: [] };
  const [told] = toldIn([state]);
  if (told?.step.checkpointId !== wanted || storedListOf(state.values) === undefined) throw notFound();
  return { shown: told, older: toldIn(await statesOf(threads, threadId, statesFor(state.values), wanted)) };
}

/** The server has an empty state for each id that is not a checkpoint. */
function notFound(): Error {
  return Object.assign(new Error("Step not found"), { status: 404 });
}

function distinctSteps(told: readonly Told[]): readonly Step[] {
  return [...new Map(told.map(({ step }) => [step.checkpointId, step])).values()];
}

function toldIn(states: readonly TimedState[]): readonly Told[] {
  return states.flatMap((state) => {
    const step = stepOf(state);
    return step === undefined ? [] : [{ step, state }];
  });
}

/** A state that cannot be read is a finding of the doctor. */
async function statesOf(
  threads: ThreadsOfCaller,
  threadId: string,
  limit: number,
  before?: string,
): Promise<readonly TimedState[]> {
  const options = { limit, select: STATE_FIELDS, ...(before !== undefined && { before }) };
  return (await threads.getHistory(threadId, options).catch(unreadable)) ?? [];
}

/** @throws The error itself, if the server says something else than that it cannot read. */
function unreadable(error: unknown): undefined {
  if (Object(error).status !== 500) throw error;
  return undefined;
}

function statesFor(values: unknown): number {
  const list = storedListOf(values);
  if (list === undefined) return LEAST_STATES;
  return Math.min(MOST_STATES, Math.max(LEAST_STATES, Math.floor(MESSAGES_TO_READ / (list.length + 1))));
}

/*
 * Reads what the list of threads needs.
 */

const THREADS_PER_PAGE = 20;
/** The most that the API gives at once. */
const SEARCH_STEP = 1_000;
/** How many threads are searched for a part of a text. */
const MOST_SEARCHED = 5_000;
const CONCURRENCY = 4;

export const THREAD_STATUSES = ["idle", "busy", "interrupted", "error"] as const;

const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

/** What the reader asks for. */
export interface ListQuestion {
  /** A thread id, `key=value` of the metadata, or a part of an id or of the metadata. Empty: all threads. */
  readonly query: string;
  /** Empty: any. */
  readonly status: string;
  /** From 1. */
  readonly page: number;
}

/** @throws The error of the server, with its `status`. */
export async function readList(threads: ThreadsOfCaller, question: ListQuestion): Promise<ListView> {
  const { found, searched } = await findThreads(threads, question);
  const limit = pLimit(CONCURRENCY);
  const listed = found.slice(0, THREADS_PER_PAGE).map((thread) =>
    limit(async () => {
      const ref = { threadId: thread.thread_id, namespace: "" };
      const read = () =>
        readServedThread(
          threads,
          ref,
          (text) => text,
          () => 0,
        );
      // Another client can delete a thread while the list is made.
      const stored = await read().catch((error: unknown) => {
        if (Object(error).status === 404) return undefined;
        throw error;
      });
      return stored && viewListed(stored, thread.metadata);
    }),
  );
  const views = await Promise.all(listed);
  return {
    ...question,
    threads: views.filter((view) => view !== undefined),
    hasNext: found.length > THREADS_PER_PAGE,
    searched,
  };
}

interface Found {
  /** One more than a page has, if there are more. */
  readonly found: readonly ListedThread[];
  readonly searched: number | null;
}

async function findThreads(threads: ThreadsOfCaller, { query, status, page }: ListQuestion): Promise<Found> {
  const offset = (page - 1) * THREADS_PER_PAGE;
  const ofStatus = status === "" ? {} : { status };
  const list = async (filter: object): Promise<Found> => {
    const found = await threads.list({ ...ofStatus, ...filter, limit: THREADS_PER_PAGE + 1, offset });
    return { found, searched: null };
  };
  if (query === "") return list({});
  if (UUID.test(query)) return list({ ids: [query.toLowerCase()] });
  const [, key, value] = /^([\w.-]+)=(.+)$/s.exec(query) ?? [];
  if (key !== undefined && value !== undefined) return list({ metadata: { [key]: value } });

  const wanted = query.toLowerCase();
  const found: ListedThread[] = [];
  for (let start = 0; start < MOST_SEARCHED; start += SEARCH_STEP) {
    const some = await threads.list({ ...ofStatus, limit: SEARCH_STEP, offset: start });
    found.push(...some.filter((thread) => textOf(thread).includes(wanted)));
    const isEnd = some.length < SEARCH_STEP;
    if (isEnd || found.length > offset + THREADS_PER_PAGE)
      return { found: found.slice(offset), searched: null };
  }
  return { found: found.slice(offset), searched: MOST_SEARCHED };
}

function textOf({ thread_id, metadata }: ListedThread): string {
  return `${thread_id}\n${Object.values(metadata ?? {})
    .map((value) => (typeof value === "string" ? value : toJson(value)))
    .join("\n")}`.toLowerCase();
}

/*
 * What the inspector reads of the server, with the rights of the request that came in.
 */

/** A thread without its state. */
interface ListedThread extends ServedThread {
  readonly created_at?: string;
  readonly metadata?: Readonly<Record<string, unknown>> | null;
}

/** Which threads are listed, as the API of the server names it. */
interface ThreadQuery {
  readonly ids?: readonly string[];
  readonly status?: string;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly limit: number;
  readonly offset: number;
}

interface ThreadsOfCaller extends ThreadsReader {
  get(threadId: string): Promise<ListedThread>;
  /** The threads that were changed last come first. */
  list(query: ThreadQuery): Promise<readonly ListedThread[]>;
  /** The state at one checkpoint. */
  stateAt(threadId: string, checkpointId: string): Promise<ServedState>;
  /** The `context` with which a run was started. Undefined for a run without one, or one that is not known any more. */
  contextOfRun(threadId: string, runId: string): Promise<Readonly<Record<string, unknown>> | undefined>;
}

const LISTED = ["thread_id", "created_at", "updated_at", "metadata", "status"];

/**
 * The threads of the user who sends the request. Every request goes through all checks of the server, so it shows what
 * the server's own API would show. All of them read: the requests with the method POST are searches.
 *
 * @throws Each function rejects with an error that has the `status` of a refusal.
 */
export function threadsOfCaller({ req }: Context, serverFetch: ServerFetch): ThreadsOfCaller {
  const headers = new Headers({ "content-type": "application/json" });
  const credential = credentialOf(req.raw);
  const scheme = req.header("x-auth-scheme");
  if (credential !== undefined) headers.set("authorization", `Bearer ${credential}`);
  if (scheme !== undefined) headers.set("x-auth-scheme", scheme);

  const send = async (path: string, body?: object): Promise<never> => {
    const init = body === undefined ? { headers } : { headers, method: "POST", body: JSON.stringify(body) };
    const response = await serverFetch(path, init);
    if (!response.ok) throw await errorOf(response);
    return (await response.json()) as never;
  };
  /** The steps of a page and the doctor read the same states. */
  const histories = new Map<string, Promise<readonly ServedState[]>>();
  const at = (threadId: string) => `/threads/${encodeURIComponent(threadId)}`;

  return {
    list: ({ limit, offset, ...filter }) =>
      send("/threads/search", {
        ...filter,
        limit,
        offset,
        sort_by: "updated_at",
        sort_order: "desc",
        select: LISTED,
      }),
    get: async (threadId) => {
      // The thread itself would come with all of its messages.
      const [thread] = (await send("/threads/search", {
        ids: [threadId],
        limit: 1,
        select: LISTED,
      })) as ListedThread[];
      if (thread !== undefined) return thread;
      throw Object.assign(new Error("Thread not found"), { status: 404 });
    },
    getState: (threadId) => send(`${at(threadId)}/state`),
    getHistory: (threadId, options) => {
      const key = JSON.stringify([threadId, options]);
      const states = histories.get(key) ?? send(`${at(threadId)}/history`, options);
      histories.set(key, states);
      return states;
    },
    stateAt: (threadId, checkpointId) => send(`${at(threadId)}/state/${encodeURIComponent(checkpointId)}`),
    contextOfRun: async (threadId, runId) => {
      const run: unknown = await send(`${at(threadId)}/runs/${encodeURIComponent(runId)}`).catch(
        () => undefined,
      );
      const given = isRecord(run) && isRecord(run["kwargs"]) ? run["kwargs"]["context"] : undefined;
      return isRecord(given) ? given : undefined;
    },
  };
}

async function errorOf(response: Response): Promise<Error> {
  const text = (await response.text()).slice(0, 2_000);
  return Object.assign(new Error(text), { status: response.status });
}
