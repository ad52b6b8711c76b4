import { getEventListeners } from "node:events";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { FakeListChatModel } from "@langchain/core/utils/testing";
import {
  Command,
  getCurrentTaskInput,
  interrupt,
  type LangGraphRunnableConfig,
  MemorySaver,
  MessagesAnnotation,
  Send,
  START,
  StateGraph,
} from "@langchain/langgraph";
import { describe, expect, it, vi } from "vitest";
import { interruptsOf, isLangGraphSignal } from "../../../src/providers/failure/langgraph-signal.js";
import { INVOKING_METHODS } from "../../../src/providers/response/guard-model.js";
import { holdAbort } from "../../../src/threads/langgraph/abort.js";
import { readState } from "../../../src/threads/langgraph/read-checkpoints.js";
import {
  followingOptions,
  innerOptions,
  isSavedRun,
  isServedRun,
  isSubgraphRun,
  withoutForgedKeys,
  withPlainCheckpoint,
} from "../../../src/threads/langgraph/run-host.js";
import { superstepOf, withTaskInput } from "../../../src/threads/langgraph/wrappable-graph.js";
import { oneNode, parallelGraph } from "../../support/plain-graph.js";
import { inThread, user } from "../../support/thread.js";

const NEITHER = { hasStrictResume: false, holdsResult: false };

it.each([
  ["is refused if LangGraph is strict", true, "refused"],
  ["goes to both if LangGraph is not strict", false, ["yes", "yes"]],
])("a resume value while two interrupts wait %s", async (_title, hasStrictResume, expected) => {
  const answers: unknown[] = [];
  const question = () => void answers.push(interrupt("may I?"));
  const graph = parallelGraph([question, question], new MemorySaver());
  await graph.invoke(user("hi"), inThread("1"));
  const options = innerOptions(inThread("1"), { hasStrictResume, holdsResult: false });
  const run = graph.invoke(new Command({ resume: "yes" }), options);
  expect(
    await run.then(
      () => answers,
      () => "refused",
    ),
  ).toEqual(expected);
});

it.each([
  [
    "loses tasks in LangGraph; if this test fails, the limit can be passed on again",
    (options: object) => options,
    1,
  ],
  ["runs all tasks with our options", (options: object) => innerOptions(options, NEITHER), 3],
])("a fan-out in a run with `maxConcurrency: 1` %s", async (_title, optionsOf, expected) => {
  const work = vi.fn(() => ({}));
  const graph = new StateGraph(MessagesAnnotation)
    .addNode("work", work)
    .addConditionalEdges(START, () => [1, 2, 3].map(() => new Send("work", {})), ["work"])
    .compile();
  await graph.invoke(user("hi"), optionsOf({ maxConcurrency: 1 }));
  expect(work).toHaveBeenCalledTimes(expected);
});

it("a run whose result is held back has another name only if it is a subgraph", async () => {
  const names: unknown[] = [];
  const note = (config: object, holdsResult: boolean) =>
    names.push(Reflect.get(innerOptions(config, { hasStrictResume: false, holdsResult }), "runName"));
  note({}, true);
  await oneNode((_, { configurable = {} }) => {
    note({ configurable }, true);
    note({ configurable }, false);
  }).invoke(user("hi"));
  expect(names).toEqual([undefined, "agent-run", undefined]);
});

/** Saves the id of the run with each checkpoint, as the server's checkpointer does. */
class ServerLikeSaver extends MemorySaver {
  override put(...[config, checkpoint, metadata]: Parameters<MemorySaver["put"]>) {
    return super.put(config, checkpoint, { ...metadata, run_id: "r" } as typeof metadata);
  }
}

it("null as a run's checkpoint names none, also beside a map", () => {
  const configurable = {
    thread_id: "1",
    checkpoint_ns: "",
    checkpoint_id: null,
    checkpoint_map: { "": "2" },
  };
  expect(withPlainCheckpoint({ configurable })).toEqual({
    configurable: { thread_id: "1", checkpoint_ns: "" },
  });
});

