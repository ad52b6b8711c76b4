/** A checkpointer and a store that keep all in memory, and write it to files, so that a killed process loses nothing. */

import { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { deserialize, serialize } from "node:v8";
import { InMemoryStore, MemorySaver, type Operation, type OperationResults } from "@langchain/langgraph";

/** Writes its complete file at each write, so it is for a few short threads. */
export class FileSaver extends MemorySaver {
  readonly #file: string;

  constructor(file: string) {
    super();
    this.#file = file;
    if (!existsSync(file)) return;
    const { storage, writes } = deserialize(readFileSync(file));
    Object.assign(this.storage, storage);
    Object.assign(this.writes, writes);
  }

  override async put(...given: Parameters<MemorySaver["put"]>) {
    const saved = await super.put(...given);
    this.#save();
    return saved;
  }

  override async putWrites(...given: Parameters<MemorySaver["putWrites"]>) {
    await super.putWrites(...given);
    this.#save();
  }

  /** A process that is killed meanwhile leaves the file of before. */
  #save(): void {
    const next = `${this.#file}.${process.pid}`;
    writeFileSync(next, serialize({ storage: this.storage, writes: this.writes }));
    renameSync(next, this.#file);
  }
}

/** LangGraph has no store for SQLite. This one appends each write to its file. */
export class FileStore extends InMemoryStore {
  readonly #file: string;
  #isOpen = false;

  private constructor(file: string) {
    super();
    this.#file = file;
  }

  static async open(file: string): Promise<FileStore> {
    const store = new FileStore(file);
    const lines = existsSync(file) ? readFileSync(file, "utf8").split("\n").slice(0, -1) : [];
    for (const line of lines) {
      const { namespace, key, value } = JSON.parse(line);
      await store.put(namespace, key, value);
    }
    store.#isOpen = true;
    return store;
  }

  override async batch<Each extends readonly Operation[]>(operations: Each): Promise<OperationResults<Each>> {
    const results = await super.batch(operations);
    const writes = operations.filter((operation) => "value" in operation);
    if (this.#isOpen && writes.length > 0)
      appendFileSync(this.#file, writes.map((write) => `${JSON.stringify(write)}\n`).join(""));
    return results;
  }
}
