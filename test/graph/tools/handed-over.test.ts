import { ChatAnthropic } from "@langchain/anthropic";
import { ToolMessage } from "@langchain/core/messages";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { MemorySaver } from "@langchain/langgraph";
import { ChatMistralAI } from "@langchain/mistralai";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, it } from "vitest";
import { type AgentGraphOptions, createAgentGraph, type ProviderTool } from "../../../src/index.js";
import { makeTool } from "../../support/make-tool.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, ScriptedModel, type Step, scripted } from "../../support/scripted-model.js";
import { messagesOf, pairedScript, script, user } from "../../support/thread.js";

const browser = {
  type: "function" as const,
  function: {
    name: "open_page",
    description: "Opens a page.",
    parameters: { type: "object", properties: {} },
  },
};

const neverRun = makeTool("ask_user", async () => expect.fail("It is the caller's."));

function agent(steps: readonly Step[], options: Partial<AgentGraphOptions>) {
  const probe = createProbe();
  const model = scripted(...steps);
  const checkpointer = new MemorySaver();
  const graph = createAgentGraph({ model, tools: [probe.fast], checkpointer, ...options });
  const config = { configurable: { thread_id: "1" } };
  const send = (...messages: unknown[]) => graph.invoke({ messages } as never, config);
  return { graph, probe, model, config, send };
}

const result = (id: string, content = `result of ${id}`) => new ToolMessage({ content, tool_call_id: id });

describe("autoInvoke: false", () => {
  it("hands all calls to the caller, and goes on when all results are there", async () => {
    const batch = calls(["fast", {}, "a"], ["fast", {}, "b"]);
    const { graph, probe, send, config } = agent([batch, "done"], { autoInvoke: false });
    expect(script(messagesOf(await send({ role: "user", content: "go" })))).toEqual([
      "human: go",
      "ai> fast fast",
    ]);
    expect((await graph.getState(config)).next).toEqual([]);
    expect(script(messagesOf(await send(result("b"))))).toHaveLength(3);
    const ended = await send(result("a"));
    expect(pairedScript(ended)).toEqual([
      "human: go",
      "ai> fast fast",
      "tool: result of a",
      "tool: result of b",
      "ai: done",
    ]);
    expect(probe.runs).toEqual([]);
  });

  it("lets the model decide again when a required call has the caller's result", async () => {
    const steps = [calls(["fast", {}, "a"]), "done"];
    const { send, model } = agent(steps, { autoInvoke: false, toolChoice: "required" });
    await send({ role: "user", content: "go" });
    expect(pairedScript(await send(result("a"))).at(-1)).toBe("ai: done");
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(["any", undefined]);
  });

  it("does not count what the caller runs", async () => {
    const steps = [calls(["fast", {}, "a"]), calls(["fast", {}, "b"]), "done"];
    const { send } = agent(steps, { autoInvoke: false, maxToolCalls: 1 });
    await send({ role: "user", content: "go" });
    await send(result("a"));
    expect(pairedScript(await send(result("b"))).at(-1)).toBe("ai: done");
  });
});

