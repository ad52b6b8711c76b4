import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import {
  type CheckpointTuple,
  Command,
  interrupt,
  MemorySaver,
  START,
  StateGraph,
  StateSchema,
} from "@langchain/langgraph";
import { createAgent, createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { createAgentGraph } from "../../../../src/index.js";
import { PairedMessagesDeltaValue } from "../../../../src/threads/langgraph/channels.js";
import {
  belongsToNextRun,
  readDelta,
  saveResumeValue,
  waitingInterrupts,
} from "../../../../src/threads/langgraph/read-checkpoints.js";
import { isBeforeModel, savedCheckpoints } from "../../../../src/threads/saver/run-checkpoints.js";
import { human } from "../../../support/make-messages.js";
import { FunctionModel } from "../../../support/models.js";
import { oneNode } from "../../../support/plain-graph.js";
import { outline } from "../../../support/plain-messages.js";
import { scripted } from "../../../support/scripted-model.js";
import { inThread, user } from "../../../support/thread.js";

describe("savedCheckpoints", () => {
  const found: unknown[] = [];
  const finding = (saver?: MemorySaver) =>
    oneNode(async (_, config) => {
      const checkpoints = await savedCheckpoints(config);
      found.push(checkpoints && { thread: checkpoints.begunOn?.config.configurable?.["thread_id"] });
    }, saver);

  it("reads the latest checkpoint of the thread through the saver of the run, and finds nothing without one", async () => {
    await finding(new MemorySaver()).invoke(user("hi"), { ...inThread("1"), durability: "sync" });
    await finding().invoke(user("hi"));
    expect(found.splice(0)).toEqual([{ thread: "1" }, undefined]);
  });

  it("finds nothing in a subgraph, whose checkpoints are those of one call", async () => {
    const outer = oneNode(async (_, config) => {
      await finding().invoke(user("hi"), config as RunnableConfig);
    }, new MemorySaver());
    await outer.invoke(user("hi"), inThread("1"));
    expect(found.splice(0)).toEqual([undefined]);
  });
});

describe("isBeforeModel", () => {
  it("knows the checkpoints of LangChain's agents in which the model was not asked yet", async () => {
    const saver = new MemorySaver();
    const idle = createMiddleware({
      name: "Idle",
      beforeAgent: () => undefined,
      beforeModel: () => undefined,
    });
    const agent = createAgent({ model: scripted("Hi."), middleware: [idle], checkpointer: saver });
    await agent.invoke(user("hi") as never, { configurable: { thread_id: "1" } });
    const found: boolean[] = [];
    for await (const tuple of saver.list({ configurable: { thread_id: "1" } }))
      found.push(isBeforeModel(tuple));
    // The input, before the agent, before the model, the request, and the end.
    expect(found.reverse()).toEqual([false, true, true, true, false]);
  });
});

// Pins where LangGraph stores the updates of a delta channel with the durability `exit`.

async function talked(options: object = {}) {
  const saver = new MemorySaver();
  const model = new FunctionModel(({ text }) => `re ${text}`);
  const graph = createAgentGraph({ model, checkpointer: saver, messagesChannel: "delta" });
  const say = (text: string) => graph.invoke(user(text), { ...inThread("1"), ...options });
  await say("one");
  return { saver, say };
}

const tasksOf = ({ pendingWrites = [] }: CheckpointTuple) =>
  pendingWrites.filter(([, channel]) => channel === "messages").map(([task]) => task);

it("the updates of a run are writes of the checkpoint before it", async () => {
  const { saver, say } = await talked({ durability: "exit" });
  const head = (await saver.getTuple(inThread("1"))) as CheckpointTuple;
  await say("two");
  const tasks = tasksOf((await saver.getTuple(head.config)) as CheckpointTuple);
  expect(tasks.length).toBeGreaterThan(0);
  expect(tasks.filter((task) => !belongsToNextRun(head)(task))).toEqual([]);
});

it("writes of finished tasks belong to the run of their checkpoint", async () => {
  const { saver } = await talked();
  const own: string[] = [];
  for await (const tuple of saver.list(inThread("1")))
    own.push(...tasksOf(tuple).filter((task) => !belongsToNextRun(tuple)(task)));
  // The input and the response.
  expect(own).toHaveLength(2);
});

const thread = { configurable: { thread_id: "1", checkpoint_ns: "" } };

async function saved() {
  const saver = new MemorySaver();
  const graph = new StateGraph(new StateSchema({ messages: PairedMessagesDeltaValue }))
    .addNode("idle", () => ({}))
    .addEdge(START, "idle")
    .compile({ checkpointer: saver });
  for (const id of ["h1", "h2"]) await graph.invoke({ messages: [human(id)] }, thread);
  return saver;
}

describe("The history of a checkpoint of a delta channel", () => {
  it("is not in the checkpoint, and is read from its ancestors", async () => {
    const saver = await saved();
    const tuple = await saver.getTuple(thread);
    expect(tuple?.checkpoint.channel_values).not.toHaveProperty("messages");
    expect(outline((await readDelta(saver, tuple?.config ?? thread)) as BaseMessage[])).toBe("h1 h2");
  });

  it("is undefined for a saver that does not know delta channels", async () => {
    const saver = await saved();
    const old = Object.assign(Object.create(saver), { getDeltaChannelHistory: undefined });
    expect(await readDelta(old, thread)).toBeUndefined();
  });
});

function missing(): never {
  throw new Error("Nothing was saved.");
}

/** A thread that waits for a first answer. */
async function waitingThread() {
  const saver = new MemorySaver();
  const given: unknown[] = [];
  const graph = oneNode(() => {
    given.push(interrupt("first?"));
    interrupt("second?");
  }, saver);
  await graph.invoke(user("hi"), inThread("1"));
  const read = async () => (await saver.getTuple(inThread("1"))) ?? missing();
  return { saver, graph, given, read };
}

describe("an interrupt", () => {
  it("waits until its task has a resume value", async () => {
    const { graph, read } = await waitingThread();
    expect(waitingInterrupts(await read())).toMatchObject([{ value: "first?" }]);
    await graph.invoke(new Command({ resume: "yes" }), inThread("1"));
    expect(waitingInterrupts(await read())).toEqual([]);
  });

  it.each([
    { what: "a value for all interrupts", valueFor: () => "yes" },
    { what: "a value for the interrupt's id", valueFor: (id: string) => ({ [id]: "yes" }) },
  ])("does not wait any more once $what is saved", async ({ valueFor }) => {
    const { saver, read } = await waitingThread();
    const [waiting] = waitingInterrupts(await read());
    await saveResumeValue(saver, await read(), valueFor(String(Reflect.get(Object(waiting), "id"))));
    expect(waitingInterrupts(await read())).toEqual([]);
  });

  it("is resumed by LangGraph with a saved value, as after a crash", async () => {
    const { saver, graph, given, read } = await waitingThread();
    await saveResumeValue(saver, await read(), "yes");
    await graph.invoke(null, inThread("1"));
    expect(given).toEqual(["yes"]);
  });
});
