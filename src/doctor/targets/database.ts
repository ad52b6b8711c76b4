/** The threads of a database with a LangGraph checkpointer's tables. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { parseJson } from "../../shared/json.js";
import { isRecord } from "../../shared/values.js";
import { timeOfCheckpoint } from "../../threads/langgraph/read-checkpoints.js";
import { storeOf } from "../graph-store.js";
import { type FoundThread, selectThreads, type ThreadSelection, type ThreadStore } from "../thread-store.js";
import { isGraphNamed, loadGraph } from "./load-graph.js";
import { type HideSecrets, type OpenContext, optionOf } from "./target.js";

export const graphOption = optionOf(
  "--graph <FILE:EXPORT>",
  "Your own graph, for a database. A repair needs it. Default: the graph of langgraph.json.",
);

export interface Database {
  /** The name of the place, for reports and receipts. */
  readonly target: string;
  readonly saver: BaseCheckpointSaver;
  readonly tables: Tables;
  readonly hide?: HideSecrets;
  readonly close: () => Promise<void>;
}

/** How a checkpointer's tables are queried. Each `?` stands for a value. */
interface Tables {
  readonly query: (sql: string, values: readonly unknown[]) => Promise<readonly Record<string, unknown>[]>;
  /** The name of the table of checkpoints. */
  readonly checkpoints: string;
  /** The rows of a JSON array of texts. */
  readonly rowsOfArray: string;
}

/**
 * @param spec See `loadGraph`. The graph is loaded after the database opens, because a wrong address is found faster.
 */
export async function storeOfDatabase(
  { target, saver, tables, hide = (text) => text, close }: Database,
  spec: string | undefined,
  { canWrite, folder, environment, needsGraph = false }: OpenContext,
): Promise<ThreadStore> {
  try {
    const hasGraph = needsGraph || isGraphNamed({ spec, folder });
    const graph = hasGraph ? await loadGraph({ spec, folder, environment }) : undefined;
    const find = (selection: ThreadSelection, order: Order) =>
      selectThreads(headsOf(tables, selection, order), selection);
    const list = (selection: ThreadSelection) => find(selection, "by name");
    const store = storeOf({ graph, saver }, { target, list, close });
    return {
      ...store,
      canWrite,
      recent: async (selection, offset) => {
        const limit = offset + (selection.limit ?? Number.POSITIVE_INFINITY);
        const found: FoundThread[] = [];
        for await (const head of find({ ...selection, limit }, "by time")) found.push(head);
        return found.slice(offset);
      },
      read: async (ref) => {
        const thread = await store.read(ref);
        const { content } = thread;
        // Throws if the database itself is no longer readable, which is not the thread's fault.
        if (content.kind === "unreadable")
          await tables.query(`SELECT thread_id FROM ${tables.checkpoints} LIMIT 1`, []);
        return "reason" in content
          ? { ...thread, content: { ...content, reason: hide(content.reason) } }
          : thread;
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/*
 * The threads of a database, without loading any messages.
 */

const PAGE = 500;

type Order = "by name" | "by time";

/**
 * The latest checkpoint of each thread and subgraph, in name order, which other writes do not change; or each thread's,
 * the last changed first.
 *
 * Contract: reads page by page, and keeps one page.
 */
async function* headsOf(
  { query, checkpoints, rowsOfArray }: Tables,
  { threadIds }: ThreadSelection,
  order: Order,
): AsyncGenerator<FoundThread> {
  const among = threadIds === undefined ? "" : `AND thread_id IN (${rowsOfArray})`;
  const ids = threadIds === undefined ? [] : [JSON.stringify(threadIds)];
  let after = ["", ""];
  for (let offset = 0; ; offset += PAGE) {
    const [where, by, rest] =
      order === "by name"
        ? ["(thread_id, checkpoint_ns) > (?, ?)", "thread_id, checkpoint_ns", ""]
        : ["checkpoint_ns = ''", "checkpoint_id DESC", `OFFSET ${offset}`];
    const rows = await query(
      `SELECT thread_id, checkpoint_ns, checkpoint_id, CAST(metadata AS TEXT) AS metadata FROM ${checkpoints}
      JOIN (
        SELECT thread_id, checkpoint_ns, max(checkpoint_id) AS checkpoint_id FROM ${checkpoints}
        WHERE ${where} ${among} GROUP BY thread_id, checkpoint_ns ORDER BY ${by} LIMIT ${PAGE} ${rest}
      ) AS latest USING (thread_id, checkpoint_ns, checkpoint_id)
      ORDER BY ${by}`,
      order === "by name" ? [...after, ...ids] : ids,
    );
    for (const row of rows) {
      const metadata = parseJson(String(row["metadata"]));
      yield {
        threadId: String(row["thread_id"]),
        namespace: String(row["checkpoint_ns"]),
        changedAt: timeOfCheckpoint(String(row["checkpoint_id"])),
        metadata: isRecord(metadata) ? metadata : {},
      };
    }
    if (rows.length < PAGE) return;
    after = ["thread_id", "checkpoint_ns"].map((name) => String(rows.at(-1)?.[name]));
  }
}
