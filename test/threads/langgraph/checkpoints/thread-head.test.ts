import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type BaseCheckpointSaver,
  Command,
  emptyCheckpoint,
  interrupt,
  MemorySaver,
  MessagesAnnotation,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { PostgresSaver } from "@langchain/langgraph-checkpoint-postgres";
import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  hasNewInput,
  nodesToEnter,
  waitsForNode,
  writesByTask,
  writesOfCommand,
} from "../../../../src/threads/langgraph/read-checkpoints.js";
import { threadHead } from "../../../../src/threads/langgraph/thread-head.js";
import { turns } from "../../../support/async.js";
import { boundedSaver, RunSaver, replaceMethods } from "../../../support/internals.js";
import { oneNode, parallelGraph } from "../../../support/plain-graph.js";
import { DATABASE_URL, SAVERS } from "../../../support/savers.js";
import { law } from "../../../support/test-tools.js";
import { inThread, user } from "../../../support/thread.js";

const at = (thread: string, namespace = "", id?: string) => ({
  configurable: {
    thread_id: thread,
    checkpoint_ns: namespace,
    ...(id !== undefined && { checkpoint_id: id }),
  },
});

async function put(saver: BaseCheckpointSaver, id: string, namespace = "", thread = "1", parent?: string) {
  const checkpoint = { ...emptyCheckpoint(), id };
  await saver.put(at(thread, namespace, parent), checkpoint, { source: "loop", step: 0, parents: {} }, {});
  return id;
}

const headOf = (saver: BaseCheckpointSaver, threadId = "1") => threadHead(saver, threadId, undefined);

const guard = (saver: BaseCheckpointSaver) => {
  const view = new RunSaver(saver, {
    signal: undefined,
    guarded: { threadId: "1", messageIds: () => [] },
  });
  return { saver: view.checkpointer, assertKept: () => view.assertKept() };
};

const MOVED = { code: "THREAD_MOVED" };

