import { type BaseCheckpointSaver, emptyCheckpoint, MemorySaver } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { describe, expect, it, vi } from "vitest";
import { threadHead } from "../../../src/threads/guard-head.js";
import { DATABASE_URL, SAVERS } from "../../support/savers.js";

const at = (thread: string, namespace = "", id?: string) => ({
  configurable: {
    thread_id: thread,
    checkpoint_ns: namespace,
    ...(id !== undefined && { checkpoint_id: id }),
  },
});

function put(saver: BaseCheckpointSaver, id: string, namespace = "", thread = "1", parent?: string) {
  const checkpoint = { ...emptyCheckpoint(), id };
  return saver.put(at(thread, namespace, parent), checkpoint, { source: "loop", step: 0, parents: {} }, {});
}

const headOf = (saver: BaseCheckpointSaver, threadId = "1") =>
  threadHead({ saver, target: saver, threadId, signal: undefined });

describe.each(SAVERS)("With $title", ({ isThere, open }) => {
  it.skipIf(!isThere)("tells the latest checkpoint of a thread", async () => {
    const saver = (await open()).connect();
    for (const id of ["1", "3", "2"]) await put(saver, id);
    await put(saver, "4", "a subgraph");
    await put(saver, "5", "", "another thread");
    expect(await headOf(saver).is("3")).toBe(true);
    expect(await headOf(saver).is("2")).toBe(false);
    expect(await headOf(saver).is(undefined)).toBe(false);
    expect(await headOf(saver, "new").is(undefined)).toBe(true);
  });

  it.skipIf(!isThere)("writes only after the checkpoint that the writer knows", async () => {
    const { connect } = await open();
    const [saver, other] = [connect(), connect()];
    await put(saver, "1");
    const write = async (to: BaseCheckpointSaver) => {
      await to.putWrites(at("1", "", "1"), [["messages", ["written"]]], "task");
      await put(to, "2", "", "1", "1");
    };
    expect(await headOf(saver).writeAfter("0", write)).toBe(false);
    expect((await other.getTuple(at("1")))?.checkpoint.id).toBe("1");
    expect((await other.getTuple(at("1")))?.pendingWrites).toEqual([]);
    expect(await headOf(saver).writeAfter("1", write)).toBe(true);
    expect(await other.getTuple(at("1"))).toMatchObject({
      checkpoint: { id: "2" },
      parentConfig: { configurable: { checkpoint_id: "1" } },
    });
    expect((await other.getTuple(at("1", "", "1")))?.pendingWrites).toEqual([
      ["task", "messages", ["written"]],
    ]);
  });

  it.skipIf(!isThere)("lets one of many writers that know the same checkpoint write", async () => {
    const { connect } = await open();
    await put(connect(), "0");
    const ids = Array.from({ length: 12 }, (_, index) => String(index + 1).padStart(2, "0"));
    const written = await Promise.all(
      ids.map((id) => headOf(connect()).writeAfter("0", (to) => put(to, id, "", "1", "0"))),
    );
    expect(written.filter(Boolean)).toHaveLength(1);
    const listed: string[] = [];
    for await (const { checkpoint } of connect().list(at("1"))) listed.push(checkpoint.id);
    expect(listed).toEqual([ids[written.indexOf(true)], "0"]);
  });
});

describe.skipIf(DATABASE_URL === undefined)("A PostgresSaver", () => {
  it("writes in one transaction on one connection of its pool", async () => {
    const kind = SAVERS.find(({ title }) => title === "PostgresSaver");
    const saver = (await kind?.open())?.connect();
    if (saver === undefined) throw new Error("Expected a database.");
    const connect = vi.spyOn(Reflect.get(saver, "pool"), "connect");
    expect(await headOf(saver).writeAfter(undefined, (to) => put(to, "1"))).toBe(true);
    expect(connect).toHaveBeenCalledTimes(1);
  });
});

it("A PostgresSaver has the fields that a conditional write needs", async () => {
  const saver = PostgresSaver.fromConnString("postgresql://nobody@127.0.0.1:1/none", { schema: "mine" });
  const texts: string[] = [];
  const query = async (text: string) => {
    texts.push(text);
    return { rows: [{ checkpoint_id: "7" }] };
  };
  const release = vi.fn();
  Object.assign(Reflect.get(saver, "pool"), { query, connect: async () => ({ query, release }) });
  expect(await headOf(saver).is("7")).toBe(true);
  expect(texts[0]).toContain('FROM "mine".checkpoints');
  texts.length = 0;
  expect(await headOf(saver).writeAfter("7", (to) => put(to, "8"))).toBe(true);
  expect(texts.map((text) => text.trim().split(/\s/, 2).join(" "))).toEqual([
    "BEGIN; SET",
    "SELECT checkpoint_id",
    "INSERT INTO",
    "COMMIT",
  ]);
  expect(release).toHaveBeenCalledExactlyOnceWith(false);
});

/** Fields of other classes that look like those of LangGraph's savers. */
it.each([
  { title: "no such fields", fields: {} },
  {
    title: "a pool that fails",
    fields: {
      pool: { connect: () => Promise.reject(new Error()), query: () => Promise.reject(new Error()) },
      options: { schema: "s" },
    },
  },
  {
    title: "a database of another kind",
    fields: {
      db: {
        prepare: () => {
          throw new Error("no table");
        },
        transaction: () => {},
      },
    },
  },
  { title: "another storage", fields: { storage: { "1": { "": { "9": {} } } } } },
])("A saver with $title is asked for its checkpoint", async ({ fields }) => {
  const inner = new MemorySaver();
  await put(inner, "7");
  const saver: BaseCheckpointSaver = Object.assign(Object.create(inner), fields, {
    getTuple: inner.getTuple.bind(inner),
    put: inner.put.bind(inner),
  });
  expect(await headOf(saver).is("7")).toBe(true);
  expect(await headOf(saver).is("9")).toBe("storage" in fields);
  expect(await headOf(saver).writeAfter("7", (to) => put(to, "8"))).toBe(true);
  expect((await inner.getTuple(at("1")))?.checkpoint.id).toBe("8");
});
