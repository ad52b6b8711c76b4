import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import type { Database } from "./job.js";

export interface Connection {
  readonly saver: BaseCheckpointSaver;
  readonly close: () => Promise<void>;
}

/** Opens a database, and creates its tables if it has none. */
export async function connect(database: Database): Promise<Connection> {
  if (database.kind === "sqlite") {
    const saver = SqliteSaver.fromConnString(database.file);
    // A killed process can leave the file locked for a moment.
    saver.db.pragma("busy_timeout = 10000");
    return { saver, close: async () => void saver.db.close() };
  }
  const saver = PostgresSaver.fromConnString(database.url, { schema: database.schema });
  return { saver, close: () => saver.end() };
}
