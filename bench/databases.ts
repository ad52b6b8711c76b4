/** Where the threads of a turn are saved. Each kind of agent has a connection of its own, with its own serializer. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BaseCheckpointSaver, type BaseStore, InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { PostgresStore } from "@langchain/langgraph-checkpoint-postgres/store";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import type { Serializer } from "./agents.js";

export interface Database {
  connect(serializer: Serializer): Promise<{ checkpointer: BaseCheckpointSaver; store: BaseStore }>;
  close(): Promise<void>;
}

const withSerializer = <Saver extends BaseCheckpointSaver>(saver: Saver, serde: Serializer): Saver =>
  Object.assign(saver, { serde });

export const DATABASES = {
  memory: async (): Promise<Database> => ({
    connect: async (serializer) => ({
      checkpointer: new MemorySaver(serializer),
      store: new InMemoryStore(),
    }),
    close: async () => {},
  }),
  sqlite: async (): Promise<Database> => {
    const folder = mkdtempSync(join(tmpdir(), "tether-bench-"));
    const savers: SqliteSaver[] = [];
    return {
      connect: async (serializer) => {
        const file = join(folder, `${savers.length}.sqlite`);
        const checkpointer = withSerializer(SqliteSaver.fromConnString(file), serializer);
        savers.push(checkpointer);
        return { checkpointer, store: new InMemoryStore() };
      },
      close: async () => {
        for (const { db } of savers) db.close();
        rmSync(folder, { recursive: true });
      },
    };
  },
  postgres: async (): Promise<Database> => {
    const url = process.env["DATABASE_URL"] ?? "";
    const opened: { end(): Promise<void> }[] = [];
    return {
      connect: async (serializer) => {
        const schema = `bench_${process.pid}_${opened.length}`;
        const checkpointer = withSerializer(PostgresSaver.fromConnString(url, { schema }), serializer);
        const store = PostgresStore.fromConnString(url, { schema });
        await checkpointer.setup();
        await store.setup();
        opened.push({ end: async () => void (await Promise.all([checkpointer.end(), store.stop()])) });
        return { checkpointer, store };
      },
      close: async () => void (await Promise.all(opened.map((each) => each.end()))),
    };
  },
} as const;
