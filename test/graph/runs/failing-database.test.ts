/** A database that fails or is silent in the middle of a run, and what the next run finds. */

import { type BaseCheckpointSaver, type BaseStore, InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { afterEach, describe, expect, it, vi } from "vitest";
import { createAgentGraph } from "../../../src/index.js";
import { replaceMethods } from "../../../src/threads/langgraph/replace-methods.js";
import { FunctionModel } from "../../support/function-model.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls } from "../../support/scripted-model.js";
import { inThread, messagesOf, script, user } from "../../support/thread.js";
import { turns } from "../../support/turns.js";

const config = inThread("1");
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
