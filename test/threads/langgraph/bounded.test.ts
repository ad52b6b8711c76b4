import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { boundedStore } from "../../../src/threads/stores.js";
import { boundedSaver } from "../../support/internals.js";

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

const store = boundedStore(silent(new InMemoryStore()), undefined);
const saver = boundedSaver(silent(new MemorySaver()), undefined);

it.each<[what: string, method: string, target: object, args: unknown[]]>([
  ...["batch", "get", "put", "delete", "search", "listNamespaces"].map(
    (method): [string, string, object, unknown[]] => ["The store", method, store, [[], "key", {}]],
  ),
  ...["getTuple", "getDeltaChannelHistory", "put", "putWrites"].map(
    (method): [string, string, object, unknown[]] => ["The checkpointer", method, saver, [{}]],
  ),
])("%s that does not answer `%s` is given up", async (what, method, target, args) => {
  await expectGivenUp(Reflect.apply(Reflect.get(target, method), target, args), what);
});

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
