import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { v6 } from "@langchain/core/utils/uuid";
import { type BaseCheckpointSaver, type BaseStore, InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { createAgentGraph, REPAIR_CHANNEL, type Repair, ThreadConflictError } from "../../../src/index.js";
import { replaceMethods } from "../../../src/threads/langgraph/replace-methods.js";
import { FunctionModel } from "../../support/function-model.js";
import { makeTool } from "../../support/make-tool.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls } from "../../support/scripted-model.js";
import { inThread, messagesOf, script, user } from "../../support/thread.js";
import { turns } from "../../support/turns.js";

const config = inThread("1");

/** Two graphs with different checkpointers over the same threads, as two processes have them. */
function createProcesses(store?: InMemoryStore) {
  const saver = new MemorySaver();
  const view = () =>
    new Proxy(saver, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  const probe = createProbe();
  const later: string[] = [];
  const record = makeTool("record", async () => void later.push("record"));
  const shared = store === undefined ? {} : { store };
  const other = createAgentGraph({ model: "offline:", checkpointer: view(), ...shared });
  const graph = createAgentGraph({
    model: "offline:",
    tools: [probe.fast, probe.deaf, record],
    checkpointer: view(),
    ...shared,
  });
  const read = async () => script(messagesOf((await other.getState(config)).values));
  /** Starts a run, lets the other process write while two tools run, and returns the error of the run. */
  const collide = async (
    write: () => Promise<unknown>,
    options: object = {},
  ): Promise<ThreadConflictError> => {
    const run = graph.invoke(user("call deaf and call fast"), { ...config, ...options });
    const failure = run.catch((error: unknown) => error);
    await probe.hasBegun(2);
    await write();
    probe.release();
    const error = await failure;
    if (!(error instanceof ThreadConflictError)) throw error;
    return error;
  };
  return { graph, other, probe, later, read, collide };
}

describe.each(["sync", "async", "exit"] as const)("A run with durability %s", (durability) => {
  it("fails if another process has finished a run of its thread", async () => {
    const { graph, other, read, collide } = createProcesses();
    await graph.invoke(user("hello"), config);
    const before = await read();
    const error = await collide(() => other.invoke(user("from the other"), config), { durability });
    expect(error).toMatchObject({ name: "ThreadConflictError", code: "THREAD_MOVED", threadId: "1" });
    const after = await read();
    expect(after.slice(0, before.length)).toEqual(before);
    expect(after.at(-2)).toBe("human: from the other");
    await graph.invoke(user("again"), config);
    expect((await read()).at(-2)).toBe("human: again");
  });

  it("fails if another process has updated the state of its thread", async () => {
    const { graph, other, read, collide } = createProcesses();
    await graph.invoke(user("hello"), config);
    const error = await collide(() => other.updateState(config, user("an edit"), "model"), { durability });
    expect(error.code).toBe("THREAD_MOVED");
    expect((await read()).at(-1)).toBe("human: an edit");
  });
});

describe("The error of a run whose thread has moved on", () => {
  it("names the checkpoint that has the results of its tools", async () => {
    const { graph, other, collide } = createProcesses();
    await graph.invoke(user("hello"), config);
    const { checkpointId, message } = await collide(() => other.updateState(config, user("edit"), "model"));
    expect(message).toContain(`\`${checkpointId}\``);
    const state = await graph.getState({ configurable: { thread_id: "1", checkpoint_id: checkpointId } });
    expect(script(messagesOf(state.values)).slice(2)).toEqual([
      "human: call deaf and call fast",
      "ai> deaf fast",
    ]);
    const results = state.tasks.flatMap(({ result }) => script(Object(result).messages ?? []));
    expect(results).toEqual(["tool: deaf done -", "tool: fast done -"]);
  });

  it("says that the thread has nothing of the run if nothing was saved", async () => {
    const { other, read, collide } = createProcesses();
    const error = await collide(() => other.invoke(user("first"), config), { durability: "exit" });
    expect(error).toMatchObject({
      checkpointId: undefined,
      isInThread: false,
      message: expect.stringMatching(
        /The thread has nothing of this run, so send its input \(`.+`\) again\.$/,
      ),
    });
    expect(await read()).not.toContain("human: call deaf and call fast");
  });

  it("says that the thread has the input if the other run continues from it", async () => {
    const { graph, other, read, collide } = createProcesses();
    await graph.invoke(user("hello"), config);
    const error = await collide(() => other.invoke(user("from the other"), config), { durability: "sync" });
    expect(error).toMatchObject({
      isInThread: true,
      message: expect.stringContaining("Do not send the input again"),
    });
    const script = await read();
    expect(script.filter((line) => line === "human: call deaf and call fast")).toHaveLength(1);
    const { id } = messagesOf((await other.getState(config)).values).find(({ text }) =>
      text.startsWith("call deaf"),
    ) ?? { id: "none" };
    expect(error.message).toContain(`\`${id}\``);
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

  it.each(["sync", "async"] as const)("is in the thread with the next run (%s)", async (durability) => {
    const { other, read, collide } = createProcesses(new InMemoryStore());
    const error = await collide(() => other.invoke(user("from the other"), config), { durability });
    expect(error.isInThread).toBe(true);
    expect(late()).toContain("deaf done -");
    await other.invoke(user("again"), config);
    expect((await read()).slice(0, 5)).toEqual([
      "human: call deaf and call fast",
      "ai> deaf fast",
      "tool: deaf done -",
      "tool: fast done -",
      "human: from the other",
    ]);
  });

  it("is in the thread too if the run has continued a turn, and has saved nothing before", async () => {
    const { graph, other, probe, read } = createProcesses(new InMemoryStore());
    await graph.invoke(user("call deaf and call fast"), { ...config, interruptBefore: ["tools"] });
    const failed = expect(graph.invoke(null, config)).rejects.toMatchObject({
      code: "THREAD_MOVED",
      isInThread: true,
      message: expect.stringContaining("continue it with the input `null`"),
    });
    await probe.hasBegun(2);
    await other.invoke(user("from the other"), config);
    probe.release();
    await failed;
    expect(late()).toContain("deaf done -");
    await other.invoke(user("again"), config);
    expect((await read()).slice(0, 4)).toEqual([
      "human: call deaf and call fast",
      "ai> deaf fast",
      "tool: deaf done -",
      "tool: fast done -",
    ]);
  });

  it("is only told if the thread does not have their calls", async () => {
    const { other, read, collide } = createProcesses(new InMemoryStore());
    await other.invoke(user("hello"), config);
    const write = () => other.updateState(config, user("edit"), "model");
    const error = await collide(write, { durability: "exit" });
    expect(error.isInThread).toBe(false);
    expect(late()).toEqual(["deaf done -", "fast done -"]);
    await other.invoke(user("again"), config);
    expect((await read()).filter((line) => line.startsWith("tool"))).toEqual([]);
  });
});

/** The id of a checkpoint that a machine has written whose clock is ahead by this many milliseconds. */
const idAhead = (milliseconds: number) =>
  v6({ msecs: Date.now() + milliseconds, nsecs: 0, clockseq: 1, node: new Uint8Array(6) });

describe("A run on a machine whose clock is behind", () => {
  const threadAhead = async (milliseconds: number) => {
    const saver = new MemorySaver();
    const graph = createAgentGraph({ model: "offline:", checkpointer: saver });
    await graph.invoke(user("hello"), config);
    const head = await saver.getTuple(config);
    if (head === undefined) throw new Error("Expected a checkpoint.");
    const checkpoint = { ...head.checkpoint, id: idAhead(milliseconds) };
    await saver.put(head.config, checkpoint, head.metadata ?? { source: "loop", step: 1, parents: {} });
    return graph;
  };

  it("is part of the thread", async () => {
    const graph = await threadAhead(300);
    await graph.invoke(user("from the slower clock"), config);
    expect(script(messagesOf((await graph.getState(config)).values)).at(-2)).toBe(
      "human: from the slower clock",
    );
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
  const lines = script(messagesOf((await graph.getState(thread)).values));
  expect(lines.filter((line) => line.startsWith("human"))).toEqual(texts.map((text) => `human: ${text}`));
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
  it.each([
    { method: "putWrites", at: 1 },
    { method: "putWrites", at: 2 },
    { method: "putWrites", at: 3 },
    { method: "put", at: 1 },
    { method: "put", at: 2 },
    { method: "put", at: 3 },
  ] as const)("writes nothing more once its caller has the error ($method $at)", async ({ method, at }) => {
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
    expect(script(messagesOf((await graph.getState(config)).values)).at(-2)).toBe("human: again");
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
  const humans = script(messagesOf((await graph.getState(config)).values)).filter((line) =>
    line.startsWith("human"),
  );
  expect(humans).toEqual(["human: hello", "human: not read", "human: again"]);
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

/** Each operation of a database that can be silent. */
const SILENT: Readonly<Record<string, (saver: BaseCheckpointSaver, store: BaseStore) => object>> = {
  "a read": (saver) => ({ checkpointer: replaceMethods(saver, { getTuple: never }) }),
  "a checkpoint": (saver) => ({ checkpointer: replaceMethods(saver, { put: never }) }),
  "the writes of a task": (saver) => ({ checkpointer: replaceMethods(saver, { putWrites: never }) }),
  "the store": (_, store) => ({ store: replaceMethods(store, { batch: never, search: never }) }),
};

describe.each(Object.keys(SILENT))("A run that waits for %s, which never comes,", (name) => {
  const open = () => {
    const saver = new MemorySaver();
    const store = new InMemoryStore();
    let isSilent = true;
    const silent = SILENT[name]?.(saver, store) ?? {};
    const own: Record<string, object> = { checkpointer: saver, store, ...silent };
    const switched = <Target extends object>(key: string, sound: Target): Target =>
      new Proxy(sound, {
        get: (target, property) => {
          const from = isSilent ? (own[key] ?? target) : target;
          const value: unknown = Reflect.get(from, property);
          return typeof value === "function" ? value.bind(from) : value;
        },
      });
    const graph = createAgentGraph({
      model: "offline:",
      checkpointer: switched("checkpointer", saver),
      store: switched("store", store),
    });
    const answer = () => {
      isSilent = false;
    };
    return { graph, answer };
  };

  it.each(["abort", "time"])("gives its thread back (%s)", async (why) => {
    const { graph, answer } = open();
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const run = new AbortController();
    const first = graph
      .invoke(user("first"), { ...config, ...(why === "abort" && { signal: run.signal }) })
      .catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(100);
    const second = graph.invoke(user("second"), config);
    run.abort();
    await vi.advanceTimersByTimeAsync(100);
    answer();
    await vi.advanceTimersByTimeAsync(why === "abort" ? 16_000 : 95_000);
    vi.useRealTimers();
    const { messages } = await second;
    expect(script(messages).at(-2)).toBe("human: second");
    const error = await first;
    if (why === "time" && name !== "the store") expect(String(error)).toContain("has not answered in time");
  });
});
