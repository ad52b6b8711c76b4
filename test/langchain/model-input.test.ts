import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { createAgent, createMiddleware, toolStrategy } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { type TetherMiddlewareOptions, tetherMiddleware } from "../../src/langchain.js";
import { lines } from "../support/lines.js";
import { calls, FunctionModel } from "../support/models.js";
import { openAgent } from "../support/open-thread.js";
import { scripted } from "../support/scripted-model.js";
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

const history = (id = "c1") => [
  new HumanMessage("Hi."),
  calls(["search", {}, id]),
  new ToolMessage({ content: "found", tool_call_id: id, name: "search" }),
  new HumanMessage("And?"),
];

describe("the input of an agent's model", () => {
  it("is the history itself if that is sound", async () => {
    const sound = history();
    const sent = await ask(sound, { dialect: "openai" });
    expect(sent).toHaveLength(4);
    for (const [index, message] of sent.entries()) expect(message).toBe(sound[index]);
  });

  it("keeps the rules of the dialect", async () => {
    const sent = await ask(history("call:1"), { dialect: "mistral" });
    expect((sent[1] as AIMessage).tool_calls?.[0]?.id).toMatch(/^[a-zA-Z0-9]{9}$/);
  });

  it("has the system message of the agent first, and the stored ones in their places", async () => {
    const stored = [new SystemMessage("Stored."), new HumanMessage("Hi.")];
    expect(script(await ask(stored))).toEqual(["system: Stored.", "human: Hi."]);
    const sent = await ask(stored, {}, { systemPrompt: "Be brief." });
    expect(script(sent)).toEqual(["system: Be brief.", "system: Stored.", "human: Hi."]);
    const joined = await ask(stored, { dialect: "strict" }, { systemPrompt: "Be brief." });
    expect(joined.map(({ type, text }) => [type, text])).toEqual([
      ["system", "Be brief.\nStored."],
      ["human", "Hi."],
    ]);
  });

  it("keeps the marks of a system message for a provider's prompt cache", async () => {
    const content = [{ type: "text", text: "Be brief.", cache_control: { type: "ephemeral" } }];
    const systemPrompt = new SystemMessage({ content });
    const [first] = await ask([new HumanMessage("Hi.")], { dialect: "anthropic" }, { systemPrompt });
    expect(first?.content).toEqual(content);
  });

  it("has at most the tool calls and tokens that the options allow", async () => {
    const long = ["a", "b"].flatMap((id) => [...history(id).slice(0, 3), new AIMessage("x".repeat(4_000))]);
    const messages = [...long, new HumanMessage("And?")];
    const filtered = await ask(messages, { maxToolCallsFromHistory: 1 });
    expect(filtered.filter(({ type }) => type === "tool")).toHaveLength(1);
    const bounded = await ask(messages, { maxTokens: 500 });
    expect(bounded.map(({ text }) => text).join("").length).toBeLessThan(4_000);
  });

  it("is sound after a middleware that edits the messages of a request", async () => {
    const cutting = createMiddleware({
      name: "Cutting",
      wrapModelCall: (request, handler) => handler({ ...request, messages: request.messages.slice(-2) }),
    });
    const sent = await ask(history(), {}, { middleware: [cutting, tetherMiddleware()] });
    expect(script(sent)).toEqual(["human: And?"]);
  });
});

it("with a response format, the structured response and the placeholders are both stored", async () => {
  const responseFormat = toolStrategy(z.object({ answer: z.string() }), {});
  const model = scripted("First.", calls([responseFormat[0]?.name ?? "", { answer: "42" }, "s"]));
  const thread = openAgent({ model, responseFormat });
  await thread.run(user("Hi."));
  await thread.update([calls(["fast", {}, "f"]), { role: "user", content: "Hello?" }], "tether.before_agent");
  const result = await thread.agent.graph.invoke(null, thread.config);
  expect(result).toMatchObject({ structuredResponse: { answer: "42" } });
  expect(script(await thread.read()).slice(2, 5)).toEqual(
    lines("ai> fast | tool! Tool call fast (f)… | human: Hello?"),
  );
});
