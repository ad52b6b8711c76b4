import type { BaseCheckpointSaver } from "@langchain/langgraph";
import type { ThreadStore } from "../thread-store.js";
import { createGraphStore } from "./graph-store.js";
import type { HideSecrets } from "./safe-address.js";
import type { ThreadTable } from "./thread-table.js";
import type { CompiledGraph } from "../../langgraph/thread-view.js";

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
  loadGraph: () => Promise<CompiledGraph>,
): Promise<ThreadStore> {
  const { target, saver, table, hide = (text) => text, close } = await open(place);
  try {
    return createGraphStore({ target, saver, table, hide, close, graph: await loadGraph(), canWrite: place.canWrite });
  } catch (error) {
    await close();
    throw error;
  }
}
