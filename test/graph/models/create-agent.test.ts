import { HumanMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver, StateSchema } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import {
  createAgentGraph,
  createModel,
  PairedMessagesDeltaValue,
  PairedMessagesValue,
} from "../../../src/index.js";
import { FunctionModel } from "../../support/function-model.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls } from "../../support/scripted-model.js";
import { inThread, messagesOf, pairedScript, script, user } from "../../support/thread.js";

const FIELDS = [
  ["PairedMessagesValue", PairedMessagesValue],
  ["PairedMessagesDeltaValue", PairedMessagesDeltaValue],
] as const;

describe.each(FIELDS)("LangChain's createAgent with %s", (_name, field) => {
  async function createThread() {
    const probe = createProbe();
    const agent = createAgent({
      model: await createModel("offline:"),
      tools: [probe.fast],
      stateSchema: new StateSchema({ messages: field as typeof PairedMessagesValue }),
      checkpointer: new MemorySaver(),
    });
    const config = { configurable: { thread_id: "1" } };
    const send = (content: string) => agent.invoke({ messages: [new HumanMessage(content)] }, config);
    await send('call fast {"label": "1"} and call fast {"label": "2"}');
    const read = async () => messagesOf((await agent.graph.getState(config)).values);
    const update = (...messages: (RemoveMessage | ToolMessage)[]) =>
      agent.graph.updateState(config, { messages });
    return { send, read, update };
  }

  const answer = expect.stringMatching(/^ai: ./);

  it("answers, and its history is in form", async () => {
    const { read } = await createThread();
    expect(pairedScript({ messages: await read() })).toEqual([
      expect.stringMatching(/^human/),
      "ai> fast fast",
      "tool: fast done 1",
      "tool: fast done 2",
      answer,
    ]);
  });

  it("keeps its history paired when a message with calls is removed", async () => {
    const { send, read, update } = await createThread();
    const [, calling] = await read();
    await update(new RemoveMessage({ id: calling?.id ?? "" }));
    expect(pairedScript({ messages: await read() })).toEqual([expect.stringMatching(/^human/), answer]);
    await send("hello");
    expect(pairedScript({ messages: await read() })).toHaveLength(4);
  });

  it("survives the removal of an unknown id", async () => {
    const { send, read, update } = await createThread();
    await update(new RemoveMessage({ id: "no-such-id" }));
    await send("hello");
    expect(pairedScript({ messages: await read() })).toHaveLength(7);
  });

  it("puts a late result in its place", async () => {
    const { send, read, update } = await createThread();
    const [, , first] = await read();
    const id = (first as ToolMessage).tool_call_id;
    await update(new RemoveMessage({ id: first?.id ?? "" }));
    expect(script(await read()).slice(1, 3)).toEqual(["ai> fast fast", "tool: fast done 2"]);
    await update(new ToolMessage({ content: "late", tool_call_id: id }));
    await send("hello");
    expect(pairedScript({ messages: await read() }).slice(1, 5)).toEqual([
      "ai> fast fast",
      "tool: late",
      "tool: fast done 2",
      answer,
    ]);
  });
});

// Threads of a LangChain agent that this library's agent takes over in the middle of a batch.

const config = inThread("1");

/** A thread of `createAgent` whose run was cancelled when one of two tools had returned. */
async function cancelledThread() {
  const checkpointer = new MemorySaver();
  const probe = createProbe();
  const tools = [probe.fast, probe.heedful];
  const asking = new FunctionModel(() => calls(["fast", { label: "1" }, "a"], ["heedful", {}, "b"]));
  const agent = createAgent({ model: asking, tools, checkpointer });
  const abort = new AbortController();
  const run = agent.invoke(user("go"), { ...config, signal: abort.signal });
  await probe.hasBegun(2);
  await expect.poll(async () => (await agent.graph.getState(config)).next.length).toBe(1);
  abort.abort();
  await expect(run).rejects.toThrow(/abort/i);
  const model = new FunctionModel(() => "taken over");
  const graph = createAgentGraph({ model, tools, checkpointer });
  return { graph, probe, model };
}

describe("a thread of createAgent that was cancelled in the middle of a batch", () => {
  it("goes on with the next message, with the result of the finished tool", async () => {
    const { graph, model } = await cancelledThread();
    expect(pairedScript(await graph.invoke(user("next"), config))).toEqual([
      "human: go",
      "ai> fast heedful",
      "tool: fast done 1",
      expect.stringMatching(/^tool! Tool call heedful/),
      "human: next",
      "ai: taken over",
    ]);
    expect(model.refused).toEqual([]);
  });

  it("goes on with null", async () => {
    const { graph, model, probe } = await cancelledThread();
    expect(pairedScript(await graph.invoke(null, config))).toEqual([
      "human: go",
      "ai> fast heedful",
      "tool: fast done 1",
      expect.stringMatching(/^tool! Tool call heedful/),
      "ai: taken over",
    ]);
    expect(model.refused).toEqual([]);
    expect(probe.runs).toHaveLength(2);
  });
});
