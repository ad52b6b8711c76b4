import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import {
  contextEditingMiddleware,
  createAgent,
  createMiddleware,
  summarizationMiddleware,
  toolStrategy,
} from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type TetherMiddlewareOptions, tetherMiddleware } from "../../src/langchain.js";
import { FunctionModel } from "../support/function-model.js";
import { type AnyAgent, openAgentThread } from "../support/open-agent-thread.js";
import { createProbe } from "../support/probe-tools.js";
import { calls, scripted } from "../support/scripted-model.js";
import { script, user } from "../support/thread.js";

/** What the model of an agent with the middleware was asked. */
async function ask(
  messages: readonly BaseMessage[],
  options: TetherMiddlewareOptions = {},
  more: object = {},
): Promise<readonly BaseMessage[]> {
  const model = new FunctionModel(() => "Yes.");
  const agent = createAgent({ model, middleware: [tetherMiddleware(options)], ...more });
  await agent.invoke({ messages: [...messages] });
  return model.requests[0]?.messages ?? [];
}

const call = (id: string) => new AIMessage({ content: "", tool_calls: [{ id, name: "search", args: {} }] });
const result = (id: string, content: string) =>
  new ToolMessage({ content, tool_call_id: id, name: "search" });

describe("the input of an agent's model", () => {
  it("is the history itself if that is sound", async () => {
    const history = [new HumanMessage("Hi."), call("c1"), result("c1", "found"), new HumanMessage("And?")];
    const sent = await ask(history, { dialect: "openai" });
    expect(sent).toHaveLength(4);
    for (const [index, message] of sent.entries()) expect(message).toBe(history[index]);
  });

  it("keeps the rules of the dialect", async () => {
    const history = [
      new HumanMessage("Hi."),
      call("call:1"),
      result("call:1", "found"),
      new HumanMessage("And?"),
    ];
    const sent = await ask(history, { dialect: "mistral" });
    expect((sent[1] as AIMessage).tool_calls?.[0]?.id).toMatch(/^[a-zA-Z0-9]{9}$/);
  });

  it("has one system message, with that of the agent first", async () => {
    const history = [new SystemMessage("Stored."), new HumanMessage("Hi.")];
    expect(script(await ask(history))).toEqual(["system: Stored.", "human: Hi."]);
    const [first, second] = await ask(history, {}, { systemPrompt: "Be brief." });
    expect([first?.type, second?.type]).toEqual(["system", "human"]);
    expect(first?.text).toBe("Be brief.\nStored.");
  });

  it("keeps the marks of a system message for a provider's prompt cache", async () => {
    const content = [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }];
    const systemPrompt = new SystemMessage({ content });
    const [first] = await ask([new HumanMessage("Hi.")], { dialect: "anthropic" }, { systemPrompt });
    expect(first?.content).toEqual(content);
  });

  it("has at most the tool calls and tokens that the options allow", async () => {
    const turn = (id: string) => [
      new HumanMessage(id),
      call(id),
      result(id, "x".repeat(4_000)),
      new AIMessage("ok"),
    ];
    const history = [...turn("a"), ...turn("b"), new HumanMessage("And?")];
    const filtered = await ask(history, { maxToolCallsFromHistory: 1 });
    expect(filtered.filter(({ type }) => type === "tool")).toHaveLength(1);
    const bounded = await ask(history, { maxTokens: 500 });
    expect(bounded.map(({ text }) => text).join("").length).toBeLessThan(4_000);
  });

  it("is sound after a middleware that edits the messages of a request", async () => {
    const cutting = createMiddleware({
      name: "Cutting",
      wrapModelCall: (request, handler) => handler({ ...request, messages: request.messages.slice(-2) }),
    });
    const history = [new HumanMessage("Hi."), call("c1"), result("c1", "found"), new HumanMessage("And?")];
    const sent = await ask(history, {}, { middleware: [cutting, tetherMiddleware()] });
    expect(script(sent)).toEqual(["human: And?"]);
  });
});

describe("with a response format", () => {
  const format = { responseFormat: toolStrategy(z.object({ answer: z.string() }), {}) };
  const name = format.responseFormat[0]?.name ?? "";

  it("the structured response and the placeholders are both stored", async () => {
    const agent = createAgent({
      model: scripted("First.", calls([name, { answer: "42" }, "s"])),
      checkpointer: new MemorySaver(),
      middleware: [tetherMiddleware()],
      ...format,
    } as never);
    const thread = openAgentThread(agent as unknown as AnyAgent);
    await thread.run(user("Hi."));
    const messages = [calls(["fast", {}, "f"]), { role: "user", content: "Hello?" }];
    await agent.graph.updateState(thread.config, { messages }, "tether.before_agent");
    const { structuredResponse } = (await agent.graph.invoke(null, thread.config)) as Record<string, unknown>;
    expect(structuredResponse).toEqual({ answer: "42" });
    const lines = script(await thread.read());
    expect(lines.slice(2, 5)).toEqual([
      "ai> fast",
      expect.stringMatching(/^tool! Tool call fast \(f\)/),
      "human: Hello?",
    ]);
  });
});

describe("beside LangChain's own middleware", () => {
  it.each([
    ["before", (own: object) => [own, tetherMiddleware()]],
    ["after", (own: object) => [tetherMiddleware(), own]],
  ])("`summarizationMiddleware` keeps the history paired: %s", async (_title, list) => {
    const { fast } = createProbe();
    const model = new FunctionModel(({ messages, index }) =>
      messages.at(-1)?.type === "tool" ? `Done ${index}.` : calls(["fast"], ["fast"]),
    );
    const summary = new FunctionModel(() => "What was said before.");
    // With `exactOptionalPropertyTypes`, LangChain's type of these options is `never`.
    const own = summarizationMiddleware({
      model: summary,
      trigger: { messages: 6 },
      keep: { messages: 3 },
    } as never);
    const agent = createAgent({
      model,
      tools: [fast],
      checkpointer: new MemorySaver(),
      middleware: list(own) as never,
    });
    const thread = openAgentThread(agent as unknown as AnyAgent);
    for (const text of ["One.", "Two.", "Three.", "Four."]) await thread.send(text);
    expect(summary.requests.length).toBeGreaterThan(0);
    expect(model.refused).toEqual([]);
    expect(script(await thread.read()).at(-1)).toMatch(/^ai: Done/);
  });

  it("`contextEditingMiddleware` keeps the history paired", async () => {
    const { fast } = createProbe();
    const model = new FunctionModel(({ messages }) =>
      messages.at(-1)?.type === "tool" ? "Done." : calls(["fast"], ["fast"]),
    );
    const agent = createAgent({
      model,
      tools: [fast],
      checkpointer: new MemorySaver(),
      middleware: [contextEditingMiddleware(), tetherMiddleware()],
    });
    const thread = openAgentThread(agent as unknown as AnyAgent);
    for (const text of ["One.", "Two."]) await thread.send(text);
    expect(model.refused).toEqual([]);
  });
});
