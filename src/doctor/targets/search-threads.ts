/** Finds the threads of a LangGraph server, page by page. */

import type { ThreadRef, ThreadSelection } from "../thread-store.js";
import type { ThreadsClient } from "./served-state.js";

const PAGE = 100;
/** How often pages may move before another thread is found. */
const MOST_RESTARTS = 20;

/** The oldest threads come first, so a thread that is made meanwhile moves no other one to another page. */
export async function* searchThreads(
  threads: ThreadsClient,
  { threadIds, metadata, status, since, limit = Number.POSITIVE_INFINITY }: ThreadSelection,
): AsyncGenerator<ThreadRef> {
  const seen = new Set<string>();
  let count = 0;
  let offset = 0;
  let last: string | undefined;
  let restarts = 0;
  for (;;) {
    const page = await threads.search({
      ...(threadIds !== undefined && { ids: [...threadIds] }),
      ...(metadata !== undefined && { metadata }),
      ...(status !== undefined && { status }),
      sortBy: "created_at",
      sortOrder: "asc",
      limit: PAGE,
      offset,
      select: ["thread_id", "updated_at"],
    });
    // A page begins with the last thread of the page before. If it does not, a thread was deleted meanwhile, and
    // others may have moved to an earlier page.
    if (last !== undefined && page[0]?.thread_id !== last) {
      restarts += 1;
      if (restarts > MOST_RESTARTS)
        throw new Error("The server lists its threads in another order with each request.");
      offset = Math.max(0, offset - PAGE);
      last = undefined;
      continue;
    }
    for (const { thread_id, updated_at } of page) {
      if (seen.has(thread_id)) continue;
      seen.add(thread_id);
      restarts = 0;
      if (since !== undefined && Date.parse(updated_at) < since.getTime()) continue;
      if (count === limit) return;
      count += 1;
      yield { threadId: thread_id, namespace: "" };
    }
    if (page.length < PAGE) return;
    offset += page.length - 1;
    last = page.at(-1)?.thread_id;
  }
}
