import { HumanMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver, StateSchema } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { expect, it } from "vitest";
import {
  createAgentGraph,
  createModel,
  PairedMessagesDeltaValue,
  PairedMessagesValue,
} from "../../../src/index.js";
import { abortRun } from "../../support/abort-run.js";
import { FunctionModel } from "../../support/function-model.js";
import { lines } from "../../support/lines.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls } from "../../support/scripted-model.js";
import { inThread, messagesOf, pairedScript, script, user } from "../../support/thread.js";

const config = inThread("1");
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
    const send = (content: string) => agent.invoke({ messages: [new HumanMessage(content)] }, config);
    const read = async () => messagesOf((await agent.graph.getState(config)).values);
    const update = (message: RemoveMessage | ToolMessage) =>
      agent.graph.updateState(config, { messages: [message] });
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

/** A thread of `createAgent` whose run was cancelled when one of two tools had returned. */
async function cancelledThread() {
  const checkpointer = new MemorySaver();
  const probe = createProbe();
  const tools = [probe.fast, probe.heedful];
  const asking = new FunctionModel(() => calls(["fast", { label: "1" }, "a"], ["heedful", {}, "b"]));
  const agent = createAgent({ model: asking, tools, checkpointer });
  await abortRun(
    (signal) => agent.invoke(user("go"), { ...config, signal }),
    async () => {
      await probe.hasBegun(2);
      await expect.poll(async () => (await agent.graph.getState(config)).next.length).toBe(1);
    },
  );
  const model = new FunctionModel(() => "taken over");
  const graph = createAgentGraph({ model, tools, checkpointer });
  return { graph, probe, model };
}

it.each([
  ["the next message", user("next"), "human: next | ai: taken over"],
  ["null", null, "ai: taken over"],
])(
  "A thread of createAgent that was cancelled in the middle of a batch goes on with %s, and has the finished result",
  async (_title, input, end) => {
    const { graph, probe, model } = await cancelledThread();
    expect(pairedScript(await graph.invoke(input, config))).toEqual(
      lines("human: go | ai> fast heedful | tool: fast done 1 | tool! Tool call heedful…", end),
    );
    expect(model.refused).toEqual([]);
    expect(probe.runs).toHaveLength(2);
  },
);
