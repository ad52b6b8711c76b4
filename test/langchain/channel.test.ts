import { AIMessage, HumanMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver, MessagesValue, StateSchema } from "@langchain/langgraph";
import { createAgent, createMiddleware } from "langchain";
import { describe, expect, it } from "vitest";
import { createAgentGraph, PairedMessagesDeltaValue, PairedMessagesValue } from "../../src/index.js";
import { tetherMiddleware, tetherState } from "../../src/langchain.js";
import { openAgentThread } from "../support/open-agent-thread.js";
import { createProbe } from "../support/probe-tools.js";
import { calls, scripted } from "../support/scripted-model.js";
import { script, user } from "../support/thread.js";

const { fast } = createProbe();
const OTHERS = [
  ["the agent's stateSchema", { stateSchema: new StateSchema({ messages: MessagesValue }) }, []],
  [
    "a middleware before it",
    {},
    [createMiddleware({ name: "First", stateSchema: new StateSchema({ messages: MessagesValue }) })],
  ],
] as const;

describe("the messages of an agent with the middleware", () => {
  it("stay paired, whatever is written to them", async () => {
    const model = scripted(calls(["fast"], ["fast"]), "Done.", "Still here.");
    const agent = createAgent({
      model,
      tools: [fast],
      checkpointer: new MemorySaver(),
      middleware: [tetherMiddleware()],
    });
    const thread = openAgentThread(agent);
    const [, , first] = await thread.send("Go.");
    const update = (message: RemoveMessage | ToolMessage) =>
      agent.graph.updateState(thread.config, { messages: [message] });
    await update(new RemoveMessage({ id: first?.id ?? "" }));
    await update(new ToolMessage({ content: "late", tool_call_id: (first as ToolMessage).tool_call_id }));
    await update(new RemoveMessage({ id: "no-such-id" }));
    expect(script(await thread.send("And now?"))).toEqual([
      "human: Go.",
      "ai> fast fast",
      "tool: late",
      "tool: fast done -",
      "ai: Done.",
      "human: And now?",
      "ai: Still here.",
    ]);
  });

  it.each(OTHERS)("must not have another reducer from %s", async (_title, options, before) => {
    const agent = createAgent({
      model: scripted(),
      ...options,
      middleware: [...before, tetherMiddleware()],
    });
    await expect(agent.invoke(user("Hi.") as never)).rejects.toThrow(
      "Expected `messages` to have the reducer of `tetherMiddleware`",
    );
  });

  it.each([
    ["PairedMessagesValue", PairedMessagesValue],
    ["PairedMessagesDeltaValue", PairedMessagesDeltaValue],
  ])("can be declared by the agent as %s", async (_name, field) => {
    const agent = createAgent({
      model: scripted(calls(["fast"]), "Done.", "Again."),
      tools: [fast],
      checkpointer: new MemorySaver(),
      stateSchema: new StateSchema({ messages: field as typeof PairedMessagesValue }),
      middleware: [tetherMiddleware()],
    });
    const thread = openAgentThread(agent as never);
    await thread.send("Go.");
    expect(script(await thread.send("Again?")).at(-1)).toBe("ai: Again.");
  });

  it.each([
    ["no messages", {}],
    ["null", null],
  ])("are checked in a run that has read them from a checkpoint only: its input is %s", async (_t, input) => {
    const agent = createAgent({
      model: scripted("First.", "Second."),
      checkpointer: new MemorySaver(),
      middleware: [tetherMiddleware()],
    });
    const thread = openAgentThread(agent);
    await thread.send("Hi.");
    await agent.graph.updateState(thread.config, { messages: [new HumanMessage("More.")] }, "__start__");
    await agent.graph.invoke(input as never, thread.config);
    expect(script(await thread.read())).toEqual(["human: Hi.", "ai: First.", "human: More.", "ai: Second."]);
  });

  it("need no checkpointer", async () => {
    const agent = createAgent({ model: scripted("Yes."), middleware: [tetherMiddleware()] });
    const { messages } = await agent.invoke({
      messages: [
        new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
        new HumanMessage("Are you there?"),
      ],
    });
    expect(script(messages)).toEqual([
      "ai> weather",
      "tool! Tool call weather (c1): a new message came before it finished. It may or may not have taken effect.",
      "human: Are you there?",
      "ai: Yes.",
    ]);
  });

  it("are refused if they are not messages", async () => {
    const agent = createAgent({ model: scripted(), middleware: [tetherMiddleware()] });
    await expect(agent.invoke({ messages: [{ no: "message" }] } as never)).rejects.toThrow("messages[0]");
  });
});

it("a thread goes on in `createAgentGraph`", async () => {
  const checkpointer = new MemorySaver();
  const agent = createAgent({
    model: scripted(calls(["fast"]), "Done."),
    tools: [fast],
    checkpointer,
    middleware: [tetherMiddleware({ summary: {} })],
  });
  await openAgentThread(agent as never).send("Go.");
  const graph = createAgentGraph({ model: scripted("Still here."), tools: [fast], checkpointer });
  const { messages } = await graph.invoke(user("And now?") as never, { configurable: { thread_id: "1" } });
  expect(script(messages)).toEqual([
    "human: Go.",
    "ai> fast",
    "tool: fast done -",
    "ai: Done.",
    "human: And now?",
    "ai: Still here.",
  ]);
});

it("another declaration before the middleware loses against `stateSchema: tetherState()`", async () => {
  const agent = createAgent({
    model: scripted("Yes."),
    stateSchema: tetherState(),
    middleware: [
      createMiddleware({ name: "First", stateSchema: new StateSchema({ messages: MessagesValue }) }),
      tetherMiddleware(),
    ],
  });
  const { messages } = await agent.invoke({ messages: [new HumanMessage("Hi.")] });
  expect(script(messages)).toEqual(["human: Hi.", "ai: Yes."]);
});

describe("the options", () => {
  it.each([
    [null, "`options`"],
    [[], "`options`"],
    ["openai", "`options`"],
    [{ dialekt: "openai" }, "Unknown setting `dialekt`. Did you mean `dialect`?"],
    [{ dialect: "klingon" }, "`dialect`"],
    [{ dialect: "opnai" }, "Did you mean `openai`?"],
    [{ summary: 7 }, "`summary`"],
    [{ maxTokens: -1 }, "`maxTokens`"],
    [{ maxToolCallsFromHistory: 1.5 }, "`maxToolCallsFromHistory`"],
    [{ maxStreamFallbackAttempts: "3" }, "`maxStreamFallbackAttempts`"],
    [{ keepToolErrors: "yes" }, "`keepToolErrors`"],
    [{ onRepair: true }, "`onRepair`"],
  ])("%j are refused by name", (options, name) => {
    expect(() => tetherMiddleware(options as never)).toThrow(name);
  });
});
