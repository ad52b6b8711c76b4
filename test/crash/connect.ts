import { join } from "node:path";
import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { PostgresStore } from "@langchain/langgraph-checkpoint-postgres/store";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { FileSaver, FileStore } from "../support/file-saver.js";
import type { Database } from "./job.js";

export interface Connection {
  readonly saver: BaseCheckpointSaver;
  readonly store: BaseStore;
  readonly close: () => Promise<void>;
}

/** Opens a database for one thread. A PostgreSQL database has its tables already. */
export async function connect(database: Database, threadId: string): Promise<Connection> {
  switch (database.kind) {
    case "memory": {
      const saver = new FileSaver(join(database.folder, `${threadId}.bin`));
      const store = await FileStore.open(join(database.folder, `${threadId}.store`));
      return { saver, store, close: async () => {} };
    }
    case "sqlite": {
      const saver = SqliteSaver.fromConnString(database.file);
      // A killed process can leave the file locked for a moment.
      saver.db.pragma("busy_timeout = 10000");
      const store = await FileStore.open(`${database.file}.${threadId}.store`);
      return { saver, store, close: async () => void saver.db.close() };
    }
    case "postgres": {
      const { url, schema } = database;
      const saver = PostgresSaver.fromConnString(url, { schema });
      const store = PostgresStore.fromConnString(url, { schema, ensureTables: false });
      const close = async () => {
        await Promise.all([saver.end(), store.stop()]);
      };
      return { saver, store, close };
    }
  }
}

/** Creates the tables of a PostgreSQL database. */
export async function createTables(url: string, schema = "public"): Promise<Database> {
  const saver = PostgresSaver.fromConnString(url, { schema });
  const store = PostgresStore.fromConnString(url, { schema });
  await saver.setup();
  await store.setup();
  await Promise.all([saver.end(), store.stop()]);
  return { kind: "postgres", url, schema };
}
