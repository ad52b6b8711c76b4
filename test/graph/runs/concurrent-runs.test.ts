import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { agentMiddleware, createAgentGraph } from "../../../src/index.js";
import { FunctionModel } from "../../support/function-model.js";
import { makeTool } from "../../support/make-tool.js";
import { createProbe } from "../../support/probe-tools.js";
import { inThread, pairedMessagesOf, pairedScript, user } from "../../support/thread.js";
import { turns } from "../../support/turns.js";

type Options = Partial<Parameters<typeof createAgentGraph>[0]>;

function createThread(options: Options = {}) {
  const probe = createProbe();
  const graph = createAgentGraph({
    model: "offline:",
    tools: [probe.fast, probe.heedful, probe.deaf],
    checkpointer: new MemorySaver(),
    ...options,
  });
  const config = inThread("1");
  const read = async () => (await graph.getState(config)).values;
  const textsOfUser = async () =>
    pairedMessagesOf(await read()).flatMap(({ type, text }) => (type === "human" ? text : []));
  return { probe, graph, config, read, textsOfUser };
}

const TEXTS = Array.from({ length: 20 }, (_, index) => `message ${index}`);
const BUSY = { name: "ThreadConflictError", code: "THREAD_BUSY", threadId: "1" };

describe("Twenty runs at once on one thread", () => {
  const passOn = agentMiddleware(async (_, next) => next());

  it.each([
    { title: "invoke", middleware: [] },
    { title: "invoke with an agent middleware", middleware: [passOn] },
  ])("keep all messages of the user in the order of their start ($title)", async ({ middleware }) => {
    const { graph, config, textsOfUser } = createThread({ middleware });
    const results = await Promise.all(TEXTS.map((text) => graph.invoke(user(text), config)));
    expect(await textsOfUser()).toEqual(TEXTS);
    expect(results.map(({ messages }) => messages.length)).toEqual(TEXTS.map((_, index) => 2 * index + 2));
  });

  it("keep all messages of the user with batch, stream and streamEvents", async () => {
    const { graph, config, textsOfUser } = createThread();
    const drain = async (chunks: AsyncIterable<unknown>) => {
      for await (const _ of chunks);
    };
    await Promise.all([
      graph.batch([user("a"), user("b")], config),
      graph.stream(user("c"), config).then(drain),
      drain(graph.streamEvents(user("d"), { ...config, version: "v2" })),
      graph.invoke(user("e"), config),
    ]);
    expect((await textsOfUser()).sort()).toEqual(["a", "b", "c", "d", "e"]);
  });

  it("run at the same time in different threads", async () => {
    const { graph, probe } = createThread();
    const runs = TEXTS.map((_, index) => graph.invoke(user("call deaf"), inThread(`${index}`)));
    await probe.hasBegun(20);
    probe.release();
    expect(await Promise.all(runs)).toHaveLength(20);
  });

  it("are refused but the first with `reject`", async () => {
    const { graph, config, textsOfUser } = createThread({ concurrentRuns: "reject" });
    const results = await Promise.allSettled(TEXTS.map((text) => graph.invoke(user(text), config)));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(results[1]).toMatchObject({ reason: BUSY });
    expect(await textsOfUser()).toEqual(["message 0"]);
    await graph.invoke(user("later"), config);
    expect(await textsOfUser()).toEqual(["message 0", "later"]);
  });
});

