/** The threads of a database, without loading any messages. */

import { parseJson } from "../shared/json.js";
import { isRecord } from "../shared/values.js";
import { isOfUpdate, timeOfCheckpoint } from "../threads/langgraph/read-checkpoints.js";
import type { Tables } from "../threads/langgraph/tables.js";
import type { FoundThread, ThreadSelection } from "./thread-store.js";

const PAGE = 500;

export type Order = "by name" | "by change" | "by age";

/**
 * The latest checkpoint of each thread and subgraph, in name order, which other writes do not change; or each thread's,
 * with the time of its first one: the last changed first, or the youngest.
 *
 * Contract: reads page by page, and keeps one page.
 */
export async function* headsOf(
  { query, checkpoints, rowsOfArray, mayGoOn }: Tables,
  { threadIds, isUnfinished = false }: ThreadSelection,
  order: Order,
): AsyncGenerator<FoundThread> {
  const among = threadIds === undefined ? "" : `AND thread_id IN (${rowsOfArray})`;
  const ids = threadIds === undefined ? [] : [JSON.stringify(threadIds)];
  let after = ["", ""];
  for (let offset = 0; ; offset += PAGE) {
    const [where, by, rest] =
      order === "by name"
        ? ["(thread_id, checkpoint_ns) > (?, ?)", "thread_id, checkpoint_ns", ""]
        : [
            "checkpoint_ns = ''",
            `${order === "by age" ? "first_id" : "checkpoint_id"} DESC`,
            `OFFSET ${offset}`,
          ];
    const first = order === "by name" ? "" : ", min(checkpoint_id) AS first_id";
    const rows = await query(
      `SELECT thread_id, checkpoint_ns, checkpoint_id, CAST(metadata AS TEXT) AS metadata,
        ${isUnfinished ? `CASE WHEN ${mayGoOn} THEN 1 ELSE 0 END` : "1"} AS may_go_on${first && ", first_id"}
      FROM ${checkpoints} AS head
      JOIN (
        SELECT thread_id, checkpoint_ns, max(checkpoint_id) AS checkpoint_id${first} FROM ${checkpoints}
        WHERE ${where} ${among} GROUP BY thread_id, checkpoint_ns ORDER BY ${by} LIMIT ${PAGE} ${rest}
      ) AS latest USING (thread_id, checkpoint_ns, checkpoint_id)
      ORDER BY ${by}`,
      order === "by name" ? [...after, ...ids] : ids,
    );
    for (const row of rows) {
      if (Number(row["may_go_on"]) === 0) continue;
      const metadata = parseJson(String(row["metadata"]));
      if (isUnfinished && isRecord(metadata) && isOfUpdate(metadata)) continue;
      yield {
        threadId: String(row["thread_id"]),
        namespace: String(row["checkpoint_ns"]),
        changedAt: timeOfCheckpoint(String(row["checkpoint_id"])),
        createdAt: first === "" ? undefined : timeOfCheckpoint(String(row["first_id"])),
        metadata: isRecord(metadata) ? metadata : {},
      };
    }
    if (rows.length < PAGE) return;
    after = ["thread_id", "checkpoint_ns"].map((name) => String(rows.at(-1)?.[name]));
  }
}

export async function countThreads({ query, checkpoints }: Tables): Promise<number> {
  const sql = `SELECT count(DISTINCT thread_id) AS threads FROM ${checkpoints} WHERE checkpoint_ns = ''`;
  return Number((await query(sql, []))[0]?.["threads"]);
}