describe("a run that follows another one", () => {
  const config = { configurable: { ...inThread("1").configurable, run_id: "r" }, metadata: { run_id: "r" } };

  const forged = { configurable: { thread_id: "1", run_id: "other" }, metadata: { run_id: "r" } };

  it.each([
    ["ignores its input if it has the `run_id` of the run before it", config, 1],
    ["takes its input with our options", followingOptions(config), 2],
    [
      "takes its input although metadata of a client names the run before it",
      innerOptions(forged, NEITHER),
      2,
    ],
  ])("%s", async (_title, second, expected) => {
    const graph = oneNode(() => ({}), new ServerLikeSaver());
    await graph.invoke(user("one"), config);
    expect((await graph.invoke(user("two"), second)).messages).toHaveLength(expected);
  });

  it("starts from the latest checkpoint", () => {
    const past = { configurable: { thread_id: "1", checkpoint_id: "c", checkpoint_map: { "": "c" } } };
    expect(followingOptions(past).configurable).toEqual({ thread_id: "1" });
  });
});

describe("the `configurable` of a task", () => {
  /** What a node finds in its config. */
  async function foundBy<Found>(find: (config: LangGraphRunnableConfig) => Found, saver?: MemorySaver) {
    const found: Found[] = [];
    await oneNode((_, config) => void found.push(find(config)), saver).invoke(user("hi"), inThread("1"));
    return found;
  }

  it("tells whether its run is saved, and that a graph inside the task is a subgraph", async () => {
    expect(await foundBy(isSavedRun, new MemorySaver())).toEqual([true]);
    expect(await foundBy(isSavedRun)).toEqual([false]);
    expect(isSubgraphRun(inThread("1"))).toBe(false);
    expect(await foundBy(isSubgraphRun)).toEqual([true]);
  });

  it("has the history that its step began with", async () => {
    const [read] = await foundBy((config) => readState(config)?.messages);
    expect(read).toMatchObject([{ type: "human", content: "hi" }]);
  });

  it("is no client's: JSON does not make a run a subgraph or one of a server", () => {
    const configurable = { __pregel_read: {}, __pregel_checkpointer: {}, assistant_id: "a", thread_id: "1" };
    expect([isSubgraphRun({ configurable }), isServedRun({ configurable })]).toEqual([false, false]);
    expect(withoutForgedKeys({ configurable })).toEqual({
      configurable: { assistant_id: "a", thread_id: "1" },
    });
  });

  it("has none of this for a node that runs outside a graph", () => {
    expect([isSavedRun({}), isSubgraphRun({}), isServedRun({}), readState({})]).toEqual([
      false,
      false,
      false,
      undefined,
    ]);
  });
});

it("A graph of LangGraph tells the caller of an abort before its last writes have ended", async () => {
  const abort = new AbortController();
  const saver = new MemorySaver();
  const put = saver.put.bind(saver);
  let save = () => {};
  const saving = new Promise<void>((resolve) => {
    save = resolve;
  });
  let pending = 0;
  saver.put = async (...given) => {
    pending += 1;
    await saving;
    pending -= 1;
    return put(...given);
  };
  const graph = oneNode(() => {
    abort.abort();
    return {};
  }, saver);
  const run = graph.invoke({ messages: [] }, { ...inThread("1"), signal: abort.signal });
  await expect(run).rejects.toThrow(/abort/i);
  expect(pending).toBeGreaterThan(0);
  save();
});

it("A run tells of its abort, with its reason, only at its end, and then listens to no signal", () => {
  const abort = new AbortController();
  const { options, signal, end } = holdAbort({ signal: abort.signal });
  expect(getEventListeners(signal, "abort")).toHaveLength(1);
  abort.abort("why");
  expect([signal.aborted, signal.reason, options.signal?.aborted]).toEqual([true, "why", false]);
  end();
  expect(options.signal?.reason).toBe("why");
});

it("An abort after the end of a run tells nobody, because the run listens to no signal", () => {
  const abort = new AbortController();
  const { options, signal, end } = holdAbort({ signal: abort.signal });
  end();
  expect([signal, abort.signal].flatMap((each) => getEventListeners(each, "abort"))).toEqual([]);
  abort.abort();
  expect(options.signal?.aborted).toBe(false);
});

