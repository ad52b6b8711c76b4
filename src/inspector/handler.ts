/** The inspector: pages that show what a thread stores, and what a model gets of it. They change nothing. */

import { z } from "zod/v4";
import { hintAtStore, storeRule } from "../doctor/graph-store.js";
import { threadsOfClient } from "../doctor/targets/server-target.js";
import { HIDDEN } from "../doctor/targets/target.js";
import type { ThreadStore } from "../doctor/thread-store.js";
import { toPlain } from "../history/message.js";
import { aFunction, checkGiven, checkSettings, flag, type Rules, text } from "../shared/check-settings.js";
import { decoded, printableLine } from "../shared/text.js";
import { clientOfThisServer } from "../threads/langgraph/run-host.js";
import { HEADERS, threadLink } from "./html/layout.js";
import { errorPage, listPage } from "./html/list-page.js";
import { Markup } from "./html/markup.js";
import { threadPage } from "./html/thread-page.js";
import { admitThisMachine } from "./this-machine.js";
import { LIST_PARAMETERS, readQuery, THREAD_PARAMETERS } from "./view/query.js";
import {
  type ListView,
  readArchives,
  readListView,
  readThread,
  type SettingsOf,
} from "./view/read-threads.js";
import { refusal } from "./view/refusal.js";
import type { RequestDifference } from "./view/request.js";
import { type ThreadView, viewThread } from "./view/thread-view.js";
import { curlCommand, wireRequest } from "./wire-request.js";

/** What `createInspector` gets. */
export interface InspectorOptions {
  /**
   * The threads that a request may see: a store, or a function that returns one.
   *
   * Contract of the function: called for each request, and may reject. What it returns is not closed.
   *
   * @default those of the LangGraph server that runs this code, with the request's rights. It needs the package
   * `@langchain/langgraph-sdk`
   */
  readonly threads?: ThreadStore | ((request: Request) => ThreadStore | Promise<ThreadStore>) | undefined;
  /**
   * Whether the caller is checked before the inspector is called. If not, it answers only programs on this machine, and
   * only if a server for Node calls it with `env`.
   *
   * @default false
   */
  readonly isProtected?: boolean | undefined;
  /**
   * The settings with which a graph asks its model, by the graph's name: the `graph_id` in its threads' metadata.
   *
   * Contract: never rejects. Undefined for a graph whose settings are unknown.
   *
   * @default no settings are known
   */
  readonly settingsOf?: SettingsOf | undefined;
  /**
   * The beginning of the command that repairs the threads, such as `npx langgraph-tether repair --sqlite threads.db`.
   *
   * @default for the server's own threads, the command with its address; otherwise none is shown
   */
  readonly repairCommand?: string | undefined;
}

/**
 * Answers requests whose path begins with `/tether`.
 *
 * @param env What a Hono server passes to its handlers. It tells who asks.
 */
export type InspectorHandler = (request: Request, env?: unknown) => Promise<Response>;

const INSPECTOR_RULES = {
  threads: {
    schema: z.union([aFunction().schema, storeRule.schema]),
    expects: "a store of threads, or a function that returns one for a request",
    hint: hintAtStore,
  },
  isProtected: flag,
  settingsOf: aFunction(),
  repairCommand: text,
} satisfies Rules;

/**
 * Makes a handler for the pages `/tether` and `/tether/threads/ID`, and for both as JSON. It only reads.
 *
 * @throws InvalidSettingError for a wrong option.
 * @example
 * ```ts
 * import { createInspector } from "langgraph-tether/inspector";
 *
 * const inspector = createInspector();
 * // With Hono, in the file that `http.app` of langgraph.json names:
 * // app.all("/tether/*", ({ req, env }) => inspector(req.raw, env));
 * const { status } = await inspector(new Request("http://localhost/tether"));
 * console.log(status); // 403
 * ```
 */
export function createInspector(options: InspectorOptions = {}): InspectorHandler {
  checkSettings(options, INSPECTOR_RULES, "options");
  const {
    threads = threadsOfThisServer,
    isProtected = false,
    settingsOf = async () => undefined,
    repairCommand,
  } = options;
  const storeFor = async (request: Request): Promise<ThreadStore> => {
    const store = typeof threads === "function" ? await threads(request) : threads;
    checkGiven("threads(request)", store, storeRule);
    return store;
  };
  const answer = async (request: Request, env: unknown): Promise<Response> => {
    if (request.method !== "GET" && request.method !== "HEAD")
      return respond("The inspector only reads.", "text/plain", 405, { allow: "GET, HEAD" });
    if (!isProtected) admitThisMachine(request, env);
    const { pathname, searchParams, origin } = new URL(request.url);
    const [, , folder = "", id = "", ...more] = pathname.replace(/\.json$/, "").split("/");
    if (more.length > 0 || (folder !== "threads" && folder !== "")) throw refusal(404);
    if (id === "") {
      const asked = readQuery(searchParams, LIST_PARAMETERS);
      const view = await readListView(await storeFor(request), asked);
      return isJson(request) ? json(listJson(view)) : page(listPage(view, Date.now()));
    }
    const { at, as, ...chosen } = readQuery(searchParams, THREAD_PARAMETERS);
    const threadId = decoded(id);
    const store = await storeFor(request);
    const reading = await readThread(store, { ...chosen, threadId }, settingsOf);
    const view = viewThread(reading, chosen);
    if (at !== undefined) {
      const place = `stored-${Math.min(at, view.totals.stored)}`;
      const address = threadLink(threadId, { ...chosen, page: view.pageOfPlace(place) });
      return respond("", "text/plain", 303, { location: `${address}#${place}` });
    }
    if (as !== undefined) {
      const wire = view.isAsked ? await wireRequest(view) : "The model is not asked at this step.";
      if (typeof wire === "string") return respond(printableLine(wire), "text/plain", 404);
      return as === "wire" ? json(wire.body as object) : respond(curlCommand(wire), "text/plain");
    }
    if (isJson(request)) return json(threadJson(view));
    const repair =
      repairCommand ??
      (store.target === THIS_SERVER ? `npx langgraph-tether repair --url ${origin}` : undefined);
    const isBusy = view.isLatest && view.report.status === "busy" && view.knowsRuns;
    const shown = view.rows.flatMap((row) => ("rows" in row ? row.rows : row));
    const archives = await readArchives(
      store,
      threadId,
      shown.flatMap(({ message }) => message ?? []),
    );
    const about = { now: Date.now(), repair, isLive: isBusy, studio: studioOf(store, origin) };
    return page(threadPage(view, archives, chosen, about));
  };
  return async function inspect(request, env) {
    try {
      return await answer(request, env);
    } catch (error) {
      return answerRefusal(error, request);
    }
  };
}

