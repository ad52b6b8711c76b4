/** What the view of a checkpointer asks of its database, and that it reads the same. */

import { BaseCheckpointSaver, type CheckpointTuple, MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { createAgentGraph } from "../../../../src/index.js";
import { quickSaver } from "../../../../src/threads/langgraph/quick-saver.js";
import { calls } from "../../../support/models.js";
import { SAVERS } from "../../../support/savers.js";
import { type Step, scripted } from "../../../support/scripted-model.js";
import { law } from "../../../support/test-tools.js";
import { inThread, pairedMessagesOf, user } from "../../../support/thread.js";
import { createProbe } from "../../../support/tools.js";

const thread = inThread("1");

/** A database that is asked for one checkpoint or for a list, and has no way of its own to read a delta channel. */
class ListedSaver extends MemorySaver {
  readonly pool = { connect: async () => ({}), query: async () => ({}) };
  queries = 0;
  override getTuple(...given: Parameters<MemorySaver["getTuple"]>) {
    this.queries += 1;
    return super.getTuple(...given);
  }
  override async *list(...given: Parameters<MemorySaver["list"]>) {
    this.queries += 1;
    yield* super.list(...given);
  }
}
ListedSaver.prototype.getDeltaChannelHistory = BaseCheckpointSaver.prototype.getDeltaChannelHistory;

const agentOver = (checkpointer: BaseCheckpointSaver, ...steps: readonly Step[]) =>
  createAgentGraph({
    model: scripted(...steps),
    tools: [createProbe().fast],
    checkpointer,
    messagesChannel: "delta",
  });

/** Turns with a call, this one from an older checkpoint. Returns all checkpoints of the thread. */
async function live(saver: BaseCheckpointSaver, turns: number, fork?: number): Promise<CheckpointTuple[]> {
  const agent = agentOver(
    saver,
    ...Array(turns)
      .fill([calls(["fast"]), "Done."])
      .flat(),
  );
  for (let turn = 0; turn < turns; turn += 1) {
    const past = turn === fork ? (await tuplesOf(saver)).at(8)?.config : undefined;
    await agent.invoke(user(`Go ${turn}`), past ?? thread);
  }
  return tuplesOf(saver);
}

async function tuplesOf(saver: BaseCheckpointSaver): Promise<CheckpointTuple[]> {
  const tuples: CheckpointTuple[] = [];
  for await (const tuple of saver.list(thread)) tuples.push(tuple);
  return tuples;
}

describe("The history of a delta channel", () => {
  it("is the same from every checkpoint of every branch, and read in pages", async () => {
    const saver = new ListedSaver();
    const checkpoints = await live(saver, 28, 25);
    expect(checkpoints.length).toBeGreaterThan(130);
    const channels = ["messages"];
    let [walked, paged] = [0, 0];
    for (const [index, { config }] of checkpoints.entries()) {
      if (index % 6 > 0) continue;
      saver.queries = 0;
      const expected = await saver.getDeltaChannelHistory({ config, channels });
      walked = Math.max(walked, saver.queries);
      saver.queries = 0;
      expect(await quickSaver(saver).getDeltaChannelHistory({ config, channels })).toEqual(expected);
      paged = Math.max(paged, saver.queries);
    }
    expect(walked).toBeGreaterThan(100);
    expect(paged).toBeLessThan(10);
  });

  it("is the same from every checkpoint in memory, and read without those before the stored value", async () => {
    const saver = new MemorySaver();
    const checkpoints = await live(saver, 28, 25);
    const stored = saver.storage["1"]?.[""] ?? {};
    const first = checkpoints.at(-1)?.checkpoint.id ?? "";
    const read = vi.fn(Reflect.get);
    for (const [index, { config }] of checkpoints.entries()) {
      const wanted = { config, channels: ["messages"] };
      const expected = await saver.getDeltaChannelHistory(wanted);
      saver.storage["1"] = { "": new Proxy(stored, { get: (all, id) => read(all, id) }) };
      expect(await quickSaver(saver).getDeltaChannelHistory(wanted)).toEqual(expected);
      saver.storage["1"] = { "": stored };
      if (index === 0) expect(read).not.toHaveBeenCalledWith(stored, first);
    }
    expect(read).toHaveBeenCalledWith(stored, first);
  });

  it("is read without the checkpoint that the run has read before", async () => {
    const saver = new ListedSaver();
    await live(saver, 3);
    saver.queries = 0;
    const quick = quickSaver(saver);
    const latest = await quick.getTuple(thread);
    await quick.getDeltaChannelHistory({ config: latest?.config ?? thread, channels: ["messages"] });
    expect(saver.queries).toBe(2);
  });

  it("is read in pages for the states of a thread", async () => {
    const saver = new ListedSaver();
    await live(saver, 10);
    const agent = agentOver(saver);
    saver.queries = 0;
    expect(pairedMessagesOf((await agent.getState(thread)).values)).toHaveLength(40);
    expect(saver.queries).toBeLessThan(4);
    saver.queries = 0;
    let states = 0;
    for await (const _ of agent.getStateHistory(thread)) states += 1;
    expect(saver.queries).toBeLessThan(states * 3);
  });

  it("is read from each checkpoint if the list does not have the writes", async () => {
    class WritelessSaver extends ListedSaver {
      override async *list(...given: Parameters<MemorySaver["list"]>) {
        for await (const { pendingWrites: _, ...tuple } of super.list(...given)) yield tuple;
      }
    }
    const saver = new WritelessSaver();
    const [latest] = await live(saver, 3);
    const read = { config: latest?.config ?? thread, channels: ["messages"] };
    expect(await quickSaver(saver).getDeltaChannelHistory(read)).toEqual(
      await saver.getDeltaChannelHistory(read),
    );
  });
});

describe.each(SAVERS.filter(({ title }) => title === "PostgresSaver"))("With $title", ({ isThere, open }) => {
  it.skipIf(!isThere)("a turn after many asks a few queries, and reads the thread once", async () => {
    const saver = (await open()).connect();
    await live(saver, 18);
    const pool = Reflect.get(saver, "pool");
    const client = await pool.connect();
    const query = vi.spyOn(Object.getPrototypeOf(client), "query");
    client.release();
    const agent = agentOver(saver, calls(["fast"]), "Done.");
    await agent.invoke(user("And?"), thread);
    const texts = query.mock.calls.map(([given]) => String(Reflect.get(Object(given), "text") ?? given));
    query.mockRestore();
    const reads = texts.filter((text) => text.includes("channel_values"));
    // The latest checkpoint, and 90 before it.
    expect(reads.length).toBeLessThan(7);
    expect(reads.length).toBeGreaterThan(3);
    expect(pairedMessagesOf((await agent.getState(thread)).values).length).toBeGreaterThan(50);
  });

  it.skipIf(!isThere)("reads what the checkpointer reads", async () => {
    const saver = (await open()).connect();
    const checkpoints = await live(saver, 9, 7);
    const quick = quickSaver(saver);
    for (const { config } of checkpoints) {
      expect(await quick.getTuple(config)).toEqual(await saver.getTuple(config));
      const read = { config, channels: ["messages"] };
      expect(await quick.getDeltaChannelHistory(read)).toEqual(await saver.getDeltaChannelHistory(read));
    }
    expect(await tuplesOf(quick)).toEqual(checkpoints);
  });
});

type Nested = Uint8Array | null | readonly Nested[];

/** As PostgreSQL writes a list of bytes. */
function written(value: Nested): string {
  if (value === null) return "NULL";
  if (value instanceof Uint8Array) return `"\\\\x${Buffer.from(value).toString("hex")}"`;
  return `{${value.map(written).join(",")}}`;
}

const OWN = "what node-postgres makes of it";

interface Query {
  readonly types: { getTypeParser(type: number, format: string): (text: string) => unknown };
}

/** Reads through the view a row with a list and a text, whose own parsers give `OWN`. */
async function readRow(list: string, fails?: Error) {
  const release = vi.fn();
  const query = async ({ types }: Query) => {
    if (fails !== undefined) throw fails;
    return [types.getTypeParser(1001, "text")(list), types.getTypeParser(25, "text")(list)];
  };
  const client = { query, getTypeParser: () => () => OWN, on: () => {}, off: () => {}, release };
  class PooledSaver extends MemorySaver {
    readonly pool = {
      connect: async () => client,
      query: (_text: string, _values: unknown[]): unknown => undefined,
    };
  }
  const { pool } = quickSaver(new PooledSaver()) as PooledSaver;
  return { row: Promise.resolve(pool.query("select", [])), released: release.mock.calls };
}

describe("A list of bytes from PostgreSQL", () => {
  const bytes = fc.uint8Array({ maxLength: 20 });
  const lists = fc.array(fc.array(fc.oneof(bytes, fc.constant(null)), { minLength: 1 }), { minLength: 1 });

  law(
    "is read as it was written, and other values as node-postgres reads them",
    200,
    [lists],
    async (list) => {
      const { row, released } = await readRow(written(list));
      const expected = list.map((part) => part.map((each) => each && Buffer.from(each)));
      expect(await row).toEqual([expected, OWN]);
      expect(released).toEqual([[undefined]]);
    },
  );

  it.each([
    ["of escaped bytes", '{{json,"{\\"a\\":\\\\000}"}}'],
    ["of empty bytes, escaped", '{{""}}'],
    ["with bounds", '[0:1]={"\\\\x00","\\\\x01"}'],
    ["that ends early", '{{"\\\\x0"}}'],
  ])("%s is read by node-postgres", async (_, list) => {
    expect(await (await readRow(list)).row).toEqual([OWN, OWN]);
  });

  it("that does not arrive leaves no client in the pool that may be broken", async () => {
    const lost = new Error("Connection terminated");
    const { row, released } = await readRow("{}", lost);
    await expect(row).rejects.toBe(lost);
    expect(released).toEqual([[lost]]);
  });
});
