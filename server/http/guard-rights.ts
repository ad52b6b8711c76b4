/**
 * Checks that the server leaves out although it has users. Each was found with @langchain/langgraph-api 1.5.1:
 *
 * - A connection to a thread's event protocol gets the first one's rights, whoever it is.
 * - A run's stream is found by the run's id, without a check of its thread.
 * - A run may name another user's assistant.
 * - A run may name a webhook at any address, and the server sends the thread's state there.
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
 * connection would exist before its owner. A thread that was deleted, and made again by another user, stays closed,
 * because the server still has the first one's events.
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

/** The users who first connected to a thread's protocol. */
const firstUsers = new Map<string, string | undefined>();

/**
 * The run must belong to the thread, and the thread to the user. A run without a thread has nobody who could be asked.
 */
export const guardRunOfThread: MiddlewareHandler = async (context, next) => {
  const { thread = "", run = "" }: Partial<Record<string, string>> = context.req.param();
  const { runs } = await clientOfThisServer(context.req.raw);
  await found("Run", runs.get(thread, run));
  await next();
};

/** A run's assistant must be the user's or the server's. */
export const guardAssistants: MiddlewareHandler = async (context, next) => {
  const { assistants } = await clientOfThisServer(context.req.raw);
  for (const { assistant } of await runRequestsOf(context))
    if (assistant !== undefined) await found("Assistant", assistants.get(assistant));
  await next();
};

/** The server would send a thread's state to any address. What `fetch` refuses would end the run's worker. */
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

/** A command has its run in `params`. Other requests' field is not read, but checking it does no harm. */
async function runRequestsOf({ req }: Context) {
  if (req.method !== "POST") return [];
  const body: unknown = await req.json().catch(() => undefined);
  const runs = recordsIn([body].flat().flatMap((entry: unknown) => [entry, Object(entry).params]));
  return runs.map((run) => ({ assistant: textIn(run, "assistant_id"), webhook: run["webhook"] }));
}
