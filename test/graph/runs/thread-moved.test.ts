import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { v6 } from "@langchain/core/utils/uuid";
import { type BaseCheckpointSaver, InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { type AgentGraph, createAgentGraph, type Repair, ThreadConflictError } from "../../../src/index.js";
import { turns } from "../../support/async.js";
import { REPAIR_CHANNEL, replaceMethods } from "../../support/internals.js";
import { lines } from "../../support/lines.js";
import { calls, FunctionModel } from "../../support/models.js";
import { inThread, messagesOf, script, user } from "../../support/thread.js";
import { createProbe } from "../../support/tools.js";

const config = inThread("1");
const BOTH = "human: call deaf and call fast";
const FINISHED = `${BOTH} | ai> deaf fast | tool: deaf done - | tool: fast done -`;

const linesOf = async (graph: AgentGraph, thread: object = config) =>
  script(messagesOf((await graph.getState(thread)).values));
const humansOf = async (graph: AgentGraph, thread: object = config) =>
  (await linesOf(graph, thread)).filter((line) => line.startsWith("human"));

/** Two graphs with different checkpointers over the same threads, as two processes have them. */
function createProcesses(store?: InMemoryStore) {
  const { storage, writes } = new MemorySaver();
  const probe = createProbe();
  const make = () =>
    createAgentGraph({
      model: "offline:",
      tools: [probe.fast, probe.deaf],
      checkpointer: Object.assign(new MemorySaver(), { storage, writes }),
      ...(store && { store }),
    });
  const [graph, other] = [make(), make()];
  const send = (text: string) => other.invoke(user(text), config);
  const update = (text: string) => other.updateState(config, user(text), "model");
  const read = () => linesOf(other);
  /** Starts a run, lets the other process write while two tools run, and returns the error of the run. */
  const collide = async (
    write: () => Promise<unknown>,
    options: object = {},
    input: object | null = user("call deaf and call fast"),
  ) => {
    const run = graph.invoke(input as null, { ...config, ...options });
    const failure = run.catch((error: unknown) => error);
    await probe.hasBegun(2);
    await write();
    probe.release();
    const error = await failure;
    if (!(error instanceof ThreadConflictError)) throw error;
    return error;
  };
  return { graph, other, send, update, read, collide };
}

describe.each(["sync", "async", "exit"] as const)("A run with durability %s", (durability) => {
  it.each([
    ["finished a run of", "send", -2],
    ["updated the state of", "update", -1],
  ] as const)("fails if another process has %s its thread", async (_what, way, place) => {
    const processes = createProcesses();
    const { graph, read, collide } = processes;
    await graph.invoke(user("hello"), config);
    const before = await read();
    const error = await collide(() => processes[way]("from the other"), { durability });
    expect(error).toMatchObject({ name: "ThreadConflictError", code: "THREAD_MOVED", threadId: "1" });
    const after = await read();
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.at(place)).toBe("human: from the other");
    await graph.invoke(user("again"), config);
    expect((await read()).at(-2)).toBe("human: again");
  });
});

describe("The error of a run whose thread has moved on", () => {
  it("names the checkpoint that has the results of its tools", async () => {
    const { graph, update, collide } = createProcesses();
    await graph.invoke(user("hello"), config);
    const { checkpointId, message } = await collide(() => update("edit"));
    expect(message).toContain(`\`${checkpointId}\``);
    const state = await graph.getState({ configurable: { thread_id: "1", checkpoint_id: checkpointId } });
    const results = state.tasks.flatMap(({ result }) => script(Object(result).messages ?? []));
    expect([...script(messagesOf(state.values)).slice(2), ...results]).toEqual(lines(FINISHED));
  });

  it("says that the thread has nothing of the run if nothing was saved", async () => {
    const { send, read, collide } = createProcesses();
    const error = await collide(() => send("first"), { durability: "exit" });
    const says = /The thread has nothing of this run, so send its input \(`.+`\) again\.$/;
    expect(error).toMatchObject({ checkpointId: undefined, isInThread: false });
    expect(error.message).toMatch(says);
    expect(await read()).not.toContain(BOTH);
  });

  it("says that the thread has the input if the other run continues from it", async () => {
    const { graph, other, send, collide } = createProcesses();
    await graph.invoke(user("hello"), config);
    const error = await collide(() => send("from the other"), { durability: "sync" });
    expect(error.isInThread).toBe(true);
    expect(error.message).toContain("Do not send the input again");
    expect(await humansOf(other)).toEqual(lines(`human: hello | ${BOTH} | human: from the other`));
    const messages = messagesOf((await other.getState(config)).values);
    expect(error.message).toContain(`\`${messages.find(({ text }) => text.startsWith("call deaf"))?.id}\``);
  });
});

