/** Limits of what clients can ask of the server. */

import type { Client } from "@langchain/langgraph-sdk";
import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { HTTPException } from "hono/http-exception";
import { isRecord } from "../../src/shared/values.js";
import { clientOfThisServer } from "../../src/threads/langgraph/run-host.js";
import { runOwners } from "../access/access.js";
import { EVERYBODY } from "../access/authenticate.js";
import { THREAD_RUN_ROUTES } from "./second-runs.js";

/** How many bytes of a refused body are read away. The connection of a client that goes on sending is then closed. */
const MOST_READ_AWAY = 64 * 1024 * 1024;

/**
 * Refuses a larger body, of which nothing is kept. A client reads the answer when it has sent its body, and uses the
 * connection again: if the server closed it meanwhile, the answer or the next request would be lost.
 */
export function limitBody(maxBytes: number): MiddlewareHandler {
  return bodyLimit({
    maxSize: maxBytes,
    onError: async ({ req: { raw } }) => {
      let bytes = 0;
      if (raw.body && !raw.body.locked)
        for await (const chunk of raw.body) {
          bytes += chunk.length;
          if (bytes > MOST_READ_AWAY) break;
        }
      const message = `The body of a request may have at most ${maxBytes} bytes.`;
      throw new HTTPException(413, { message });
    },
  });
}

/** The server would send the state of a thread to any address. */
export function limitWebhooks(allowedHosts: readonly string[]): MiddlewareHandler {
  return async (context, next) => {
    for (const { webhook } of await runRequestsOf(context)) {
      if (webhook === undefined || webhook === null) continue;
      const { protocol, host, username, password } = Object(
        typeof webhook === "string" && URL.canParse(webhook) && new URL(webhook),
      );
      // What `fetch` refuses would end the worker of the run.
      const isFetched = /^https?:$/.test(protocol) && !username && !password;
      if (!isFetched || !allowedHosts.includes(host))
        throw new HTTPException(403, {
          message: "This server does not call the webhook. `ALLOWED_WEBHOOKS` can name its host.",
        });
    }
    await next();
  };
}

/** Refuses a run if the user has as many that have not ended. */
export function limitRuns(most: number): MiddlewareHandler {
  const lastOf = new Map<string, Promise<void>>();
  /** Requests of one user follow one another, so that two cannot take the last place. Nothing is kept of idle users. */
  const inOrder = (user: string, work: () => Promise<void>): Promise<void> => {
    const before = lastOf.get(user) ?? Promise.resolve();
    const done = before.catch(() => {}).then(work);
    lastOf.set(user, done);
    return done.finally(() => lastOf.get(user) === done && lastOf.delete(user));
  };

  /** The threads on which each user has asked for runs here. The server does not call all of them busy that have some. */
  const threadsOf = new Map<string, Set<string>>();

  return async (context, next) => {
    const asked = (await runRequestsOf(context)).length;
    if (asked === 0) return await next();
    const user = userOf(context);
    await inOrder(user, async () => {
      const known = threadsOf.get(user) ?? new Set();
      const running = await countRuns(context, known, most);
      if (running + asked > most)
        throw new HTTPException(429, {
          message: `You have ${running} runs that have not ended, and ${most} are allowed at once. Wait for one to end.`,
        });
      const thread = context.req.param("thread");
      if (thread !== undefined) threadsOf.set(user, known.add(thread));
      await next();
    });
  };
}

/**
 * The runs of the user that wait or go on. A thread whose run fails, asks something or is cancelled is not called busy
 * any more, also if another run of it waits or goes on.
 *
 * @param known Threads that may not be called busy. Those without such runs are taken out.
 */
async function countRuns(context: Context, known: Set<string>, most: number): Promise<number> {
  const { threads, runs } = await clientOfThisServer(context.req.raw);
  const busy = await idsOfThreads(threads, { status: "busy" });
  const thread = context.req.param("thread");
  const ids = new Set([...busy, ...known, ...(thread === undefined ? [] : [thread])]);
  // A thread may be deleted meanwhile, and that of the request may be missing or another user's: the server refuses it.
  const list = (id: string, status: "pending" | "running") =>
    runs.list(id, { status, limit: most + 1 }).catch(() => []);
  const unfinished = await Promise.all(
    [...ids].map(async (id) => {
      // A run that begins between the two is in both lists. In the other order, it could be in none.
      const listed = [...(await list(id, "pending")), ...(await list(id, "running"))];
      const found = listed.filter((run) => !runOwners.isCutOff(run));
      if (found.length === 0) known.delete(id);
      return found;
    }),
  );
  return new Set(unfinished.flat().map(({ run_id }) => run_id)).size;
}