describe.each(SAVERS)("With $title", ({ isThere, open }) => {
  const test = it.skipIf(!isThere);

  test("tells the latest checkpoint of a thread", async () => {
    const saver = (await open()).connect();
    for (const id of ["1", "3", "2"]) await put(saver, id);
    await put(saver, "4", "a subgraph");
    await put(saver, "5", "", "another thread");
    expect(await headOf(saver).is("3")).toBe(true);
    expect(await headOf(saver).is("2")).toBe(false);
    expect(await headOf(saver).is(undefined)).toBe(false);
    expect(await headOf(saver, "new").is(undefined)).toBe(true);
  });

  test("writes only after the checkpoint that the writer knows", async () => {
    const { connect } = await open();
    const [saver, other] = [connect(), connect()];
    await put(saver, "1");
    const write = async (to: BaseCheckpointSaver) => {
      await to.putWrites(at("1", "", "1"), [["messages", ["written"]]], "task");
      return put(to, "2", "", "1", "1");
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

  test("lets one of many writers that know the same checkpoint write", async () => {
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

  test("a run is not kept if another writer has replaced its last checkpoint", async () => {
    const { connect } = await open();
    const { saver, assertKept } = guard(connect());
    await put(connect(), "1");
    await saver.getTuple(at("1"));
    await put(saver, "2", "", "1", "1");
    await assertKept();
    await put(connect(), "3", "", "1", "1");
    await expect(assertKept()).rejects.toMatchObject({ ...MOVED, isInThread: false });
  });

  test("a run is kept if another writer has continued its last checkpoint", async () => {
    const { connect } = await open();
    const { saver, assertKept } = guard(connect());
    await saver.getTuple(at("1"));
    await put(saver, "1");
    await put(connect(), "2", "", "1", "1");
    await assertKept();
    await expect(put(saver, "3", "", "1", "1")).rejects.toMatchObject({ ...MOVED, isInThread: true });
  });

  test("a run writes to the checkpoint that it began on only together with its own", async () => {
    const task = "00000001-0000-0000-0000-000000000000";
    const { connect } = await open();
    const writesAt = async (id: string) => (await connect().getTuple(at("1", "", id)))?.pendingWrites;
    await put(connect(), "1");
    const { saver } = guard(connect());
    await saver.getTuple(at("1"));
    await saver.putWrites(at("1", "", "1"), [["messages", ["written"]]], task);
    expect(await writesAt("1")).toEqual([]);

    const refused = guard(connect());
    await refused.saver.getTuple(at("1"));
    await refused.saver.putWrites(
      at("1", "", "1"),
      [["messages", ["of a refused run"]]],
      `${task.slice(0, -1)}1`,
    );

    await put(saver, "2", "", "1", "1");
    expect(await writesAt("1")).toEqual([[task, "messages", ["written"]]]);
    await expect(put(refused.saver, "3", "", "1", "1")).rejects.toMatchObject(MOVED);
    expect(await writesAt("1")).toEqual([[task, "messages", ["written"]]]);
  });
});

it("A long thread in memory is not listed for each look, and a writer that comes between is noticed", async () => {
  const saver = new MemorySaver();
  await put(saver, "a0");
  const thread = saver.storage["1"] ?? {};
  const [stored] = Object.values(thread[""] ?? {});
  const ids = Array.from({ length: 10_000 }, (_, index) => `a${index}`);
  let listings = 0;
  thread[""] = new Proxy(Object.fromEntries(ids.map((id) => [id, stored])) as never, {
    ownKeys: (checkpoints) => {
      listings += 1;
      return Reflect.ownKeys(checkpoints);
    },
  });
  const time = vi.spyOn(performance, "now").mockReturnValue(1_000);
  onTestFinished(() => time.mockRestore());
  const [one, other] = [headOf(saver), headOf(saver)];
  const write = (head: typeof one, after: string, id: string) => head.writeAfter(after, (to) => put(to, id));

  expect(await one.is("a9999")).toBe(true);
  expect(await write(one, "a9999", "b1")).toBe(true);
  expect(await write(one, "b1", "b2")).toBe(true);
  expect(listings).toBe(1);
  // Of this process.
  expect(await write(other, "b2", "b3")).toBe(true);
  expect(await write(one, "b2", "b4")).toBe(false);
  expect(await write(other, "b3", "b5")).toBe(true);
  listings = 0;
  expect(await other.is("b5")).toBe(true);
  expect(listings).toBe(0);
  // Of a graph without this library.
  await put(saver, "c1");
  time.mockReturnValue(1_100);
  expect(await one.is("b5")).toBe(false);
  expect(await write(other, "c1", "c2")).toBe(true);
  await put(saver, "d1");
  time.mockReturnValue(1_200);
  expect(await write(other, "c2", "d2")).toBe(false);
  // A read of the latest checkpoint has listed all of them.
  time.mockReturnValue(1_300);
  listings = 0;
  const latest = { configurable: { thread_id: "1" } };
  expect(
    (await boundedSaver(saver, undefined).getTuple(latest))?.config.configurable?.["checkpoint_id"],
  ).toBe("d1");
  expect(await write(other, "d1", "d3")).toBe(true);
  expect(listings).toBe(1);
});

it.skipIf(DATABASE_URL === undefined)(
  "A PostgresSaver writes in one transaction on one connection",
  async () => {
    const kind = SAVERS.find(({ title }) => title === "PostgresSaver");
    const saver = (await kind?.open())?.connect();
    if (saver === undefined) throw new Error("Expected a database.");
    const connect = vi.spyOn(Reflect.get(saver, "pool"), "connect");
    expect(await headOf(saver).writeAfter(undefined, (to) => put(to, "1"))).toBe(true);
    expect(connect).toHaveBeenCalledTimes(1);
  },
);

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

const fails = () => Promise.reject(new Error());
const throws = () => {
  throw new Error("no table");
};
/** Fields of other classes that look like those of LangGraph's savers. */
it.each([
  ["no such fields", {}],
  ["a pool that fails", { pool: { connect: fails, query: fails }, options: { schema: "s" } }],
  ["a database of another kind", { db: { prepare: throws, transaction: () => {} } }],
  ["another storage", { storage: { "1": { "": { "9": {} } } } }],
])("A saver with %s is asked for its checkpoint", async (_title, fields) => {
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

async function latestOf(saver: BaseCheckpointSaver) {
  const tuple = await saver.getTuple(inThread("1"));
  if (tuple === undefined) throw new Error("Nothing was saved.");
  return tuple;
}

const finished = (index: number) => () => user(`finished ${index}`);
const fail = async () => {
  throw new Error("failed");
};

/** A thread whose last run has ended early, because one of its tasks failed while the others finished. */
async function endedEarly(...nodes: (() => unknown)[]) {
  const saver = new MemorySaver();
  const graph = parallelGraph(nodes, saver);
  await expect(graph.invoke(user("hi"), inThread("1"))).rejects.toThrow("failed");
  return { saver, graph, left: await latestOf(saver) };
}

const texts = (values: readonly unknown[]) => JSON.stringify(values).match(/finished \d|noted/g);

describe("the checkpoint of a run that ended early", () => {
  it("has what each finished task wrote", async () => {
    const { left: tuple } = await endedEarly(finished(1), fail, finished(2));
    expect(
      writesByTask(tuple, (name) => name === "messages").map((writes) =>
        texts(writes.map(([, value]) => value)),
      ),
    ).toEqual([["finished 1"], ["finished 2"]]);
    expect(writesByTask(tuple, (name) => name === "other")).toEqual([]);
  });

  it("has the update of a Command apart from the writes of tasks", async () => {
    const saver = new MemorySaver();
    const graph = oneNode(() => void [interrupt("first?"), interrupt("second?")], saver);
    await graph.invoke(user("hi"), inThread("1"));
    await graph.invoke(new Command({ resume: "yes", update: user("noted") }), inThread("1"));
    const tuple = await latestOf(saver);
    expect(texts(writesOfCommand(tuple, "messages"))).toEqual(["noted"]);
    expect(writesByTask(tuple, (name) => name === "messages")).toEqual([]);
  });

  it("tells whether the run has read its input, and which node it was about to enter", async () => {
    const saver = new MemorySaver();
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("patch", () => ({}))
      .addConditionalEdges(START, async () => "patch" as const)
      .compile({ checkpointer: saver });
    await graph.invoke(user("hi"), { ...inThread("1"), interruptBefore: ["patch"] });
    const found = [];
    for await (const tuple of saver.list(inThread("1"))) {
      found.push([waitsForNode(tuple, "patch"), waitsForNode(tuple, "other"), hasNewInput(tuple)]);
    }
    expect(found).toEqual([
      [true, false, false],
      [false, false, true],
    ]);
    expect(nodesToEnter(await latestOf(saver))).toEqual(["patch"]);
    await graph.invoke(null, inThread("1"));
    expect(waitsForNode(await latestOf(saver), "patch")).toBe(false);
  });
});

describe("a run that begins on a checkpoint with writes", () => {
  async function abandoned() {
    let fails = true;
    const { saver, graph, left } = await endedEarly(finished(1), () => (fails ? fail() : {}));
    fails = false;
    const { checkpointer, checkpoints } = new RunSaver(saver, { signal: undefined });
    return { saver, graph, watched: parallelGraph([() => ({})], checkpointer), checkpoints, left };
  }

  it("is no fork if it is the latest, even if the run names it", async () => {
    const { watched, checkpoints, left } = await abandoned();
    await watched.invoke(user("again"), left.config);
    expect(checkpoints).toMatchObject({
      isFork: false,
      begunOn: { checkpoint: { id: left.checkpoint.id } },
    });
  });

  it("is a fork if the thread has gone on", async () => {
    const { graph, watched, checkpoints, left } = await abandoned();
    await graph.invoke(null, inThread("1"));
    await watched.invoke(user("again"), left.config);
    expect(checkpoints.isFork).toBe(true);
  });

  it("reads the checkpoint that was saved before another one", async () => {
    const { saver, watched, checkpoints } = await abandoned();
    await watched.invoke(user("again"), inThread("1"));
    const configs: RunnableConfig[] = [];
    for await (const { config } of saver.list(inThread("1"))) configs.push(config);
    const idOf = (config?: RunnableConfig) => config?.configurable?.["checkpoint_id"];
    const before = configs.map(async (config) => idOf((await checkpoints.readBefore?.(config))?.config));
    expect(await Promise.all(before)).toEqual([...configs.slice(1).map(idOf), undefined]);
  });
});

const unguarded = (saver: BaseCheckpointSaver) => new RunSaver(saver, { signal: undefined }).checkpointer;

const next = (saver: BaseCheckpointSaver, current: number | undefined) => saver.getNextVersion(current);

const versions = fc.double({ min: 0, max: 1_000_000, noNaN: true });
const known = fc.option(versions, { nil: undefined });
law(
  "Versions grow from any version of a thread, and are numbers of one run alone",
  200,
  [known],
  (current) => {
    const [one, other] = [0, 1].map(() => next(unguarded(new MemorySaver()), current));
    for (const version of [one, other]) {
      expect(version).toBeGreaterThan(current ?? 0);
      expect(Math.floor(version ?? 0)).toBe(Math.floor(current ?? 0) + 1);
      // A database stores it as JSON, and a column has its text.
      expect(JSON.stringify(version)).toBe(String(version));
      expect(String(version)).toMatch(/^\d+\.\d+$/);
    }
    expect(one).not.toBe(other);
  },
);

it("One run gives the same version twice for the same state, because LangGraph asks for each superstep anew", () => {
  const saver = unguarded(new MemorySaver());
  expect(next(saver, 3)).toBe(next(saver, 3));
  expect(next(saver, next(saver, 3))).toBe(next(saver, 3) + 1);
});

it("A checkpointer with versions that are not whole numbers keeps them", () => {
  const text = replaceMethods(new MemorySaver(), { getNextVersion: (() => "0002.abc") as never });
  expect(next(unguarded(text), undefined)).toBe("0002.abc");
});

describe("the first checkpoint that a run reads", () => {
  it("is the last one of the run before, with the writes of its finished tasks", async () => {
    const { saver, left } = await endedEarly(finished(1), fail);
    const { checkpointer, checkpoints } = new RunSaver(saver, { signal: undefined });
    const graph = parallelGraph([() => ({})], checkpointer);
    const { messages } = await graph.invoke(user("again"), inThread("1"));
    // New input discards the writes of the tasks.
    expect(messages.map(({ content }: { content: unknown }) => content)).toEqual(["hi", "again"]);
    const { begunOn } = checkpoints;
    expect(begunOn?.checkpoint.id).toBe(left.checkpoint.id);
    const written = begunOn?.pendingWrites?.filter(([, channel]) => channel === "messages");
    expect(JSON.stringify(written)).toContain("finished");
    expect((await checkpoints.read?.(inThread("1")))?.parentConfig).toBeDefined();
  });

  it("is followed by the values of those that it has saved", async () => {
    const { checkpointer, checkpoints } = new RunSaver(new MemorySaver(), { signal: undefined });
    expect(checkpoints.saved).toBeUndefined();
    const graph = parallelGraph([() => user("finished")], checkpointer);
    const { messages } = await graph.invoke(user("hi"), inThread("1"));
    expect(checkpoints.saved?.["messages"]).toEqual(messages);
  });

  it("has been saved when all writes have ended, also those beside one that failed", async () => {
    const saver = new MemorySaver();
    let end = () => {};
    saver.putWrites = (_, [write]) =>
      write?.[1] === "fails" ? Promise.reject(new Error("no")) : new Promise((resolve) => (end = resolve));
    const view = new RunSaver(saver, { signal: undefined });
    const { checkpointer } = view;
    const failing = checkpointer?.putWrites(inThread("1"), [["messages", "fails"]], "1");
    void checkpointer?.putWrites(inThread("1"), [["messages", "waits"]], "2");
    await expect(failing).rejects.toThrow("no");
    let isSaved = false;
    const all = view.saved().then(() => {
      isSaved = true;
    });
    await turns();
    expect(isSaved).toBe(false);
    end();
    await all;
  });

  it("is unknown without a checkpointer", () => {
    expect(new RunSaver(undefined, { signal: undefined }).checkpoints).toMatchObject({
      begunOn: undefined,
      isFork: false,
    });
  });
});
