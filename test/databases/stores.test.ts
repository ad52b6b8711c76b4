/** What this library keeps in a store stays apart for each thread, and comes back as it was, whatever the store. */

import { type BaseStore, InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { PostgresStore } from "@langchain/langgraph-checkpoint-postgres/store";
import fc from "fast-check";
import { afterAll, describe, expect, it } from "vitest";
import { userLabel, withOwnedStore } from "../../server/access/owned-store.js";
import { createAgentGraph, readFullHistory } from "../../src/index.js";
import { readInbox } from "../../src/threads/inbox.js";
import { escapeText, escapeValue, storeLabel, unescapeValue } from "../../src/threads/stores.js";
import { FunctionModel, shortSummariser } from "../support/models.js";
import { DATABASE_URL } from "../support/savers.js";
import { StrictStore } from "../support/strict-store.js";
import { runs } from "../support/test-tools.js";
import { inThread, user } from "../support/thread.js";

const opened: PostgresStore[] = [];
afterAll(() => Promise.all(opened.map((store) => store.stop())));

async function openPostgres(): Promise<BaseStore> {
  const schema = `tether_stores_${process.pid}_${opened.length}`;
  const store = PostgresStore.fromConnString(DATABASE_URL ?? "", { schema });
  opened.push(store);
  await store.setup();
  return store;
}

const STORES: readonly { title: string; isThere?: boolean; open: () => Promise<BaseStore> }[] = [
  { title: "InMemoryStore", open: async () => new InMemoryStore() },
  { title: "a store with the limits of PostgresStore", open: async () => new StrictStore() },
  { title: "PostgresStore", isThere: DATABASE_URL !== undefined, open: openPostgres },
];

const ODD_IDS = "user_1 100% ann@example.com a:b back\\slash langgraph * 线程 x--a \ud800".split(" ");
const ODD_TEXT = "a \0 binary \ud83d file \u001a0000";

const graphWith = (store: BaseStore, options: object = {}) =>
  createAgentGraph({
    model: new FunctionModel(({ text }) => `answer to ${text}`),
    checkpointer: new MemorySaver(),
    store,
    ...options,
  });

const textsOf = ({ messages = [] }: { messages?: readonly { text: string }[] }) =>
  messages.map(({ text }) => text);

describe.each(STORES.filter(({ isThere = true }) => isThere))("With $title", ({ open }) => {
  it('a message for thread "10" does not reach thread "1"', async () => {
    const graph = graphWith(await open());
    await graph.steer("10", "the secret of thread 10");
    expect(textsOf(await graph.invoke(user("hello"), inThread("1")))).toEqual(["hello", "answer to hello"]);
    const other = await graph.invoke(user("hello"), inThread("10"));
    expect(textsOf(other)).toContain("the secret of thread 10");
  });

  it("messages for other threads do not hide those of the thread", async () => {
    const store = await open();
    const graph = graphWith(store);
    await graph.steer("1", "mine");
    await Promise.all(Array.from({ length: 120 }, (_, index) => graph.steer(`1${index}`, `theirs ${index}`)));
    expect((await readInbox(store, "1")).map(({ value }) => value)).toMatchObject([{ content: "mine" }]);
    expect(textsOf(await graph.invoke(user("hello"), inThread("1")))).toContain("mine");
  });

  it.each(ODD_IDS)("the thread %j has an inbox of its own, and an archive", async (id) => {
    const store = await open();
    const graph = graphWith(store, {
      summaryModel: shortSummariser(),
      coveredMessages: "archive",
      maxMessagesBeforeSummary: 4,
      messagesToKeep: 2,
    });
    await graph.steer(id, `steered ${ODD_TEXT}`);
    const long = "Tell me a long story. ".repeat(50);
    const said = [0, 1, 2, 3].map((turn) => `${long} ${ODD_TEXT} ${turn}`);
    for (const text of said) await graph.invoke(user(text), inThread(id));
    const { values } = await graph.getState(inThread(id));
    const whole = textsOf({ messages: await readFullHistory(graph, inThread(id)) });
    expect(textsOf(values).length).toBeLessThan(whole.length);
    expect(whole.filter((text) => text.startsWith("steered"))).toEqual([`steered ${ODD_TEXT}`]);
    expect(whole.filter((text) => text.startsWith("Tell"))).toEqual(said);
  });

  it.each(["1", "ann@example.com", "a_b", "*", "langgraph", "线程", undefined])(
    "the part of user %j has its own items alone",
    async (name) => {
      const store = await open();
      const partOf = (user: string | undefined) => {
        const graph = withOwnedStore(createAgentGraph({ model: "offline:" }), userLabel(user));
        graph.store = store;
        if (graph.store === undefined) throw new Error("Expected a store.");
        return graph.store;
      };
      const [own, other] = [partOf(name), partOf(`${name}0`)];
      await own.put(["notes"], "k", { text: "mine" });
      await other.put(["notes"], "k", { text: "theirs" });
      for (let index = 0; index < 110; index += 1) await other.put([`n${index}`], "k", {});
      expect((await own.search([])).map(({ value }) => value)).toEqual([{ text: "mine" }]);
      expect(await own.get(["notes"], "k")).toMatchObject({ namespace: ["notes"], value: { text: "mine" } });
      await own.delete(["notes"], "k");
      expect(await own.search([])).toEqual([]);
      expect(await own.get(["notes"], "k")).toBeNull();
      expect(await other.search(["n"])).toEqual([]);
      expect(await other.search([], { limit: 1000 })).toHaveLength(111);
      expect(await other.search([], { limit: 5, offset: 109 })).toHaveLength(2);
    },
  );

  it("any value comes back from the store as it was", async () => {
    const store = await open();
    const text = fc.string({
      unit: fc.oneof(fc.string({ unit: "binary", maxLength: 1 }), unit, fc.constant("\u001a")),
    });
    const value = fc.dictionary(text, fc.oneof(text, fc.array(text), fc.dictionary(text, text)));
    const law = fc.asyncProperty(text, value, async (key, given) => {
      await store.put(["law"], escapeText(key), escapeValue(given));
      expect(unescapeValue((await store.get(["law"], escapeText(key)))?.value)).toEqual(given);
    });
    await fc.assert(law, runs(200));
  });
});

describe("The label of a text", () => {
  const text = fc.string({ unit: "binary" }).map((whole) => whole.slice(1));
  const like = fc.string({ unit: fc.constantFrom(..."x-- x - 0 005f -005f- _ %5F . nobody".split(" ")) });
  const texts = fc.oneof(text, like);

  it("has only letters, digits and hyphens, and belongs to no other text", () => {
    const law = fc.property(texts, texts, (one, other) => {
      expect(storeLabel(one)).toMatch(/^[A-Za-z0-9-]+$/);
      expect(storeLabel(one) === storeLabel(other)).toBe(one === other);
      expect(storeLabel(one)).not.toBe(userLabel(undefined));
    });
    fc.assert(law, runs(2000));
  });
});

/** A code unit: also NUL, and one half of a pair. */
const unit = fc.oneof(
  fc.constantFrom("\0", "\ud800", "\udc00", "_", "%", ".", "-", "x--"),
  fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)),
);
