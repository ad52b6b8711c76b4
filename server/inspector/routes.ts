/** The inspector: pages that show what is stored in a thread, and what a model is sent of it. They change nothing. */

import { type Context, Hono, type HonoRequest, type MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { toPlain } from "../../src/history/message.js";
import { identityOf } from "../../src/providers/dialect-of.js";
import { windowOf } from "../../src/providers/failure/overflow.js";
import { createModel } from "../../src/providers/models/create-model.js";
import { isRecord } from "../../src/shared/values.js";
import type { ServerFetch } from "../../src/threads/langgraph/run-host.js";
import { hostnameOf, isThisMachine } from "../access/authenticate.js";
import { readSettings } from "../settings.js";
import { HEADERS } from "./html/layout.js";
import { errorPage, listPage } from "./html/list-page.js";
import { type Chosen, threadPage } from "./html/thread-page.js";
import {
  type ListQuestion,
  readList,
  readThread,
  THREAD_STATUSES,
  type ThreadQuestion,
  threadsOfCaller,
} from "./read-threads.js";
import type { ListView } from "./view/list-view.js";
import type { ServedForm } from "./view/request-form.js";
import { isDialectName, type ThreadView, viewThread } from "./view/thread-view.js";

interface InspectorOptions {
  readonly serverFetch: ServerFetch;
  /** Whether the server has users. Without them the inspector answers programs of this machine only. */
  readonly hasUsers: boolean;
  /**
   * Contract: resolves to the settings with which this server asks the model of a graph; undefined for a graph whose
   * settings it does not know. Never rejects.
   */
  readonly servedForm: () => Promise<(graph: string | undefined) => ServedForm | undefined>;
}

const PATHS = ["/tether", "/tether/", "/tether.json", "/tether/threads/*"];

/** Makes the routes `/tether` and `/tether/threads/:id`, and both with `.json`. */
export function createInspector({ serverFetch, hasUsers, servedForm }: InspectorOptions): Hono {
  const app = new Hono();
  for (const path of PATHS) {
    app.use(path, setHeaders, readOnly);
    if (!hasUsers) app.use(path, admitThisMachine);
  }

  const list = (context: Context) =>
    readList(threadsOfCaller(context, serverFetch), listQuestionOf(context.req));
  const thread = async (context: Context, threadId: string) => {
    const question = threadQuestionOf(context.req, threadId);
    const forms = await servedForm();
    const servedFor = (graph: string | undefined) => {
      const form = forms(graph);
      // The operator's instructions are not for users.
      return form && hasUsers ? { ...form, systemPrompt: undefined } : form;
    };
    const reading = await readThread(threadsOfCaller(context, serverFetch), question, servedFor);
    return viewThread(reading, question.page);
  };

  app.get("/tether", async (context) => context.html(listPage(await list(context))));
  app.get("/tether/", (context) => context.redirect("/tether"));
  app.get("/tether.json", async (context) => context.json(listJson(await list(context))));
  app.get("/tether/threads/:id", async (context) => {
    const given = context.req.param("id");
    const id = given.replace(/\.json$/, "");
    const view = await thread(context, id);
    if (id !== given) return context.json(threadJson(view));
    return context.html(threadPage(view, chosenIn(context.req), hasUsers));
  });
  app.onError(answerError);
  return app;
}

const setHeaders: MiddlewareHandler = async (context, next) => {
  await next();
  for (const [name, value] of Object.entries(HEADERS)) context.res.headers.set(name, value);
};

const readOnly: MiddlewareHandler = async ({ req, text }, next) => {
  if (req.method !== "GET" && req.method !== "HEAD")
    return text("The inspector only reads.", 405, { allow: "GET, HEAD" });
  await next();
  return undefined;
};

/** A proxy sets one of these. Its own address says nothing about the client. */
const PROXY_HEADER = /^(?:forwarded|via|x-forwarded-.*|x-real-ip|(?:[a-z]+-)*(?:client|connecting)-ip)$/;

/**
 * Refuses what does not come from a program of this machine, for a server without access control. Such a server may
 * listen for everybody (`OPEN_ACCESS`), and a page that reads all threads is not a part of that.
 *
 * The connection must come from this machine. The request must name it too: a page of another site can let its own name
 * point here (DNS rebinding), and the browser then sends that name. A page of another site that asks for this machine by
 * its name says so in `Origin`, and the server would let it read the answer.
 */
export const admitThisMachine: MiddlewareHandler = async ({ req, env }, next) => {
  const host = req.header("host");
  const hostname = host === undefined ? undefined : hostnameOf(`http://${host}`);
  const origin = req.header("origin");
  const isLocal =
    isLoopback(remoteAddressOf(env)) &&
    isOurs(hostname) &&
    (origin === undefined || isOurs(hostnameOf(origin))) &&
    ![...req.raw.headers.keys()].some((name) => PROXY_HEADER.test(name));
  if (!isLocal)
    throw new HTTPException(403, {
      message:
        "This server has no access control, so the inspector answers programs of this machine only. Open it as http://localhost, or set `AUTH_API_KEYS`.",
    });
  await next();
};

const isOurs = (hostname: string | undefined): boolean => hostname !== undefined && isThisMachine(hostname);

/** The address of the other end, as Hono's server for Node tells it. Undefined where another server runs the app. */
function remoteAddressOf(env: unknown): string | undefined {
  const incoming = isRecord(env) ? env["incoming"] : undefined;
  const socket = isRecord(incoming) ? incoming["socket"] : undefined;
  const address = isRecord(socket) ? socket["remoteAddress"] : undefined;
  return typeof address === "string" ? address : undefined;
}

function isLoopback(address: string | undefined): boolean {
  return address === "::1" || /^(?:::ffff:)?127(?:\.\d{1,3}){3}$/.test(address ?? "");
}

/** What a reader is told of a refusal. The server says that an id has another form with the status 400 or 422. */
const REFUSALS: Readonly<Record<number, readonly [status: 403 | 404, title: string, text: string]>> = {
  400: [404, "Not found", "There is no thread or step with this id."],
  404: [404, "Not found", "There is no thread or step with this id."],
  422: [404, "Not found", "There is no thread or step with this id."],
  403: [403, "Not allowed", ""],
};

/**
 * Answers what the server has refused. A thread of another user is not found, as in the server's own API.
 *
 * @throws The error itself if it is no refusal. The server logs it, and answers with status 500.
 */
async function answerError(error: Error, context: Context): Promise<Response> {
  const refusal = REFUSALS[Number(Reflect.get(error, "status"))];
  if (refusal === undefined) throw error;
  const [status, title, text] = refusal;
  const message = text === "" ? error.message : text;
  return context.req.path.endsWith(".json")
    ? context.json({ error: message }, status)
    : context.html(errorPage(title, message), status);
}

/*
 * What a request asks for. A value that cannot be used counts as missing, because a reader may have typed it.
 */

const LONGEST_QUERY = 200;
const UUID = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;

function listQuestionOf(request: HonoRequest): ListQuestion {
  const status = request.query("status") ?? "";
  return {
    query: (request.query("q") ?? "").trim().slice(0, LONGEST_QUERY),
    status: THREAD_STATUSES.some((known) => known === status) ? status : "",
    page: countIn(request.query("page")) ?? 1,
  };
}

function chosenIn(request: HonoRequest): Chosen & Pick<ThreadQuestion, "dialect"> {
  const step = request.query("step");
  const dialect = request.query("dialect");
  return {
    step: step !== undefined && UUID.test(step) ? step : undefined,
    dialect: isDialectName(dialect) ? dialect : undefined,
    maxTokens: countIn(request.query("maxTokens")),
  };
}

function threadQuestionOf(
  request: HonoRequest,
  threadId: string,
): ThreadQuestion & { readonly page: number | undefined } {
  return { threadId, ...chosenIn(request), page: countIn(request.query("page")) };
}

function countIn(text: string | undefined): number | undefined {
  return text !== undefined && /^[1-9]\d{0,8}$/.test(text) ? Number(text) : undefined;
}

/*
 * With which settings this server asks its model.
 */

/** The name of the graph that `src/deploy/agent.ts` makes, in `langgraph.json`. */
const SERVED_GRAPH = "agent";

type Environment = Readonly<Record<string, string | undefined>>;

/** Makes a function that reads the settings when it is called first. A model that cannot be made has no window. */
export function servedFormOf(
  environment: Environment,
): () => Promise<(graph: string | undefined) => ServedForm | undefined> {
  let reading: Promise<ServedForm> | undefined;
  return async () => {
    reading ??= readForm(environment);
    const form = await reading;
    return (graph) => (graph === SERVED_GRAPH ? form : undefined);
  };
}

async function readForm(environment: Environment): Promise<ServedForm> {
  const { options } = readSettings(environment);
  const { systemPrompt, maxToolCallsFromHistory } = options;
  const spec: unknown = options.model;
  const model = typeof spec === "string" ? await createModel(spec).catch(() => undefined) : undefined;
  const { dialect, modelId } =
    model === undefined ? { dialect: "strict" as const, modelId: undefined } : identityOf(model);
  const maxTokens = model && windowOf(model);
  return {
    dialect: options.dialect ?? dialect,
    systemPrompt,
    ...(modelId !== undefined && { modelId }),
    ...(maxToolCallsFromHistory !== undefined && { maxToolCallsFromHistory }),
    ...(maxTokens !== undefined && { maxTokens }),
  };
}

/*
 * The pages as JSON. The fields are stable.
 */

/** `/tether.json`: for each thread the doctor's report, and what the list shows besides. */
function listJson({ threads, page, hasNext, searched }: ListView): object {
  return {
    schemaVersion: 1,
    page,
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
 * `/tether/threads/:id.json`: the doctor's report of the thread, and the request of the step. It has all messages, not
 * only those of one page.
 */
function threadJson({
  report,
  graph,
  title,
  updatedAt,
  soundness,
  step,
  steps,
  form: { options, origin },
  brokenInRequest: brokenRules,
  totals,
  difference,
  explanation,
  history,
}: ThreadView): object {
  const { dialect, modelId = null, maxTokens = null, maxToolCallsFromHistory = null } = options;
  const form = { dialect, dialectOrigin: origin, modelId, maxTokens, maxToolCallsFromHistory };
  const since = difference && {
    checkpointId: difference.to.checkpointId,
    isPrefixKept: difference.isPrefixKept,
    prefix: difference.prefix,
    ...difference.counts,
  };
  return {
    ...report,
    graph: graph ?? null,
    title,
    updatedAt: updatedAt ?? null,
    soundness,
    step: step ?? null,
    steps,
    request: { ...form, ...totals, brokenRules },
    since: since ?? null,
    stored: explanation.stored.map((told, index) => ({ ...told, message: plainAt(history, index) })),
    added: explanation.added,
    input: explanation.input.map((message) => toPlain(message)),
  };
}

function plainAt(history: ThreadView["history"], index: number): object | null {
  const message = history[index];
  return message === undefined ? null : toPlain(message);
}
