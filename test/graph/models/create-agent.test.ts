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

it.each(FIELDS)(
  "LangChain's createAgent with %s keeps its history in form, whatever updates it",
  async (_, field) => {
    const agent = createAgent({
      model: await createModel("offline:"),
      tools: [createProbe().fast],
      stateSchema: new StateSchema({ messages: field as typeof PairedMessagesValue }),
      checkpointer: new MemorySaver(),
    });
    const thread = inThread("1");
    const send = (content: string) => agent.invoke({ messages: [new HumanMessage(content)] }, thread);
    const read = async () => messagesOf((await agent.graph.getState(thread)).values);
    const update = (message: RemoveMessage | ToolMessage) =>
      agent.graph.updateState(thread, { messages: [message] });
    const [human, answer] = [expect.stringMatching(/^human/), expect.stringMatching(/^ai: ./)];

    await send('call fast {"label": "1"} and call fast {"label": "2"}');
    const results = ["tool: fast done 1", "tool: fast done 2"];
    expect(pairedScript({ messages: await read() })).toEqual([human, "ai> fast fast", ...results, answer]);
    await update(new RemoveMessage({ id: "no-such-id" }));

    const [, calling, first] = await read();
    await update(new RemoveMessage({ id: first?.id ?? "" }));
    expect(script(await read())).toEqual([human, "ai> fast fast", "tool: fast done 2", answer]);
    await update(new ToolMessage({ content: "late", tool_call_id: (first as ToolMessage).tool_call_id }));
    await send("hello");
    const lines = [human, "ai> fast fast", "tool: late", "tool: fast done 2", answer, "human: hello", answer];
    expect(pairedScript({ messages: await read() })).toEqual(lines);

    await update(new RemoveMessage({ id: calling?.id ?? "" }));
    expect(pairedScript({ messages: await read() })).toEqual([human, answer, "human: hello", answer]);
    await send("hello again");
    expect(pairedScript({ messages: await read() })).toHaveLength(6);
  },
);

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
