import { type BaseCheckpointSaver, InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { boundedStore } from "../../../src/threads/stores.js";
import { boundedSaver } from "../../../src/threads/thread-head.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** A database whose methods never answer. */
const silent = <Target extends object>(target: Target): Target =>
  new Proxy(target, { get: () => () => new Promise(() => {}) });

async function expectGivenUp(work: Promise<unknown>, what: string): Promise<void> {
  const given = expect(work).rejects.toThrow(`${what} has not answered in time.`);
  await vi.advanceTimersByTimeAsync(30_000);
  await given;
}

it.each(["batch", "get", "put", "delete", "search", "listNamespaces"] as const)(
  "`%s` of a store that does not answer is given up",
  async (method) => {
    const store = boundedStore(silent(new InMemoryStore()), undefined);
    await expectGivenUp(Reflect.apply(store[method], store, [[], "key", {}]), "The store");
  },
);

it.each([
  "getTuple",
  "getDeltaChannelHistory",
  "put",
  "putWrites",
] as const satisfies (keyof BaseCheckpointSaver)[])(
  "`%s` of a checkpointer that does not answer is given up",
  async (method) => {
    const saver = boundedSaver(silent(new MemorySaver()), undefined);
    await expectGivenUp(Reflect.apply(saver[method], saver, [{}]), "The checkpointer");
  },
);

it.each(["put", "putWrites"] as const)(
  "`%s` that is given up closes its connection, so that it cannot commit later and blocks no pool",
  async (method) => {
    const release = vi.fn();
    const client = { query: vi.fn(() => new Promise(() => {})), release };
    const pool = { connect: async () => client, query: client.query };
    const saver = boundedSaver(new PostgresSaver(pool as never), undefined);
    const config = { configurable: { thread_id: "1", checkpoint_ns: "", checkpoint_id: "a" } };
    await expectGivenUp(Reflect.apply(saver[method], saver, [config, [], {}, {}]), "The checkpointer");
    expect(client.query.mock.calls).toEqual([["BEGIN", undefined]]);
    expect(release.mock.calls).toEqual([[true]]);
  },
);