/** How many threads the server gives at once. */
const PAGE = 1000;

/** The ids of all threads that a search finds. */
export async function idsOfThreads(
  threads: Client["threads"],
  query: Parameters<Client["threads"]["search"]>[0],
): Promise<string[]> {
  const ids: string[] = [];
  for (let offset = 0; ; offset += PAGE) {
    const page = await threads.search({ ...query, limit: PAGE, offset, select: ["thread_id"] });
    ids.push(...page.map(({ thread_id }) => thread_id));
    if (page.length < PAGE) return ids;
  }
}

/*
 * Checks that the server leaves out although it has users. Each was found with @langchain/langgraph-api 1.5.1:
 *
 * - A connection to the event protocol of a thread gets the rights of the first one, whoever it is.
 * - The stream of a run is found by the id of the run, without a check of its thread.
 * - A run may name the assistant of another user.
 */

/** The routes of the event protocol. */
export const PROTOCOL_ROUTES = ["/threads/:thread/commands", "/threads/:thread/stream/events"];
/** The routes that read what a run streams. */
export const RUN_STREAM_ROUTES = ["/threads/:thread/runs/:run/stream", "/threads/:thread/runs/:run/join"];

/**
 * The thread must belong to the user. If there is none, it is made, as the protocol itself would do: otherwise its
 * connection would exist before its owner. A thread that was deleted and made again by another user stays closed,
 * because the server still has the events of the first one.
 */
export const guardProtocol: MiddlewareHandler = async (context, next) => {
  const thread = context.req.param("thread") ?? "";
  const { threads } = await clientOfThisServer(context.req.raw);
  await found("Thread", threads.create({ threadId: thread, ifExists: "do_nothing" }));
  const user = userOf(context);
  if ((firstUsers.get(thread) ?? user) !== user) throw notFound("Thread");
  firstUsers.set(thread, user);
  await next();
};

/** The users whose connections to the protocol of a thread came first. */
const firstUsers = new Map<string, string>();

/** The run must be one of the thread, and the thread one of the user. */
export const guardRunOfThread: MiddlewareHandler = async (context, next) => {
  const { thread = "", run = "" }: Partial<Record<string, string>> = context.req.param();
  const { runs } = await clientOfThisServer(context.req.raw);
  await found("Run", runs.get(thread, run));
  await next();
};

/** The run must have been started by the user, in this process. */
export const guardRun: MiddlewareHandler = async (context, next) => {
  if (runOwners.ownerOf(context.req.param("run") ?? "") !== userOf(context)) throw notFound("Run");
  await next();
};

/** The assistant of a run must be one of the user or of the server. */
export const guardAssistants: MiddlewareHandler = async (context, next) => {
  const { assistants } = await clientOfThisServer(context.req.raw);
  for (const { assistant } of await runRequestsOf(context))
    if (assistant !== undefined) await found("Assistant", assistants.get(assistant));
  await next();
};

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
  "/runs",
  "/runs/stream",
  "/runs/wait",
  "/runs/batch",
  "/runs/crons",
  ...THREAD_RUN_ROUTES,
  "/threads/:thread/runs/crons",
  "/threads/:thread/commands",
];

const STARTING_COMMANDS: readonly unknown[] = ["run.start", "input.respond"];

/** A request without a run gives an empty list, and so does one that the server will refuse. */
async function runRequestsOf({ req }: Context) {
  if (req.method !== "POST") return [];
  const body: unknown = await req.json().catch(() => undefined);
  return [body].flat().flatMap((entry: unknown) => {
    const isCommand = isRecord(entry) && "method" in entry && req.path.endsWith("/commands");
    const run = isCommand ? entry["params"] : entry;
    if (isCommand && !STARTING_COMMANDS.includes(entry["method"])) return [];
    if (!isRecord(run)) return [];
    const { assistant_id: assistant, webhook } = run;
    // A command that goes on with a run names none, and neither does what the server will refuse.
    return [{ assistant: typeof assistant === "string" ? assistant : undefined, webhook }];
  });
}

/** The user of a request, as the server has authenticated it. */
function userOf(context: Context): string {
  const identity: unknown = Object(Object(context.get("auth")).user).identity;
  return typeof identity === "string" ? identity : EVERYBODY;
}