/** The threads that a request may see on this process's LangGraph server. */
export async function threadsOfThisServer(request: Pick<Request, "headers">): Promise<ThreadStore> {
  return threadsOfClient(await clientOfThisServer(request), THIS_SERVER);
}

const THIS_SERVER = "this server";

/** The address of a LangGraph server, which Studio opens. */
function studioOf({ target, knowsRuns }: ThreadStore, origin: string): string | undefined {
  const address = target === THIS_SERVER ? origin : target;
  return knowsRuns === true && !address.includes(HIDDEN) && URL.canParse(address) ? address : undefined;
}

/*
 * Responses.
 */

function respond(text: string, type: string, status = 200, more: Record<string, string> = {}): Response {
  const headers = { "content-type": `${type}; charset=UTF-8`, ...HEADERS, ...more };
  return new Response(text, { status, headers });
}

export const page = (markup: Markup, status?: number): Response =>
  respond(Markup.of(markup), "text/html", status);
const json = (value: object, status?: number): Response =>
  respond(JSON.stringify(value), "application/json", status);

const isJson = ({ url }: Request): boolean => new URL(url).pathname.endsWith(".json");

/**
 * Answers what the server has refused. Another user's thread is not found, as in the server's own API. A server reports
 * an id of another form with the status 400 or 422.
 *
 * @throws The error itself if it is not a refusal. The server logs it, and answers with status 500.
 */
function answerRefusal(error: unknown, request: Request): Response {
  const { name, status, message } = Object(error);
  const refuse = (code: number, title: string, reason = printableLine(String(message))) =>
    isJson(request) ? json({ error: reason }, code) : page(errorPage(title, reason), code);
  if (name === "InvalidSettingError") return refuse(400, "Not understood");
  if ([401, 403].includes(status)) return refuse(status, "Not allowed");
  if ([400, 404, 422].includes(status))
    return refuse(404, "Not found", "There is no thread or step with this id.");
  throw error;
}

/*
 * The pages as JSON. The fields are stable.
 */

/** `/tether.json`: each thread's doctor's report, and what else the list shows. */
function listJson({ threads, page, count, hasNext, searched }: ListView): object {
  return {
    schemaVersion: 1,
    page,
    count: count ?? null,
    hasNext,
    searched,
    threads: threads.map(({ report, lastRepair, ...shown }) => {
      const { schemaVersion: _, ...told } = report;
      const repair = lastRepair && { word: lastRepair.mark.word, index: lastRepair.position - 1 };
      return { ...told, ...shown, lastRepair: repair };
    }),
  };
}

/**
 * `/tether/threads/:id.json`: the thread's doctor's report, and the step's request. It has all messages, not only one
 * page's.
 */
function threadJson(view: ThreadView): object {
  const { report, moment, difference, explanation, history } = view;
  const { dialect, modelId, maxTokens, maxToolCallsFromHistory } = view.form.options;
  const next = moment.kind === "next" ? moment : undefined;
  const stored: object[] = [];
  const additions: object[] = [];
  for (const [index, message] of history.entries()) {
    const kind = next?.added.get(message);
    const told = { ...explanation.stored[index], message: toPlain(message) };
    const { inputIndexes } = told;
    if (kind === undefined) stored.push({ ...told, index: stored.length });
    else additions.push({ kind, isGuess: next?.guessed.has(message), inputIndexes, message: told.message });
  }
  return {
    ...report,
    graph: view.graph ?? null,
    title: view.title,
    updatedAt: view.updatedAt ?? null,
    repairedBy: view.repairedBy ?? null,
    step: view.step ?? null,
    steps: view.steps,
    moment: next === undefined ? moment : { kind: "next" },
    summary: view.summary === undefined ? null : { covered: view.summary.covered.length },
    errors: view.errors,
    story: view.story,
    request: {
      isMade: view.isMade,
      dialect,
      dialectOrigin: view.form.origin,
      reduced: view.form.reduced ?? [],
      modelId: modelId ?? null,
      maxTokens: maxTokens ?? null,
      maxToolCallsFromHistory: maxToolCallsFromHistory ?? null,
      ...view.totals,
      brokenRules: view.brokenInRequest,
    },
    since: difference === undefined ? null : sinceJson(difference),
    stored,
    additions,
    added: explanation.added,
    input: explanation.input.map((message) => toPlain(message)),
  };
}

function sinceJson({ to, isPrefixKept, prefix, counts }: RequestDifference): object {
  return { checkpointId: to?.checkpointId, isPrefixKept, prefix, ...counts };
}
