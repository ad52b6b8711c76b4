import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { type AgentGraphOptions, createAgentGraph } from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { messagesOf, pairedScript, script, user } from "../../support/thread.js";

const config = { configurable: { thread_id: "1" } };

function createThread(options: Partial<AgentGraphOptions> = {}) {
  const probe = createProbe();
  const checkpointer = new MemorySaver();
  const graph = createAgentGraph({
    model: "offline:",
    tools: [probe.fast, probe.failing],
    checkpointer,
    ...options,
  });
  const read = async () => (await graph.getState(config)).values;
  const send = (...messages: BaseMessage[]) => graph.invoke({ messages }, config);
  return { probe, graph, checkpointer, read, send };
}

const call = (id: string, label = id) => ({ id, name: "fast", args: { label }, type: "tool_call" as const });
const ai = (content: string, ...tool_calls: ReturnType<typeof call>[]) =>
  new AIMessage({ content, tool_calls });
const result = (tool_call_id: string, content = `result ${tool_call_id}`) =>
  new ToolMessage({ content, tool_call_id });

describe("a healthy turn", () => {
  it("writes only its messages, and takes no more supersteps than needed", async () => {
    const { graph } = createThread();
    await graph.invoke(user("hello"), config);
    await graph.invoke(user("call fast and call fast"), config);
    const states = [];
    for await (const state of graph.getStateHistory(config)) states.push(state);
    const turns = states.toReversed().map(({ next, values }) => [next.join(), values.messages?.length ?? 0]);
    expect(turns).toEqual([
      ["__start__", 0],
      ["model", 1],
      ["", 2],
      ["__start__", 2],
      ["model", 3],
      ["tools,tools", 4],
      ["model", 6],
      ["", 7],
    ]);
  });

  it("has no custom event except for its end", async () => {
    const { graph } = createThread();
    for (const text of ["hello", "call fast and call failing", "and now?"]) {
      const events = [];
      for await (const event of await graph.stream(user(text), { ...config, streamMode: "custom" }))
        events.push(event);
      expect(events).toEqual([expect.objectContaining({ type: "run-end", usedFallback: false })]);
    }
  });

  it("keeps the system prompt out of the state", async () => {
    const model = scripted("fine");
    const { send } = createThread({ model, systemPrompt: "Be brief." });
    expect(pairedScript(await send(new HumanMessage("x")))).toEqual(["human: x", "ai: fine"]);
    expect(script(model.requests[0]?.messages ?? [])).toEqual(["system: Be brief.", "human: x"]);
  });
});

describe("a thread that another graph has left", () => {
  const plain = (checkpointer: MemorySaver) =>
    new StateGraph(MessagesAnnotation)
      .addNode("nothing", () => ({}))
      .addEdge(START, "nothing")
      .compile({ checkpointer });

  const cases: readonly (readonly [what: string, history: BaseMessage[], found: (string | RegExp)[]])[] = [
    [
      "with a dangling call",
      [new HumanMessage("a"), ai("", call("1")), new HumanMessage("b")],
      ["human: a", "ai> fast", /^tool! Tool call fast \(1\)/, "human: b"],
    ],
    [
      "with a call that waits",
      [new HumanMessage("a"), ai("", call("1"), call("2")), result("1")],
      ["human: a", "ai> fast fast", "tool: result 1", /^tool! Tool call fast \(2\)/],
    ],
    ["with an orphan result", [new HumanMessage("a"), result("1"), ai("b")], ["human: a", "ai: b"]],
    ["that begins with an orphan result", [result("1"), new HumanMessage("a")], ["human: a"]],
    [
      "with a result far from its call",
      [ai("", call("1")), new HumanMessage("a"), ai("b"), result("1")],
      ["ai> fast", "tool: result 1", "human: a", "ai: b"],
    ],
    [
      "with results in another order",
      [ai("", call("1"), call("2")), result("2"), result("1")],
      ["ai> fast fast", "tool: result 1", "tool: result 2"],
    ],
    [
      "with one id used twice",
      [ai("", call("1")), result("1", "x"), ai("", call("1")), result("1", "y")],
      ["ai> fast", "tool: x", "ai> fast", "tool: y"],
    ],
  ];

  it.each(cases)("%s is continued, and paired", async (_what, history, found) => {
    const { checkpointer, probe, send } = createThread();
    await plain(checkpointer).invoke({ messages: history }, config);
    const lines = pairedScript(await send(new HumanMessage("go on")));
    const texts = found.map((line) => (typeof line === "string" ? line : expect.stringMatching(line)));
    expect(lines).toEqual([...texts, "human: go on", expect.stringMatching(/^ai: ./)]);
    expect(probe.runs).toEqual([]);
    expect(pairedScript(await send(new HumanMessage("call fast")))).toHaveLength(lines.length + 4);
  });
});

