import { type BaseCheckpointSaver, emptyCheckpoint, MemorySaver } from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import { describe, expect, it, vi } from "vitest";
import { isHead } from "../../../src/langgraph/checkpoints/read-head.js";
import { SAVERS } from "../../support/savers.js";

async function put(saver: BaseCheckpointSaver, id: string, namespace = "", thread = "1") {
  const config = { configurable: { thread_id: thread, checkpoint_ns: namespace } };
  const checkpoint = { ...emptyCheckpoint(), id };
  await saver.put(config, checkpoint, { source: "loop", step: 0, parents: {} }, {});
}

describe.each(SAVERS)("With $title", ({ isThere, open }) => {
  it.skipIf(!isThere)("tells the latest checkpoint of a thread without reading its messages", async () => {
    const saver = (await open()).connect();
    await put(saver, "1");
    await put(saver, "3");
    await put(saver, "2");
    await put(saver, "4", "a subgraph");
    await put(saver, "5", "", "another thread");
    const getTuple = vi.spyOn(saver, "getTuple");
    expect(await isHead(saver, "1", "3")).toBe(true);
    expect(getTuple).not.toHaveBeenCalled();
    expect(await isHead(saver, "1", "2")).toBe(false);
    expect(await isHead(saver, "1", undefined)).toBe(false);
    expect(await isHead(saver, "new", undefined)).toBe(true);
  });
});

it("A PostgresSaver has the fields that the query for the latest checkpoint needs", async () => {
  const saver = PostgresSaver.fromConnString("postgresql://nobody@127.0.0.1:1/none", { schema: "mine" });
  const query = vi.fn(async (_text: string, _values: readonly unknown[]) => ({
    rows: [{ checkpoint_id: "7" }],
  }));
  Reflect.set(Reflect.get(saver, "pool"), "query", query);
  expect(await isHead(saver, "1", "7")).toBe(true);
  expect(query.mock.calls[0]?.[0]).toContain('FROM "mine".checkpoints');
  expect(query.mock.calls[0]?.[1]).toEqual(["1"]);
});

/** Fields of other classes that look like those of LangGraph's savers. */
it.each([
  { title: "no such fields", fields: {} },
  {
    title: "a pool that fails",
    fields: { pool: { query: () => Promise.reject(new Error("no table")) }, options: { schema: "s" } },
  },
  {
    title: "a database of another kind",
    fields: {
      db: {
        prepare: () => {
          throw new Error("no table");
        },
      },
    },
  },
  { title: "another storage", fields: { storage: { "1": { "": { "9": {} } } } } },
])("A saver with $title is asked for its checkpoint", async ({ fields }) => {
  const inner = new MemorySaver();
  await put(inner, "3");
  const saver = { getTuple: inner.getTuple.bind(inner), ...fields } as unknown as BaseCheckpointSaver;
  expect(await isHead(saver, "1", "3")).toBe(true);
  expect(await isHead(saver, "1", "2")).toBe(false);
});
