/** The checkpointers and stores that tests run over. PostgreSQL takes part if `DATABASE_URL` names a database. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type BaseCheckpointSaver,
  type BaseStore,
  type Checkpoint,
  InMemoryStore,
  MemorySaver,
} from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { PostgresStore } from "@langchain/langgraph-checkpoint-postgres/store";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { onTestFinished } from "vitest";
import { FileStore } from "./file-saver.js";

export interface SaverKind {
  readonly title: string;
  /** Whether it can be used here. */
  readonly isThere: boolean;
  /** Opens an empty database for one test. */
  readonly open: () => Promise<OpenDatabase>;
}

/** Each call makes another checkpointer or store, as another process has one. */
export interface OpenDatabase {
  readonly connect: () => BaseCheckpointSaver;
  readonly connectStore: () => Promise<BaseStore>;
}

export const DATABASE_URL = process.env["DATABASE_URL"];

/**
 * Keeps the first value that is written for each version of a channel, as `PostgresSaver` does, without a database.
 */
export class FirstValueSaver extends MemorySaver {
  readonly #values = new Map<string, unknown>();

  override async put(
    config: Parameters<MemorySaver["put"]>[0],
    checkpoint: Checkpoint,
    metadata: Parameters<MemorySaver["put"]>[2],
    newVersions: Parameters<BaseCheckpointSaver["put"]>[3] = {},
  ) {
    const { thread_id, checkpoint_ns } = { ...config.configurable };
    const keyOf = (channel: string, version: unknown) =>
      JSON.stringify([thread_id, checkpoint_ns, channel, version]);
    for (const [channel, version] of Object.entries(newVersions)) {
      const key = keyOf(channel, version);
      if (!this.#values.has(key)) this.#values.set(key, checkpoint.channel_values[channel]);
    }
    const stored = Object.entries(checkpoint.channel_versions).flatMap(([channel, version]) => {
      const value = this.#values.get(keyOf(channel, version));
      return value === undefined ? [] : [[channel, value]];
    });
    return super.put(config, { ...checkpoint, channel_values: Object.fromEntries(stored) }, metadata);
  }
}

export const SAVERS: readonly SaverKind[] = [
  { title: "MemorySaver", isThere: true, open: async () => sharing(new MemorySaver()) },
  {
    title: "a saver that keeps the first value of each version",
    isThere: true,
    open: async () => sharing(new FirstValueSaver()),
  },
  { title: "SqliteSaver", isThere: true, open: openSqlite },
  { title: "PostgresSaver", isThere: DATABASE_URL !== undefined, open: openPostgres },
];

/** Views of one checkpointer. They are different objects, so a queue for each object does not connect them. */
function sharing(saver: MemorySaver): OpenDatabase {
  const store = new InMemoryStore();
  const get = (target: MemorySaver, name: PropertyKey) => {
    const value: unknown = Reflect.get(target, name, target);
    return typeof value === "function" ? value.bind(target) : value;
  };
  return { connect: () => new Proxy(saver, { get }), connectStore: async () => store };
}

async function openSqlite(): Promise<OpenDatabase> {
  const folder = mkdtempSync(join(tmpdir(), "tether-sqlite-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  return {
    connect: () => {
      const saver = SqliteSaver.fromConnString(join(folder, "threads.sqlite"));
      onTestFinished(() => void saver.db.close());
      return saver;
    },
    connectStore: () => FileStore.open(join(folder, "store.jsonl")),
  };
}

let schemas = 0;

async function openPostgres(): Promise<OpenDatabase> {
  schemas += 1;
  const schema = `tether_${process.pid}_${schemas}`;
  const connect = () => {
    const saver = PostgresSaver.fromConnString(DATABASE_URL ?? "", { schema });
    onTestFinished(() => saver.end());
    return saver;
  };
  const connectStore = async () => {
    const store = PostgresStore.fromConnString(DATABASE_URL ?? "", { schema });
    onTestFinished(() => store.stop());
    await store.setup();
    return store;
  };
  await connect().setup();
  return { connect, connectStore };
}