describe("calls that come in with the input", () => {
  it("are closed and not run, and the model is asked", async () => {
    const { probe, send } = createThread();
    expect(
      pairedScript(await send(new HumanMessage("x"), ai("", call("1"), call("2")), result("2"))),
    ).toEqual([
      "human: x",
      "ai> fast fast",
      "tool! Tool call fast (1): no result was recorded for it. It may or may not have taken effect.",
      "tool: result 2",
      expect.stringMatching(/^ai: .*no result was recorded.*result 2/s),
    ]);
    expect(probe.runs).toEqual([]);
    expect(pairedScript(await send(result("1")))[2]).toBe("tool: result 1");
  });

  it("are left to a caller who runs all calls: the run ends, and goes on when all results were sent", async () => {
    const { probe, send, read } = createThread({ autoInvoke: false });
    await send(new HumanMessage("x"), ai("", call("1"), call("2")));
    expect(script(messagesOf(await read()))).toEqual(["human: x", "ai> fast fast"]);
    await send(result("2"));
    expect(script(messagesOf(await read()))).toEqual(["human: x", "ai> fast fast", "tool: result 2"]);
    expect(pairedScript(await send(result("1")))).toEqual([
      "human: x",
      "ai> fast fast",
      "tool: result 1",
      "tool: result 2",
      expect.stringMatching(/^ai: .*result 1.*result 2/s),
    ]);
    expect(probe.runs).toEqual([]);
  });

  it("are closed, and not run, when a user message comes instead of the results", async () => {
    const { probe, send } = createThread({ autoInvoke: false });
    await send(new HumanMessage("x"), ai("", call("1")));
    expect(pairedScript(await send(new HumanMessage("hello"))).slice(1, 4)).toEqual([
      "ai> fast",
      "tool! Tool call fast (1): a new message came before it finished. It may or may not have taken effect.",
      "human: hello",
    ]);
    expect(probe.runs).toEqual([]);
  });

  it("are not run when nothing is sent after them", async () => {
    const { graph, probe } = createThread();
    await graph.invoke({ messages: [new HumanMessage("x"), ai("", call("1"))] }, config);
    await graph.invoke({ messages: [] }, config);
    await graph.invoke(null, config);
    expect(probe.runs).toEqual([]);
  });
});

describe("an old result in the checkpoints", () => {
  const UNRECORDED = /^tool! Tool call fast \(.*\): no result was recorded for it\./;

  it("does not come back after the user removed it", async () => {
    const { graph, send, read } = createThread();
    await send(new HumanMessage('call fast {"label": "1"} and call fast {"label": "2"}'));
    const removed = messagesOf(await read())[3];
    await graph.updateState(config, { messages: [new RemoveMessage({ id: removed?.id ?? "" })] });
    expect(pairedScript(await send(new HumanMessage("hello"))).slice(1, 4)).toEqual([
      "ai> fast fast",
      "tool: fast done 1",
      expect.stringMatching(UNRECORDED),
    ]);
  });

  it("is not given to a later call of the same id", async () => {
    const model = scripted(calls(["fast", { label: "old" }, "call_0"]), "one", "two", "three");
    const { send } = createThread({ model });
    await send(new HumanMessage("first"));
    await send(new HumanMessage("x"), ai("", call("call_0", "new")));
    expect(pairedScript(await send(new HumanMessage("second"))).slice(1)).toEqual([
      "ai> fast",
      "tool: fast done old",
      "ai: one",
      "human: x",
      "ai> fast",
      expect.stringMatching(/^tool! Tool call fast \(call_0\)/),
      "ai: two",
      "human: second",
      "ai: three",
    ]);
  });
});
