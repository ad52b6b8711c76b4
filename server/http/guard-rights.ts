/**
 * Checks that the server leaves out although it has users. Each was found with @langchain/langgraph-api 1.5.1:
 *
 * - A connection to the event protocol of a thread gets the rights of the first one, whoever it is.
 * - The stream of a run is found by the id of the run, without a check of its thread.
 * - A run may name the assistant of another user.
 * - A run may name a webhook at any address, and the server sends the state of the thread there.
 */

import type { Context, MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import { safely } from "../../src/shared/json.js";
import { recordsIn, textIn } from "../../src/shared/values.js";
import { clientOfThisServer } from "../../src/threads/langgraph/run-host.js";
import { THREAD_RUN_ROUTES } from "./second-runs.js";

/** The routes of the event protocol. */
export const PROTOCOL_ROUTES = ["/threads/:thread/commands", "/threads/:thread/stream/events"];
/** The routes that read what a run streams. */
export const RUN_STREAM_ROUTES = ["/threads/:thread/runs/:run/:end{stream|join}", "/runs/:run/stream"];

/**
 * The thread must belong to the user. If there is none, it is made, as the protocol itself would do: otherwise its
 * connection would exist before its owner. A thread that was deleted and made again by another user stays closed,
 * because the server still has the events of the first one.
 */
export const guardProtocol: MiddlewareHandler = async (context, next) => {
  const thread = context.req.param("thread") ?? "";
  const { threads } = await clientOfThisServer(context.req.raw);
  await found("Thread", threads.create({ threadId: thread, ifExists: "do_nothing" }));
  const user = textIn(Object(context.get("auth")).user, "identity");
  if ((firstUsers.get(thread) ?? user) !== user) throw notFound("Thread");
  firstUsers.set(thread, user);
  await next();
};

/** The users whose connections to the protocol of a thread came first. */
const firstUsers = new Map<string, string | undefined>();

/** The run must be one of the thread, and the thread one of the user. A run without a thread has nobody who could be asked. */
export const guardRunOfThread: MiddlewareHandler = async (context, next) => {
  const { thread = "", run = "" }: Partial<Record<string, string>> = context.req.param();
  const { runs } = await clientOfThisServer(context.req.raw);
  await found("Run", runs.get(thread, run));
  await next();
};

/** The assistant of a run must be one of the user or of the server. */
export const guardAssistants: MiddlewareHandler = async (context, next) => {
  const { assistants } = await clientOfThisServer(context.req.raw);
  for (const { assistant } of await runRequestsOf(context))
    if (assistant !== undefined) await found("Assistant", assistants.get(assistant));
  await next();
};

/** The server would send the state of a thread to any address. What `fetch` refuses would end the worker of the run. */
export function limitWebhooks(allowedOrigins: readonly string[]): MiddlewareHandler {
  return async (context, next) => {
    for (const { webhook } of await runRequestsOf(context)) {
      const address = typeof webhook === "string" ? safely(() => new URL(webhook).href) : undefined;
      if (webhook != null && !allowedOrigins.some((origin) => address?.startsWith(`${origin}/`)))
        throw new HTTPException(403, {
          message: "This server does not call the webhook. `ALLOWED_WEBHOOKS` can name its origin.",
        });
    }
    await next();
  };
}

/** @throws HTTPException if the server does not answer the user's request. */
async function found(what: string, asked: Promise<unknown>): Promise<void> {
  await asked.catch(() => {
    throw notFound(what);
  });
}

function notFound(what: string): HTTPException {
  return new HTTPException(404, { message: `${what} not found` });
}

/*
 * The runs that a request asks for.
 */

/** The routes that start runs. */
export const RUN_ROUTES = [
  ...["", "/stream", "/wait", "/batch", "/crons"].map((end) => `/runs${end}`),
  ...THREAD_RUN_ROUTES,
  ...["/runs/crons", "/commands"].map((end) => `/threads/:thread${end}`),
];

/** A command has its run in `params`. Of other requests this field is not read, but to check it does no harm. */
async function runRequestsOf({ req }: Context) {
  if (req.method !== "POST") return [];
  const body: unknown = await req.json().catch(() => undefined);
  const runs = recordsIn([body].flat().flatMap((entry: unknown) => [entry, Object(entry).params]));
  return runs.map((run) => ({ assistant: textIn(run, "assistant_id"), webhook: run["webhook"] }));
}