describe("What the tools of a run return after its thread has moved on", () => {
  const repairs: Repair[] = [];
  const listen = (repair: unknown) => void repairs.push(repair as Repair);
  beforeEach(() => {
    repairs.length = 0;
    subscribe(REPAIR_CHANNEL, listen);
  });
  afterEach(() => void unsubscribe(REPAIR_CHANNEL, listen));
  const late = () =>
    repairs.flatMap((repair) => (repair.kind === "result-late" ? [repair.message.text] : []));

  it.each([
    ["sync", { durability: "sync" }],
    ["async", { durability: "async" }],
    ["if the run has continued a turn, and has saved nothing before", {}, null],
  ])("is in the thread with the next run (%s)", async (_title, options, input?) => {
    const { graph, send, read, collide } = createProcesses(new InMemoryStore());
    if (input === null)
      await graph.invoke(user("call deaf and call fast"), { ...config, interruptBefore: ["tools"] });
    const error = await collide(() => send("from the other"), options, input);
    expect(error.isInThread).toBe(true);
    if (input === null) expect(error.message).toContain("continue it with the input `null`");
    expect(late()).toContain("deaf done -");
    await send("again");
    expect((await read()).slice(0, 5)).toEqual(lines(`${FINISHED} | human: from the other`));
  });

  it("is only told if the thread does not have their calls", async () => {
    const { send, update, read, collide } = createProcesses(new InMemoryStore());
    await send("hello");
    const error = await collide(() => update("edit"), { durability: "exit" });
    expect(error.isInThread).toBe(false);
    expect(late()).toEqual(["deaf done -", "fast done -"]);
    await send("again");
    expect((await read()).filter((line) => line.startsWith("tool"))).toEqual([]);
  });
});

describe("A run on a machine whose clock is behind", () => {
  /** A thread whose last checkpoint was written by a machine whose clock is ahead by this many milliseconds. */
  const threadAhead = async (milliseconds: number) => {
    const saver = new MemorySaver();
    const graph = createAgentGraph({ model: "offline:", checkpointer: saver });
    await graph.invoke(user("hello"), config);
    const head = await saver.getTuple(config);
    if (head?.metadata === undefined) throw new Error("Expected a checkpoint.");
    const msecs = Date.now() + milliseconds;
    const id = v6({ msecs, nsecs: 0, clockseq: 1, node: new Uint8Array(6) });
    await saver.put(head.config, { ...head.checkpoint, id }, head.metadata);
    return graph;
  };

  it("is part of the thread", async () => {
    const graph = await threadAhead(300);
    await graph.invoke(user("from the slower clock"), config);
    expect((await linesOf(graph)).at(-2)).toBe("human: from the slower clock");
  });

  it("is refused if the clock is too far behind", async () => {
    const graph = await threadAhead(3_600_000);
    await expect(graph.invoke(user("lost"), config)).rejects.toThrow(/3600 seconds ahead of the clock/);
  });
});

it("Runs at once on a thread whose id is a number wait for one another", async () => {
  const saver = SqliteSaver.fromConnString(":memory:");
  onTestFinished(() => void saver.db.close());
  const graph = createAgentGraph({ model: "offline:", checkpointer: saver });
  const thread = { configurable: { thread_id: 42 } };
  const texts = Array.from({ length: 6 }, (_, index) => `message ${index}`);
  await Promise.all(texts.map((text) => graph.invoke(user(text), thread)));
  expect(await humansOf(graph, thread)).toEqual(texts.map((text) => `human: ${text}`));
});

// A database that fails or is silent in the middle of a run, and what the next run finds.

const never = () => new Promise<never>(() => {});
const channels = ["full", "delta"] as const;

afterEach(() => void vi.useRealTimers());

/** A view of a checkpointer in which one write of each run fails, after `armed` was called. */
function failingSaver(saver: BaseCheckpointSaver) {
  const counted = { put: 0, putWrites: 0 };
  let fails: { readonly method: keyof typeof counted; readonly at: number } | undefined;
  const write = async <Result>(
    method: keyof typeof counted,
    work: () => Promise<Result>,
  ): Promise<Result> => {
    counted[method] += 1;
    const isFailing = fails?.method === method && fails.at === counted[method];
    // Other writes are under way, or wait behind this one, when it fails.
    for (let turn = 0; turn < (isFailing ? 2 : 6); turn += 1) await turns();
    if (isFailing) throw new Error("connection lost");
    return work();
  };
  const view = replaceMethods(saver, {
    put: (...given) => write("put", () => saver.put(...given)),
    putWrites: (...given) => write("putWrites", () => saver.putWrites(...given)),
  });
  const arm = (method: keyof typeof counted, at: number): void => {
    counted.put = 0;
    counted.putWrites = 0;
    fails = { method, at };
  };
  return { view, counted, arm };
}