describe("A run that waits for another one", () => {
  it("starts when the other one has failed", async () => {
    const model = new FunctionModel(({ index }) => (index === 0 ? new Error("no") : "yes"));
    const { graph, config, textsOfUser } = createThread({ model });
    const [first, second] = await Promise.allSettled([
      graph.invoke(user("a"), config),
      graph.invoke(user("b"), config),
    ]);
    expect([first.status, second.status]).toEqual(["rejected", "fulfilled"]);
    expect(await textsOfUser()).toEqual(["a", "b"]);
  });

  it("starts when the other one waits for a human", async () => {
    const { graph, config, read } = createThread({ requireApproval: ["fast"] });
    await Promise.all([graph.invoke(user("call fast"), config), graph.invoke(user("never mind"), config)]);
    expect(pairedScript(await read())).toContain("human: never mind");
  });

  it("starts when the other one is cancelled", async () => {
    const { graph, config, probe, textsOfUser } = createThread();
    const controller = new AbortController();
    const first = graph.invoke(user("call deaf"), { ...config, signal: controller.signal });
    const second = graph.invoke(user("hello"), config);
    await probe.hasBegun(1);
    controller.abort();
    await expect(first).rejects.toThrow(/abort/i);
    await second;
    expect(await textsOfUser()).toEqual(["call deaf", "hello"]);
  });

  it("ends its wait when the signal is cancelled that is bound to its graph", async () => {
    const { graph, config, probe, textsOfUser } = createThread();
    const first = graph.invoke(user("call deaf"), config);
    await probe.hasBegun(1);
    const bound = graph.withConfig({ signal: AbortSignal.timeout(1) });
    await expect(bound.invoke(user("impatient"), config)).rejects.toThrow(/abort|timeout/i);
    probe.release();
    await first;
    expect(await textsOfUser()).toEqual(["call deaf"]);
  });

  it.each([
    { title: "signal", options: () => ({ signal: AbortSignal.timeout(1) }) },
    { title: "timeout", options: () => ({ timeout: 1 }) },
  ])("ends its wait when it is cancelled, and the next one still waits ($title)", async ({ options }) => {
    const { graph, config, probe, textsOfUser } = createThread();
    const first = graph.invoke(user("call deaf"), config);
    await probe.hasBegun(1);
    await expect(graph.invoke(user("impatient"), { ...config, ...options() })).rejects.toThrow(
      /abort|timeout/i,
    );
    const third = graph.invoke(user("patient"), config);
    await turns();
    expect(probe.ends).toEqual([]);
    probe.release();
    await Promise.all([first, third]);
    expect(await textsOfUser()).toEqual(["call deaf", "patient"]);
  });

  it.each([
    { title: "without a middleware", middleware: [] },
    { title: "with an agent middleware", middleware: [agentMiddleware(async (_, next) => next())] },
  ])("starts although the caller of the other one stops reading ($title)", async ({ middleware }) => {
    const { graph, config, textsOfUser } = createThread({ middleware });
    const stream = await graph.stream(user("call fast"), { ...config, streamMode: "updates" });
    const first = await stream[Symbol.asyncIterator]().next();
    expect(first.done).toBe(false);
    await graph.invoke(user("hello"), config);
    expect(await textsOfUser()).toEqual(["call fast", "hello"]);
  });

  it("starts although nobody reads the other one", async () => {
    const { graph, config, textsOfUser } = createThread();
    await graph.stream(user("call fast"), config);
    await graph.invoke(user("hello"), config);
    expect(await textsOfUser()).toEqual(["call fast", "hello"]);
  });

  it("starts when the caller of the other one leaves its loop", async () => {
    const { graph, config, textsOfUser } = createThread();
    for await (const _ of await graph.stream(user("call heedful"), config)) break;
    await graph.invoke(user("hello"), config);
    expect(await textsOfUser()).toEqual(["call heedful", "hello"]);
  });
});

describe("An update of the state", () => {
  it("waits for the run of its thread", async () => {
    const { graph, config, probe, textsOfUser } = createThread();
    const run = graph.invoke(user("call deaf"), config);
    await probe.hasBegun(1);
    const update = graph.updateState(config, user("noted"), "model");
    probe.release();
    await Promise.all([run, update]);
    expect(await textsOfUser()).toEqual(["call deaf", "noted"]);
  });

  it("is refused with `reject`", async () => {
    const { graph, config, probe } = createThread({ concurrentRuns: "reject" });
    const run = graph.invoke(user("call deaf"), config);
    await probe.hasBegun(1);
    await expect(graph.updateState(config, user("noted"), "model")).rejects.toMatchObject(BUSY);
    probe.release();
    await run;
  });
});

