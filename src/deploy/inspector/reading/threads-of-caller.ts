/** What the inspector reads of the server, with the rights of the request that came in. */

import type { Context } from "hono";
import type { ServedState, ServedThread, ThreadsReader } from "../../../doctor/targets/server-target.js";
import { isRecord } from "../../../shared/values.js";
import type { ServerFetch } from "../../../threads/langgraph/run-host.js";
import { credentialOf } from "../../access/credential.js";

/** A thread without its state. */
export interface ListedThread extends ServedThread {
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

export interface ThreadsOfCaller extends ThreadsReader {
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