describe.each(channels)("With the channel %s, a run whose write fails", (messagesChannel) => {
  const writes = (["putWrites", "put"] as const).flatMap((method) =>
    [1, 2, 3].map((at) => [method, at] as const),
  );

  it.each(writes)("writes nothing more once its caller has the error (%s %i)", async (method, at) => {
    const { view, counted, arm } = failingSaver(new MemorySaver());
    const { fast } = createProbe();
    const graph = createAgentGraph({ model: "offline:", tools: [fast], checkpointer: view, messagesChannel });
    await graph.invoke(user("hello"), config);
    arm(method, at);
    await expect(graph.invoke(user("call fast"), config)).rejects.toThrow("connection lost");
    const atError = { ...counted };
    for (let turn = 0; turn < 40; turn += 1) await turns();
    expect(counted).toEqual(atError);
    await graph.invoke(user("again"), config);
    expect((await linesOf(graph)).at(-2)).toBe("human: again");
  });
});

it.each(channels)("An input that its run had not read is in the thread (%s)", async (messagesChannel) => {
  const { view, arm } = failingSaver(new MemorySaver());
  const graph = createAgentGraph({ model: "offline:", checkpointer: view, messagesChannel });
  await graph.invoke(user("hello"), config);
  // The first writes of a run are those of START, which reads the input.
  arm("putWrites", 1);
  await expect(graph.invoke(user("not read"), config)).rejects.toThrow("connection lost");
  await graph.invoke(user("again"), config);
  expect(await humansOf(graph)).toEqual(["human: hello", "human: not read", "human: again"]);
});

it("Many writes that wait for a slow database warn of no leak", async () => {
  const saver = new MemorySaver();
  let answer = () => {};
  const answers = new Promise<void>((resolve) => {
    answer = resolve;
  });
  let waiting = 0;
  const slow = replaceMethods(saver, {
    putWrites: async (...given) => {
      waiting += 1;
      await answers;
      return saver.putWrites(...given);
    },
  });
  const warn = vi.spyOn(process, "emitWarning");
  const { fast } = createProbe();
  // The start of another tool would wait for its note.
  fast.metadata = { replay: "safe" };
  const model = new FunctionModel(({ messages }) =>
    messages.length > 20 ? "done" : calls(["fast"], ["fast"]),
  );
  const graph = createAgentGraph({ model, tools: [fast], checkpointer: slow });
  const run = graph.invoke(user("go"), { ...config, signal: new AbortController().signal });
  await expect.poll(() => waiting).toBeGreaterThan(20);
  answer();
  await run;
  expect(warn).not.toHaveBeenCalled();
  warn.mockRestore();
});

const database = () => ({
  checkpointer: new MemorySaver() as BaseCheckpointSaver,
  store: new InMemoryStore(),
});
type Database = ReturnType<typeof database>;

/** The same database, of which one operation is silent. */
const SILENT: Readonly<Record<string, (database: Database) => Partial<Database>>> = {
  "a read": ({ checkpointer }) => ({ checkpointer: replaceMethods(checkpointer, { getTuple: never }) }),
  "a checkpoint": ({ checkpointer }) => ({ checkpointer: replaceMethods(checkpointer, { put: never }) }),
  "the writes of a task": ({ checkpointer }) => ({
    checkpointer: replaceMethods(checkpointer, { putWrites: never }),
  }),
  "the store": ({ store }) => ({ store: replaceMethods(store, { batch: never, search: never }) }),
};

describe.each(Object.entries(SILENT))("A run that waits for %s, which never comes,", (name, silence) => {
  const open = () => {
    const sound = database();
    let now: Database = { ...sound, ...silence(sound) };
    const switched = <Key extends keyof Database>(key: Key): Database[Key] =>
      new Proxy(sound[key], {
        get: (_, property) => {
          const value: unknown = Reflect.get(now[key], property);
          return typeof value === "function" ? value.bind(now[key]) : value;
        },
      });
    const [checkpointer, store] = [switched("checkpointer"), switched("store")];
    const answer = () => {
      now = sound;
    };
    return { graph: createAgentGraph({ model: "offline:", checkpointer, store }), answer };
  };

  it.each(["abort", "time"])("gives its thread back (%s)", async (why) => {
    const { graph, answer } = open();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const run = new AbortController();
    const options = { ...config, ...(why === "abort" && { signal: run.signal }) };
    const first = graph.invoke(user("first"), options).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(100);
    const second = graph.invoke(user("second"), config);
    run.abort();
    await vi.advanceTimersByTimeAsync(100);
    answer();
    await vi.advanceTimersByTimeAsync(why === "abort" ? 16_000 : 95_000);
    vi.useRealTimers();
    expect(script((await second).messages).at(-2)).toBe("human: second");
    if (why === "time" && name !== "the store")
      expect(String(await first)).toContain("has not answered in time");
    await first;
  });
});