describe("A run or an update that is started inside a run of its thread", () => {
  it("is refused in an agent middleware, because it would wait for itself", async () => {
    const refusals: unknown[] = [];
    const nested = agentMiddleware(async ({ messages }, next) => {
      if (messages[0]?.text === "outer") {
        await graph.invoke(user("inner"), config).catch((error: unknown) => refusals.push(error));
        await graph.invoke(user("other"), inThread("2"));
      }
      await next();
    });
    const { graph, config, textsOfUser } = createThread({ middleware: [nested] });
    await graph.invoke(user("outer"), config);
    expect(pairedScript((await graph.getState(inThread("2"))).values)[0]).toBe("human: other");
    expect(refusals[0]).toMatchObject({ ...BUSY, message: expect.stringContaining("would wait for ever") });
    expect(await textsOfUser()).toEqual(["outer"]);
  });

  type Graph = ReturnType<typeof createAgentGraph>;
  const inner = user("inner");
  const own = inThread("1");
  const last = async (chunks: AsyncIterable<unknown>) => {
    let value: unknown;
    for await (const chunk of chunks) value = chunk;
    return value;
  };

  /** What code in a tool gets, and the texts that the user has sent to the thread and to another one. */
  async function inTool(work: (graph: Graph, options: object, saver: MemorySaver) => Promise<unknown>) {
    const saver = new MemorySaver();
    let outcome: unknown;
    const nest = makeTool("nest", async (_, options) => {
      outcome = await work(graph, options, saver).catch((error: unknown) => error);
      return "done";
    });
    const { graph, config, textsOfUser } = createThread({ tools: [nest], checkpointer: saver });
    expect(pairedScript(await graph.invoke(user("call nest"), config))).toHaveLength(4);
    const other = await graph.getState(inThread("2"));
    return { outcome, texts: await textsOfUser(), other: other.values.messages ?? [] };
  }

  it.each(
    Object.entries<Parameters<typeof inTool>[0]>({
      "of the same graph with the config of the tool": (graph, options) => graph.invoke(inner, options),
      "of the same graph without a config": (graph) => graph.invoke(inner),
      "of the same graph that names the thread": (graph) => graph.invoke(inner, own),
      "of the same graph that names another thread": (graph) => graph.invoke(inner, inThread("2")),
      "of the same graph that is streamed": async (graph) =>
        last(await graph.stream(inner, { ...own, streamMode: "values" })),
      "of the same graph with streamEvents": async (graph) =>
        Object(await last(graph.streamEvents(inner, { ...own, version: "v2" }))).data.output,
      "of another graph with the same checkpointer": (_, options, checkpointer) =>
        createAgentGraph({ model: "offline:", checkpointer }).invoke(inner, options),
      "of another graph without a checkpointer": (_, options) =>
        createAgentGraph({ model: "offline:" }).invoke(inner, options),
    }),
  )("runs as a subgraph if it is a run in a tool, %s", async (_title, work) => {
    const { outcome, texts, other } = await inTool(work);
    expect(pairedScript(outcome)).toEqual(["human: inner", expect.stringMatching(/^ai: /)]);
    expect(texts).toEqual(["call nest"]);
    expect(other).toEqual([]);
  });

  it.each<[string, Parameters<typeof inTool>[0]]>([
    ["an update of the state", (graph) => graph.updateState(own, inner, "model")],
    [
      "a run outside of the tool's async context",
      (graph) =>
        AsyncLocalStorageProviderSingleton.getInstance().run(undefined, () => graph.invoke(inner, own)),
    ],
  ])("is refused in a tool if it is %s", async (_title, work) => {
    const { outcome, texts } = await inTool(work);
    expect(outcome).toMatchObject({ ...BUSY, message: expect.stringContaining("would wait for ever") });
    expect(texts).toEqual(["call nest"]);
  });

  it("updates another thread from a tool", async () => {
    const { outcome, other } = await inTool((graph) => graph.updateState(inThread("2"), inner, "model"));
    expect(outcome).not.toBeInstanceOf(Error);
    expect(other).toMatchObject([{ content: "inner" }]);
  });

  it("starts if the run has ended before", async () => {
    const later: Promise<unknown>[] = [];
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const followUp = agentMiddleware(async ({ messages }, next) => {
      if (messages[0]?.text === "first")
        later.push(finished.then(() => graph.invoke(user("second"), config)));
      await next();
    });
    const { graph, config, textsOfUser } = createThread({ middleware: [followUp] });
    await graph.invoke(user("first"), config);
    finish();
    await Promise.all(later);
    expect(await textsOfUser()).toEqual(["first", "second"]);
  });
});

it("Runs without a thread do not wait for one another", async () => {
  const { graph, probe } = createThread({ checkpointer: undefined });
  const runs = [graph.invoke(user("call deaf")), graph.invoke(user("call deaf"), inThread("1"))];
  await probe.hasBegun(2);
  probe.release();
  expect(await Promise.all(runs)).toHaveLength(2);
});
