/** Reads what the list of threads needs. */

import pLimit from "p-limit";
import { readServedThread } from "../../../doctor/targets/server-target.js";
import { toJson } from "../../../shared/json.js";
import { type ListView, viewListed } from "../view/list-view.js";
import type { ListedThread, ThreadsOfCaller } from "./threads-of-caller.js";

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
