import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { createGraphStore } from "../graph/graph-store.js";
import type { StoredMessages } from "../stored-thread.js";
import type { ThreadStore } from "../thread-store.js";
import type { HideSecrets } from "./safe-address.js";
import { selectHeads } from "./select-heads.js";
import type { ThreadTable } from "./thread-table.js";

export interface DatabasePlace {
  /** The address, or the path of the file. */
  readonly place: string;
  readonly schema?: string | undefined;
  /** If false, the database itself refuses every write. */
  readonly canWrite: boolean;
  /** Where paths begin, and where packages are looked for. */
  readonly folder: string;
  readonly concurrency: number;
}

export interface OpenedDatabase {
  readonly target: string;
  readonly saver: BaseCheckpointSaver;
  readonly table: ThreadTable;
  readonly hide?: HideSecrets;
  readonly close: () => Promise<void>;
}

/** Contract: creates and changes nothing. Rejects with a `UsageError` if there is no database of a checkpointer. */
export type OpenDatabase = (place: DatabasePlace) => Promise<OpenedDatabase>;

/** The graph is loaded after the database is open, because a wrong address is found faster. */
export async function openDatabase(
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