describe("additionalTools", () => {
  it.each([
    ["a definition in OpenAI's form", browser, "open_page"],
    ["a LangChain tool", neverRun, "ask_user"],
  ])("as %s are declared, and their calls handed to the caller", async (_form, additional, name) => {
    const steps = [calls([name, {}, "a"]), "done"];
    const { send, model } = agent(steps, { additionalTools: [additional] });
    expect(script(messagesOf(await send({ role: "user", content: "go" })))).toEqual([
      "human: go",
      `ai> ${name}`,
    ]);
    expect(pairedScript(await send(result("a")))).toEqual([
      "human: go",
      `ai> ${name}`,
      "tool: result of a",
      "ai: done",
    ]);
    expect(model.requests[0]?.toolNames).toHaveLength(2);
  });

  it("stand beside tools of the graph in one batch: those run at once", async () => {
    const batch = calls(["open_page", {}, "a"], ["fast", {}, "b"], ["open_page", {}, "c"]);
    const { send, probe } = agent([batch, "done"], { additionalTools: [browser] });
    const waiting = script(messagesOf(await send({ role: "user", content: "go" })));
    expect(waiting).toEqual(["human: go", "ai> open_page fast open_page", "tool: fast done -"]);
    await send(result("c"));
    expect(pairedScript(await send(result("a")))).toEqual([
      "human: go",
      "ai> open_page fast open_page",
      "tool: result of a",
      "tool: fast done -",
      "tool: result of c",
      "ai: done",
    ]);
    expect(probe.runs).toEqual(["fast:-"]);
  });

  it.each([
    [{ additionalTools: [{ type: "function", function: { name: "fast" } }] }, "Two tools are named `fast`"],
    [{ additionalTools: [{ type: "function", function: { name: "bad name" } }] }, "`bad name`"],
    [{ additionalTools: [{}] }, "additionalTools[0]"],
    [{ additionalTools: ["open_page"] }, "additionalTools[0]"],
    [{ additionalTools: browser }, "`additionalTools` to be a list of tools"],
  ])("%j are refused", (options, words) => {
    expect(() => agent([], options as never)).toThrow(words);
  });
});

describe("terminateOnUnknownCalls", () => {
  it("ends the run when siblings are done, and the next turn goes on", async () => {
    const batch = calls(["nowhere", {}, "a"], ["fast", {}, "b"]);
    const { send } = agent([batch, "done"], { terminateOnUnknownCalls: true });
    expect(pairedScript(await send({ role: "user", content: "go" }))).toEqual([
      "human: go",
      "ai> nowhere fast",
      "tool! Error: there is no tool named `nowhere`. The tools are: fast.",
      "tool: fast done -",
    ]);
    expect(pairedScript(await send({ role: "user", content: "go on" })).at(-1)).toBe("ai: done");
  });

  it("is off by default: the model is told, and goes on", async () => {
    const { send } = agent([calls(["nowhere"]), "done"], {});
    expect(pairedScript(await send({ role: "user", content: "go" })).at(-1)).toBe("ai: done");
  });
});

// Tools that a provider runs: which are taken, and which are refused for a model. `test/wire` has what is sent.

const OPENAI = { type: "web_search_preview" };
const ANTHROPIC = { type: "web_search_20250305", name: "web_search" };
const GEMINI = { googleSearch: {} };
const openAI = () => new ChatOpenAI({ model: "gpt-4o", apiKey: "x" });
const anthropic = () => new ChatAnthropic({ model: "claude-sonnet-4-5", apiKey: "x" });
const gemini = () => new ChatGoogleGenerativeAI({ model: "gemini-2.5-flash", apiKey: "x" });
const mistral = () => new ChatMistralAI({ model: "mistral-large-latest", apiKey: "x" });
type Model = AgentGraphOptions["model"];
const build = (model: Model, ...tools: readonly ProviderTool[]) => createAgentGraph({ model, tools });

