/** The threads of a database with the tables of a LangGraph checkpointer. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { parseJson } from "../../shared/json.js";
import { isRecord } from "../../shared/values.js";
import { type ArchiveReader, readArchive } from "../../threads/archive.js";
import { timeOfCheckpoint } from "../../threads/langgraph/read-checkpoints.js";
import { createGraphStore, createSaverStore } from "../graph-store.js";
import {
  hasMetadata,
  type ListedThread,
  type ThreadRef,
  type ThreadSelection,
  type ThreadStore,
} from "../thread-store.js";
import { isGraphNamed, loadGraph } from "./load-graph.js";
import { type HideSecrets, type OpenContext, optionOf } from "./target.js";

export const graphOption = optionOf(
  "--graph <FILE:EXPORT>",
  "Your own graph, for a database. Default: the graph of langgraph.json.",
);

export interface Database {
  /** The name of the place, for reports and receipts. */
  readonly target: string;
  readonly saver: BaseCheckpointSaver;
  readonly tables: Tables;
  /** The items of LangGraph's own store in the same database. Undefined: there is none. */
  readonly items?: ArchiveReader | undefined;
  readonly hide?: HideSecrets;
  readonly close: () => Promise<void>;
}

/** How the tables of a checkpointer are asked. Each `?` stands for a value. */
interface Tables {
  readonly query: (sql: string, values: readonly unknown[]) => Promise<readonly Record<string, unknown>[]>;
  /** The name of the table of checkpoints. */
  readonly checkpoints: string;
  /** The rows of a JSON array of texts. */
  readonly rowsOfArray: string;
}

/** @param spec See `loadGraph`. The graph is loaded after the database is open, because a wrong address is found faster. */
export async function storeOfDatabase(
  { target, saver, tables, items, hide = (text) => text, close }: Database,
  spec: string | undefined,
  { canWrite, folder, environment, readsWithoutGraph = false }: OpenContext,
): Promise<ThreadStore> {
  try {
    const hasGraph = !readsWithoutGraph || isGraphNamed({ spec, folder });
    const graph = hasGraph ? await loadGraph({ spec, folder, environment }) : undefined;
    const more = { target, list: (selection: ThreadSelection) => selectThreads(tables, selection), close };
    const store =
      graph === undefined
        ? createSaverStore({ checkpointer: saver, ...more })
        : createGraphStore({ graph, checkpointer: saver, ...more });
    return {
      ...store,
      canWrite,
      archived: async (ref, ids) => {
        const found = items === undefined ? [] : await readArchive(items, ref.threadId, ids);
        return found.length > 0 ? found : ((await store.archived?.(ref, ids)) ?? []);
      },
      recent: (selection, offset) => selectRecent(tables, selection, offset),
      read: async (ref) => {
        const thread = await store.read(ref);
        // Throws if the database itself cannot be read any more, which is no fault of the thread.
        if (thread.content.kind === "unreadable") await readHeads(tables, undefined, [ref.threadId]);
        const { content } = thread;
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
 * The threads of a database that a selection names, without loading any messages.
 */

const PAGE = 500;

/** The latest checkpoint of a thread, or of a subgraph. */
interface Head extends ThreadRef {
  readonly checkpointId: string;
}

/** Contract: reads page by page, and keeps one page. */
async function* selectThreads(tables: Tables, selection: ThreadSelection): AsyncGenerator<ThreadRef> {
  const { threadIds, limit = Number.POSITIVE_INFINITY } = selection;
  let chosen: string | undefined;
  let count = 0;
  let after: ThreadRef | undefined;
  for (;;) {
    const heads = await readHeads(tables, after, threadIds);
    for (const head of heads) {
      after = head;
      const { threadId, namespace } = head;
      // The subgraphs of a thread directly follow it.
      const isOfChosen = threadId === chosen;
      if (!isOfChosen && !(await isSelected(tables, head, selection))) continue;
      if (!isOfChosen) {
        if (count === limit) return;
        count += 1;
        chosen = threadId;
      }
      yield { threadId, namespace };
    }
    if (heads.length < PAGE) return;
  }
}

/** A page of heads that follow this place, in the order of thread and namespace. */
async function readHeads(
  { query, checkpoints, rowsOfArray }: Tables,
  after: ThreadRef | undefined,
  threadIds: readonly string[] | undefined,
): Promise<readonly Head[]> {
  const place = [after?.threadId ?? "", after?.namespace ?? ""];
  const rows = await query(
    `SELECT thread_id, checkpoint_ns, max(checkpoint_id) AS checkpoint_id FROM ${checkpoints}
    WHERE (thread_id, checkpoint_ns) > (?, ?) ${threadIds === undefined ? "" : `AND thread_id IN (${rowsOfArray})`}
    GROUP BY thread_id, checkpoint_ns ORDER BY thread_id, checkpoint_ns LIMIT ${PAGE}`,
    threadIds === undefined ? place : [...place, JSON.stringify(threadIds)],
  );
  return rows.map((row) => ({
    threadId: String(row["thread_id"]),
    namespace: String(row["checkpoint_ns"]),
    checkpointId: String(row["checkpoint_id"]),
  }));
}

async function isSelected(
  { query, checkpoints }: Tables,
  { threadId, namespace, checkpointId }: Head,
  { since, metadata }: ThreadSelection,
): Promise<boolean> {
  if (since !== undefined && (timeOfCheckpoint(checkpointId) ?? Number.POSITIVE_INFINITY) < since.getTime())
    return false;
  if (metadata === undefined) return true;
  const [row] = await query(
    `SELECT CAST(metadata AS TEXT) AS text FROM ${checkpoints}
    WHERE thread_id = ? AND checkpoint_ns = ? AND checkpoint_id = ?`,
    [threadId, namespace, checkpointId],
  );
  return hasMetadata(metadataIn(row), metadata);
}

function metadataIn(row: Record<string, unknown> | undefined): Readonly<Record<string, unknown>> {
  const read = parseJson(String(row?.["text"]));
  return isRecord(read) ? read : {};
}

/** See `ThreadStore.recent`. */
async function selectRecent(
  { query, checkpoints, rowsOfArray }: Tables,
  { threadIds, metadata = {}, limit = Number.POSITIVE_INFINITY }: ThreadSelection,
  offset: number,
): Promise<readonly ListedThread[]> {
  const found: ListedThread[] = [];
  for (let start = 0; ; start += PAGE) {
    const rows = await query(
      `SELECT thread_id, CAST(metadata AS TEXT) AS text FROM ${checkpoints} JOIN (
        SELECT thread_id AS latest_thread, max(checkpoint_id) AS latest_id FROM ${checkpoints}
        WHERE checkpoint_ns = '' ${threadIds === undefined ? "" : `AND thread_id IN (${rowsOfArray})`}
        GROUP BY thread_id ORDER BY max(checkpoint_id) DESC LIMIT ${PAGE} OFFSET ?
      ) AS latest ON thread_id = latest_thread AND checkpoint_id = latest_id AND checkpoint_ns = ''
      ORDER BY checkpoint_id DESC`,
      [...(threadIds === undefined ? [] : [JSON.stringify(threadIds)]), start],
    );
    const listed = rows.map((row) => ({ threadId: String(row["thread_id"]), metadata: metadataIn(row) }));
    found.push(...listed.filter((thread) => hasMetadata(thread.metadata, metadata)));
    if (rows.length < PAGE || found.length >= offset + limit) return found.slice(offset, offset + limit);
  }
}
