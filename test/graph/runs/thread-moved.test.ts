import { tool } from "@langchain/core/tools";
import { v6 } from "@langchain/core/utils/uuid";
import { MemorySaver } from "@langchain/langgraph";
import { SqliteSaver } from "@langchain/langgraph-checkpoint-sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createAgentGraph, ThreadConflictError } from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { inThread, messagesOf, script, user } from "../../support/thread.js";

const config = inThread("1");

/** Two graphs with different checkpointers over the same threads, as two processes have them. */
function createProcesses() {
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
  const record = tool(async () => void later.push("record"), {
    name: "record",
    description: "record",
    schema: z.object({}),
  });
  const other = createAgentGraph({ model: "offline:", checkpointer: view() });
  const graph = createAgentGraph({
    model: "offline:",
    tools: [probe.fast, probe.deaf, record],
    checkpointer: view(),
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
