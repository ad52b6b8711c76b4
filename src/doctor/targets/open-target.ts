/** Opens a server, a database or a file. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { createGraphStore } from "../graph-store.js";
import type { StoredMessages, ThreadStore } from "../thread-store.js";
import { openFile } from "./file-target.js";
import { loadGraph } from "./load-graph.js";
import { openPostgres } from "./postgres-target.js";
import { openServer } from "./server-target.js";
import { openSqlite } from "./sqlite-target.js";
import { type HideSecrets, selectHeads, selectRecent, type ThreadTable } from "./target.js";

/** Where threads are, as the operator named it. */
export type TargetPlace =
  | {
      readonly kind: "url";
      readonly url: string;
      readonly apiKey: string | undefined;
      readonly headers: Readonly<Record<string, string>>;
    }
  | {
      readonly kind: "postgres" | "sqlite";
      readonly place: string;
      readonly schema: string | undefined;
      /** See `GraphPlace`. */
      readonly graph: string | undefined;
    }
  | { readonly kind: "file"; readonly file: string };

interface OpenTargetOptions {
  /** If false, the store refuses every write, and a database is opened so that it refuses them too. */
  readonly canWrite: boolean;
  readonly concurrency: number;
  /** Where paths begin, and where packages are looked for. */
  readonly folder: string;
  /** Contract: the variables that langgraph.json names are added to it. */
  readonly environment: Record<string, string | undefined>;
  readonly readInput: () => Promise<string>;
}

/** @throws UsageError if the target cannot be opened. */
export async function openTarget(place: TargetPlace, options: OpenTargetOptions): Promise<ThreadStore> {
  const { folder, environment, readInput } = options;
  switch (place.kind) {
    case "url":
      return openServer({ ...place, ...options });
    case "file":
      return openFile({ file: place.file, folder, readInput });
    default:
      return openDatabase(
        place.kind === "sqlite" ? openSqlite : openPostgres,
        { ...options, place: place.place, schema: place.schema },
        () => loadGraph({ spec: place.graph, folder, environment }),
      );
  }
}

interface DatabasePlace {
  /** The address, or the path of the file. */
  readonly place: string;
  readonly schema?: string | undefined;
  /** If false, the database itself refuses every write. */
  readonly canWrite: boolean;
  /** Where paths begin, and where packages are looked for. */
  readonly folder: string;
  readonly concurrency: number;
}

interface OpenedDatabase {
  readonly target: string;
  readonly saver: BaseCheckpointSaver;
  readonly table: ThreadTable;
  readonly hide?: HideSecrets;
  readonly close: () => Promise<void>;
}

/** Contract: creates and changes nothing. Rejects with a `UsageError` if there is no database of a checkpointer. */
export type OpenDatabase = (place: DatabasePlace) => Promise<OpenedDatabase>;

/** The graph is loaded after the database is open, because a wrong address is found faster. */
async function openDatabase(
  open: OpenDatabase,
  place: DatabasePlace,
  loadGraph: () => Promise<object>,
): Promise<ThreadStore> {
  const { target, saver, table, hide = (text) => text, close } = await open(place);
  try {
    const store = createGraphStore({
      graph: await loadGraph(),
      checkpointer: saver,
      target,
      list: (selection) => selectHeads(table, selection),
      measure: ({ threadId }) => table.measure(threadId),
      close,
    });
    return {
      ...store,
      canWrite: place.canWrite,
      recent: (selection, offset) => selectRecent(table, selection, offset),
      read: async (ref) => {
        const thread = await store.read(ref);
        // Throws if the database itself cannot be read any more, which is no fault of the thread.
        if (thread.content.kind === "unreadable") await table.headOf(ref);
        return { ...thread, content: withoutSecrets(thread.content, hide) };
      },
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function withoutSecrets(content: StoredMessages, hide: HideSecrets): StoredMessages {
  return "reason" in content ? { ...content, reason: hide(content.reason) } : content;
}