describe("A tool of a provider", () => {
  it.each<[title: string, model: Model, tool: ProviderTool]>([
    ["OpenAI with its client", openAI(), OPENAI],
    ["OpenAI, with more fields", openAI(), { type: "file_search", vector_store_ids: ["vs_1"] }],
    ["OpenAI with a date", openAI(), { type: "web_search_preview_2025_03_11" }],
    ["OpenAI by name", "openai:gpt-4o", { type: "code_interpreter", container: { type: "auto" } }],
    ["Anthropic with its client", anthropic(), ANTHROPIC],
    ["Anthropic by name", "anthropic:claude-sonnet-4-5", { type: "web_fetch_20250910", name: "web_fetch" }],
    ["Gemini with its client", gemini(), GEMINI],
    ["Gemini, another one", gemini(), { codeExecution: {} }],
    ["a provider that we do not know", openAI(), { type: "live_search" }],
    ["any provider with a model that we do not know", new ScriptedModel([]), ANTHROPIC],
    ["any provider with the offline model", "offline:", OPENAI],
  ])("of %s is taken", (_, model, tool) => {
    const createModel = async () => openAI();
    expect(() => createAgentGraph({ model, tools: [tool], createModel })).not.toThrow();
  });

  it.each<[title: string, model: Model, tool: ProviderTool, name: string, maker: string]>([
    ["OpenAI for Anthropic", anthropic(), OPENAI, "web_search_preview", "OpenAI"],
    ["OpenAI for Mistral", mistral(), { type: "web_search" }, "web_search", "OpenAI"],
    ["Anthropic for OpenAI", openAI(), ANTHROPIC, "web_search_20250305", "Anthropic"],
    ["Anthropic for Gemini", gemini(), ANTHROPIC, "web_search_20250305", "Anthropic"],
    ["Gemini for Anthropic", anthropic(), GEMINI, "googleSearch", "Google"],
    ["Gemini for a name of OpenAI", "openai:gpt-4o", GEMINI, "googleSearch", "Google"],
    ["OpenAI for a name of DeepSeek", "deepseek:deepseek-chat", OPENAI, "web_search_preview", "OpenAI"],
  ])("of %s is refused when the graph is built", (_, model, tool, toolName, maker) => {
    const createModel = async () => openAI();
    const make = () => createAgentGraph({ model, tools: [tool], createModel });
    const message = expect.stringContaining(`\`${toolName}\` is a tool that ${maker} runs`);
    expect(make).toThrow(expect.objectContaining({ code: "INVALID_TOOL", toolName, message }));
  });

  it("is refused for one of several models", () => {
    const make = () => createAgentGraph({ model: openAI(), models: ["anthropic:claude"], tools: [OPENAI] });
    expect(make).toThrow(/`anthropic:claude` has the dialect `anthropic`/);
  });

  it("is refused in a run for a model that is known only then", async () => {
    const createModel = async () => anthropic();
    const graph = createAgentGraph({ model: "openai:gpt-4o", tools: [OPENAI], createModel });
    await expect(graph.invoke(user("go"))).rejects.toThrow(expect.objectContaining({ code: "INVALID_TOOL" }));
  });

  it.each<[title: string, tool: object]>([
    ["a function", { type: "function", function: { name: "look", parameters: {} } }],
    ["a custom tool", { type: "custom", name: "look", input_schema: { type: "object" } }],
    ["a definition without a type", { name: "look", input_schema: { type: "object" } }],
  ])("is not %s, which the caller runs", (_, tool) => {
    expect(() => build("offline:", tool as ProviderTool)).toThrow(
      "A tool that the caller runs belongs in `additionalTools`.",
    );
  });

  it.each<[title: string, tool: object]>([
    ["an empty object", {}],
    ["an object with several keys and no type", { googleSearch: {}, codeExecution: {} }],
    ["a list", []],
  ])("is not %s", (_, tool) => {
    expect(() => build("offline:", tool as ProviderTool)).toThrow(
      /Expected `tools\[0\]` to be a LangChain tool/,
    );
  });

  it("has a name of its own", () => {
    const { fast } = createProbe();
    const make = () => createAgentGraph({ model: "offline:", tools: [fast, { ...ANTHROPIC, name: "fast" }] });
    expect(make).toThrow("Two tools are named `fast`.");
  });

  it("is offered to the model beside the others, and a call of it is not run", async () => {
    const { fast, runs } = createProbe();
    const model = scripted(calls(["fast"], ["web_search"]), "done");
    const checkpointer = new MemorySaver();
    const graph = createAgentGraph({ model, tools: [fast, ANTHROPIC], checkpointer });
    const result = await graph.invoke(user("go"), { configurable: { thread_id: "1" } });
    expect(model.requests[0]?.toolNames).toEqual(["fast", "web_search"]);
    expect(pairedScript(result)).toEqual([
      "human: go",
      "ai> fast web_search",
      "tool: fast done -",
      "tool! Error: there is no tool named `web_search`. The tools are: fast.",
      "ai: done",
    ]);
    expect(runs).toEqual(["fast:-"]);
  });
});
