/** Limits of what clients can ask of the server. */

import type { Context, MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { HTTPException } from "hono/http-exception";
import type { ServerFetch } from "../../threads/langgraph/run-host.js";
import { asUser } from "./guard-users.js";
import { runRequestsOf } from "./run-requests.js";
import { userOf } from "./user-of.js";

/** Refuses a larger body before it is read to its end. */
export function limitBody(maxBytes: number): MiddlewareHandler {
  return bodyLimit({
    maxSize: maxBytes,
    onError: () => {
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
      const host = typeof webhook === "string" && URL.canParse(webhook) ? new URL(webhook).host : undefined;
      if (host === undefined || !allowedHosts.includes(host))
        throw new HTTPException(403, {
          message: "This server does not call the webhook. `ALLOWED_WEBHOOKS` can name its host.",
        });
    }
    await next();
  };
}

/** Refuses a run if the user has as many that have not ended. */
export function limitRuns(most: number, serverFetch: ServerFetch): MiddlewareHandler {
  const lastOf = new Map<string, Promise<unknown>>();

  /** Requests of one user follow one another, so that two cannot take the last place. */
  async function inOrder<Result>(user: string, work: () => Promise<Result>): Promise<Result> {
    const before = lastOf.get(user);
    const done = (async () => {
      await before?.catch(() => {});
      return await work();
    })();
    lastOf.set(user, done);
    try {
      return await done;
    } finally {
      if (lastOf.get(user) === done) lastOf.delete(user);
    }
  }

  return async (context, next) => {
    const asked = (await runRequestsOf(context)).length;
    if (asked === 0) return await next();
    await inOrder(userOf(context), async () => {
      const running = await countRuns(context, most, serverFetch);
      if (running + asked > most)
        throw new HTTPException(429, {
          message: `You have ${running} runs that have not ended, and ${most} are allowed at once. Wait for one to end.`,
        });
      await next();
    });
  };
}

/** The threads of the user that are busy have one run each. The thread of the request can have more, which wait. */
async function countRuns(context: Context, most: number, serverFetch: ServerFetch): Promise<number> {
  const init = asUser(context);
  const body = JSON.stringify({ status: "busy" });
  const busy = await serverFetch("/threads/count", { ...init, method: "POST", body });
  const threads = Number(await busy.json());
  const thread = context.req.param("thread");
  if (thread === undefined) return threads;
  const path = `/threads/${encodeURIComponent(thread)}/runs?status=pending&limit=${most + 1}`;
  const waiting = await serverFetch(path, init);
  const runs: unknown = waiting.ok ? await waiting.json() : [];
  // One of a thread that is busy only with waiting runs is counted already.
  return threads + (Array.isArray(runs) ? Math.max(0, runs.length - 1) : 0);
}
