import { tool } from "@langchain/core/tools";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
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

  it("says that nothing was saved if nothing was", async () => {
    const { other, collide } = createProcesses();
    const error = await collide(() => other.invoke(user("first"), config), { durability: "exit" });
    expect(error).toMatchObject({
      checkpointId: undefined,
      message: expect.stringContaining("saved nothing, so send its input again"),
    });
  });
});
