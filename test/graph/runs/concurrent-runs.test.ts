import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import type { StreamEvent } from "@langchain/core/tracers/log_stream";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { type AgentGraph, agentMiddleware, createAgentGraph } from "../../../src/index.js";
import { agentThread, type ThreadOptions } from "../../support/agent-thread.js";
import { allOf, turns } from "../../support/async.js";
import { FunctionModel } from "../../support/models.js";
import { inThread, pairedScript, user } from "../../support/thread.js";
import { makeTool } from "../../support/tools.js";

function createThread(options: ThreadOptions = {}) {
  const tools: ThreadOptions["tools"] = ({ fast, heedful, deaf }) => [fast, heedful, deaf];
  const thread = agentThread([], { model: "offline:", tools, ...options });
  const { probe, invoke: send } = thread;
  /** A run of the thread whose tool has begun, and ends when it is released. */
  const busy = async (more: object = {}) => {
    const run = send("call deaf", more);
    await probe.hasBegun(1);
    return { run };
  };
  const textsOfUser = async () =>
    (await thread.messages()).flatMap(({ type, text }) => (type === "human" ? text : []));
  return { ...thread, send, busy, textsOfUser };
}

const config = inThread("1");
const passOn = agentMiddleware(async (_, next) => next());
const TEXTS = Array.from({ length: 20 }, (_, index) => `message ${index}`);
const BUSY = { name: "ThreadConflictError", code: "THREAD_BUSY", threadId: "1" };

