/**
 * Checks that the server leaves out although it has users. Each was found with @langchain/langgraph-api 1.5.1:
 *
 * - A connection to the event protocol of a thread gets the rights of the first one, whoever it is.
 * - The stream of a run is found by the id of the run, without a check of its thread.
 * - A run may name the assistant of another user.
 */

import type { Context, MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import type { ServerFetch } from "../../threads/langgraph/run-host.js";
import type { RunOwners } from "../access/run-owners.js";
import { runRequestsOf } from "./run-requests.js";
import { userOf } from "./user-of.js";

interface UserGuards {
  readonly runOwners: RunOwners;
  readonly serverFetch: ServerFetch;
}

/** The routes of the event protocol. */
export const PROTOCOL_ROUTES = ["/threads/:thread/commands", "/threads/:thread/stream/events"];
/** The routes that read what a run streams. */
export const RUN_STREAM_ROUTES = ["/threads/:thread/runs/:run/stream", "/threads/:thread/runs/:run/join"];

/**
 * One guard for all routes of the protocol. The thread must belong to the user. If there is none, it is made, as the protocol itself would do: otherwise its
 * connection would exist before its owner. A thread that was deleted and made again by another user stays closed,
 * because the server still has the events of the first one.
 */
export function guardProtocol({ serverFetch }: UserGuards): MiddlewareHandler {
  const firstUsers = new Map<string, string>();
  return async (context, next) => {
    const thread = context.req.param("thread") ?? "";
    const body = JSON.stringify({ thread_id: thread, if_exists: "do_nothing" });
    const { ok } = await serverFetch("/threads", { ...asUser(context), method: "POST", body });
    const user = userOf(context);
    if (!ok || (firstUsers.get(thread) ?? user) !== user) throw notFound("Thread");
    firstUsers.set(thread, user);
    await next();
  };
}

/** The run must be one of the thread, and the thread one of the user. */
export function guardRunOfThread({ serverFetch }: UserGuards): MiddlewareHandler {
  return async (context, next) => {
    const thread = context.req.param("thread") ?? "";
    const run = context.req.param("run") ?? "";
    const path = `/threads/${encodeURIComponent(thread)}/runs/${encodeURIComponent(run)}`;
    if (!(await serverFetch(path, asUser(context))).ok) throw notFound("Run");
    await next();
  };
}

/** The run must have been started by the user, in this process. */
export function guardRun({ runOwners }: UserGuards): MiddlewareHandler {
  return async (context, next) => {
    if (runOwners.ownerOf(context.req.param("run") ?? "") !== userOf(context)) throw notFound("Run");
    await next();
  };
}

/** The assistant of a run must be one of the user or of the server. */
export function guardAssistants({ serverFetch }: UserGuards): MiddlewareHandler {
  return async (context, next) => {
    for (const { assistant } of await runRequestsOf(context)) {
      if (assistant === undefined) continue;
      const path = `/assistants/${encodeURIComponent(assistant)}`;
      if (!(await serverFetch(path, asUser(context))).ok) throw notFound("Assistant");
    }
    await next();
  };
}

/** A request of the server to itself, with the rights of the one that came in. */
export function asUser({ req }: Context): RequestInit {
  const headers = new Headers({ "content-type": "application/json" });
  for (const name of ["authorization", "x-api-key", "x-auth-scheme"]) {
    const value = req.header(name);
    if (value !== undefined) headers.set(name, value);
  }
  return { headers };
}

function notFound(what: string): HTTPException {
  return new HTTPException(404, { message: `${what} not found` });
}