it("A timeout becomes a part of the signal, and stays in the metadata", () => {
  const { options } = holdAbort({ timeout: 60_000, metadata: { own: 1 } });
  expect(options.timeout).toBeUndefined();
  expect(options.metadata).toEqual({ timeoutMs: 60_000, own: 1 });
  expect(holdAbort({ timeout: -1 }).options.timeout).toBe(-1);
});

describe("a chat model that is invoked", () => {
  it("calls these methods on `this` until it asks", async () => {
    const called: unknown[] = [];
    const model = new FakeListChatModel({ responses: ["hi"] });
    const watched: FakeListChatModel = new Proxy(model, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (INVOKING_METHODS.has(name) || name === "_generate") {
          called.push(name);
          return value;
        }
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    await watched.invoke("hi");
    expect(called.slice(0, INVOKING_METHODS.size)).toEqual([...INVOKING_METHODS]);
    expect(called).toContain("_generate");
  });
});

describe("a control-flow error of LangGraph", () => {
  it("is thrown by `interrupt`, and contains the question", async () => {
    const ask = vi.fn(() => interrupt("may I?"));
    await oneNode(ask, new MemorySaver()).invoke(user("hi"), inThread("1"));
    const thrown = ask.mock.results[0]?.value;
    expect(isLangGraphSignal(thrown)).toBe(true);
    expect(interruptsOf(thrown)).toEqual([expect.objectContaining({ value: "may I?" })]);
  });

  it.each([null, undefined, "text", [], {}, new Error("an error")])("is not %j", (thrown) => {
    expect(isLangGraphSignal(thrown)).toBe(false);
    expect(interruptsOf(thrown)).toEqual([]);
  });
});

describe("the input of a task", () => {
  it("is what `getCurrentTaskInput()` returns, and can be replaced", async () => {
    const inputs: unknown[] = [];
    const graph = oneNode((_, config) => {
      inputs.push(getCurrentTaskInput(config), getCurrentTaskInput(withTaskInput(config, "other")));
    });
    await graph.invoke(user("hi"));
    expect(inputs).toEqual([expect.objectContaining({ messages: expect.anything() }), "other"]);
  });

  it("shares the count of interrupts with the task", async () => {
    const answers: unknown[] = [];
    const graph = oneNode((_, config) => {
      const ask = (text: string) => interrupt(text);
      answers.push(
        AsyncLocalStorageProviderSingleton.runWithConfig(withTaskInput(config, "other"), () => ask("first?")),
        ask("second?"),
      );
    }, new MemorySaver());
    await graph.invoke(user("hi"), inThread("1"));
    await graph.invoke(new Command({ resume: "one" }), inThread("1"));
    await graph.invoke(new Command({ resume: "two" }), inThread("1"));
    expect(answers).toEqual(["one", "two"]);
  });

  it("stays the same outside of a graph", () => {
    const config = { configurable: {} };
    expect(withTaskInput(config, "other")).toBe(config);
  });
});

describe("the superstep of a task", () => {
  it("grows by one with each step, over all runs of a thread", async () => {
    const steps: (number | undefined)[] = [];
    const note = (_: unknown, config: object) => void steps.push(superstepOf(config));
    const graph = new StateGraph(MessagesAnnotation)
      .addNode("first", note as never)
      .addNode("second", note as never)
      .addEdge(START, "first")
      .addEdge("first", "second")
      .compile({ checkpointer: new MemorySaver() });
    await graph.invoke(user("hi"), inThread("1"));
    await graph.invoke(user("again"), inThread("1"));
    // The input of a run is a step too.
    expect(steps).toEqual([1, 2, 5, 6]);
  });

  it("is unknown to a node that runs outside a graph", () => {
    expect(superstepOf({})).toBeUndefined();
  });
});

// Pins where LangGraph's server keeps the function that sends requests to it.

it("LangGraph's server binds the function under the same symbol", () => {
  const require = createRequire(import.meta.url);
  const root = dirname(require.resolve("@langchain/langgraph-api/package.json"));
  const code = readFileSync(join(root, "dist/loopback.mjs"), "utf8");
  expect(code).toContain('Symbol.for("langgraph_api:fetch")');
  expect(code).toContain("app.request(url, init)");
});