describe("Twenty runs at once on one thread", () => {
  it.each([
    { title: "invoke", middleware: [] },
    { title: "invoke with an agent middleware", middleware: [passOn] },
  ])("keep all messages of the user in the order of their start ($title)", async ({ middleware }) => {
    const { send, textsOfUser } = createThread({ middleware });
    const results = await Promise.all(TEXTS.map((text) => send(text)));
    expect(await textsOfUser()).toEqual(TEXTS);
    const counts = results.map((result) => pairedScript(result).length);
    expect(counts).toEqual(TEXTS.map((_, index) => 2 * index + 2));
  });

  it("keep all messages of the user with batch, stream and streamEvents", async () => {
    const { graph, send, textsOfUser } = createThread();
    await Promise.all([
      graph.batch([user("a"), user("b")], config),
      allOf(graph.stream(user("c"), config)),
      allOf(graph.streamEvents(user("d"), { ...config, version: "v2" })),
      send("e"),
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
    const { send, textsOfUser } = createThread({ concurrentRuns: "reject" });
    const results = await Promise.allSettled(TEXTS.map((text) => send(text)));
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(results[1]).toMatchObject({ reason: BUSY });
    expect(await textsOfUser()).toEqual(["message 0"]);
    await send("later");
    expect(await textsOfUser()).toEqual(["message 0", "later"]);
  });
});

describe("A run that waits for another one", () => {
  it("starts when the other one has failed", async () => {
    const model = new FunctionModel(({ index }) => (index === 0 ? new Error("no") : "yes"));
    const { send, textsOfUser } = createThread({ model });
    const [first, second] = await Promise.allSettled([send("a"), send("b")]);
    expect([first.status, second.status]).toEqual(["rejected", "fulfilled"]);
    expect(await textsOfUser()).toEqual(["a", "b"]);
  });

  it("starts when the other one waits for a human", async () => {
    const { send, textsOfUser } = createThread({ requireApproval: ["fast"] });
    await Promise.all([send("call fast"), send("never mind")]);
    expect(await textsOfUser()).toEqual(["call fast", "never mind"]);
  });

  it("starts when the other one is cancelled", async () => {
    const { send, busy, textsOfUser } = createThread();
    const controller = new AbortController();
    const { run } = await busy({ signal: controller.signal });
    const second = send("hello");
    controller.abort();
    await expect(run).rejects.toThrow(/abort/i);
    await second;
    expect(await textsOfUser()).toEqual(["call deaf", "hello"]);
  });

  it.each<[title: string, make: () => { readonly bound?: object; readonly own?: object }]>([
    ["a signal", () => ({ own: { signal: AbortSignal.timeout(1) } })],
    ["a signal that is bound to its graph", () => ({ bound: { signal: AbortSignal.timeout(1) } })],
    ["a timeout", () => ({ own: { timeout: 1 } })],
  ])("ends its wait when it is cancelled, and the next one still waits (%s)", async (_title, make) => {
    const { graph, probe, send, busy, textsOfUser } = createThread();
    const { run } = await busy();
    const { bound = {}, own } = make();
    const impatient = graph.withConfig(bound).invoke(user("impatient"), { ...config, ...own });
    await expect(impatient).rejects.toThrow(/abort|timeout/i);
    const third = send("patient");
    await turns();
    expect(probe.ends).toEqual([]);
    probe.release();
    await Promise.all([run, third]);
    expect(await textsOfUser()).toEqual(["call deaf", "patient"]);
  });

  it.each([
    { title: "without a middleware", middleware: [] },
    { title: "with an agent middleware", middleware: [passOn] },
  ])("starts although the caller of the other one stops reading ($title)", async ({ middleware }) => {
    const { graph, send, textsOfUser } = createThread({ middleware });
    const stream = await graph.stream(user("call fast"), { ...config, streamMode: "updates" });
    const first = await stream[Symbol.asyncIterator]().next();
    expect(first.done).toBe(false);
    await send("hello");
    expect(await textsOfUser()).toEqual(["call fast", "hello"]);
  });

  it("starts although nobody reads the other one, or its caller leaves the loop", async () => {
    const { graph, send, textsOfUser } = createThread();
    await graph.stream(user("call fast"), config);
    await send("hello");
    for await (const _ of await graph.stream(user("call heedful"), config)) break;
    await send("hello");
    expect(await textsOfUser()).toEqual(["call fast", "hello", "call heedful", "hello"]);
  });
});

describe("An update of the state", () => {
  it("waits for the run of its thread", async () => {
    const { graph, probe, busy, textsOfUser } = createThread();
    const { run } = await busy();
    const update = graph.updateState(config, user("noted"), "model");
    probe.release();
    await Promise.all([run, update]);
    expect(await textsOfUser()).toEqual(["call deaf", "noted"]);
  });

  it("is refused with `reject`", async () => {
    const { graph, probe, busy } = createThread({ concurrentRuns: "reject" });
    const { run } = await busy();
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
    const { graph, send, textsOfUser } = createThread({ middleware: [nested] });
    await send("outer");
    expect(pairedScript((await graph.getState(inThread("2"))).values)[0]).toBe("human: other");
    expect(refusals[0]).toMatchObject({ ...BUSY, message: expect.stringContaining("would wait for ever") });
    expect(await textsOfUser()).toEqual(["outer"]);
  });

  const inner = user("inner");

  /** What code in a tool gets, and the texts that the user has sent to the thread and to another one. */
  async function inTool(work: (graph: AgentGraph, options: object, saver: MemorySaver) => Promise<unknown>) {
    const saver = new MemorySaver();
    let outcome: unknown;
    const nest = makeTool("nest", async (_, options) => {
      outcome = await work(graph, options, saver).catch((error: unknown) => error);
      return "done";
    });
    const { graph, send, textsOfUser } = createThread({ tools: [nest], checkpointer: saver });
    expect(pairedScript(await send("call nest"))).toHaveLength(4);
    const other = await graph.getState(inThread("2"));
    return { outcome, texts: await textsOfUser(), other: other.values.messages ?? [] };
  }

  it.each(
    Object.entries<Parameters<typeof inTool>[0]>({
      "of the same graph with the config of the tool": (graph, options) => graph.invoke(inner, options),
      "of the same graph without a config": (graph) => graph.invoke(inner),
      "of the same graph that names the thread": (graph) => graph.invoke(inner, config),
      "of the same graph that names another thread": (graph) => graph.invoke(inner, inThread("2")),
      "of the same graph that is streamed": async (graph) =>
        (await allOf(graph.stream(inner, { ...config, streamMode: "values" }))).at(-1),
      "of the same graph with streamEvents": async (graph) =>
        (await allOf<StreamEvent>(graph.streamEvents(inner, { ...config, version: "v2" }))).at(-1)?.data
          .output,
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
    ["an update of the state", (graph) => graph.updateState(config, inner, "model")],
    [
      "a run outside of the tool's async context",
      (graph) =>
        AsyncLocalStorageProviderSingleton.getInstance().run(undefined, () => graph.invoke(inner, config)),
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
    let later = Promise.resolve<unknown>(undefined);
    let finish = () => {};
    const finished = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const followUp = agentMiddleware(async ({ messages }, next) => {
      if (messages[0]?.text === "first") later = finished.then(() => send("second"));
      await next();
    });
    const { send, textsOfUser } = createThread({ middleware: [followUp] });
    await send("first");
    finish();
    await later;
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
