/** Calls that are the caller's, calls of unknown tools, and tools that a provider runs. */

import { ChatAnthropic } from "@langchain/anthropic";
import { ToolMessage } from "@langchain/core/messages";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { ChatMistralAI } from "@langchain/mistralai";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, it } from "vitest";
import { type AgentGraphOptions, createAgentGraph } from "../../../src/index.js";
import { agentThread, type ThreadOptions } from "../../support/agent-thread.js";
import type { ProviderTool } from "../../support/internals.js";
import { lines } from "../../support/lines.js";
import { calls } from "../../support/models.js";
import { ScriptedModel, type Step } from "../../support/scripted-model.js";
import { user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

const browser = {
  type: "function" as const,
  function: {
    name: "open_page",
    description: "Opens a page.",
    parameters: { type: "object", properties: {} },
  },
};

const neverRun = makeTool("ask_user", async () => expect.fail("It is the caller's."));

const thread = (steps: readonly Step[], options: ThreadOptions = {}) =>
  agentThread(steps, { tools: ({ fast }) => [fast], ...options });

const result = (id: string) => ({
  messages: [new ToolMessage({ content: `result of ${id}`, tool_call_id: id })],
});

describe("autoInvoke: false", () => {
  it("hands all calls to the caller, and goes on when all results are there", async () => {
    const batch = calls(["fast", {}, "a"], ["fast", {}, "b"]);
    const { run, runs, state } = thread([batch, "done"], { autoInvoke: false });
    expect(await run()).toEqual(["human: go", "ai> fast fast"]);
    expect((await state()).next).toEqual([]);
    expect(await run(result("b"))).toHaveLength(3);
    const results = ["tool: result of a", "tool: result of b"];
    expect(await run(result("a"))).toEqual(["human: go", "ai> fast fast", ...results, "ai: done"]);
    expect(runs).toEqual([]);
  });

  it("lets the model decide again when a required call has the caller's result", async () => {
    const steps = [calls(["fast", {}, "a"]), "done"];
    const { run, choices } = thread(steps, { autoInvoke: false, toolChoice: "required" });
    await run();
    expect((await run(result("a"))).at(-1)).toBe("ai: done");
    expect(choices()).toEqual(["any", undefined]);
  });

  it("does not count what the caller runs", async () => {
    const steps = [calls(["fast", {}, "a"]), calls(["fast", {}, "b"]), "done"];
    const { run } = thread(steps, { autoInvoke: false, maxToolCalls: 1 });
    await run();
    await run(result("a"));
    expect((await run(result("b"))).at(-1)).toBe("ai: done");
  });
});

describe("additionalTools", () => {
  it.each([
    ["a definition in OpenAI's form", browser, "open_page"],
    ["a LangChain tool", neverRun, "ask_user"],
  ])("as %s are declared, and their calls handed to the caller", async (_form, additional, name) => {
    const { run, model } = thread([calls([name, {}, "a"]), "done"], { additionalTools: [additional] });
    const waiting = ["human: go", `ai> ${name}`];
    expect(await run()).toEqual(waiting);
    expect(await run(result("a"))).toEqual([...waiting, "tool: result of a", "ai: done"]);
    expect(model.requests[0]?.toolNames).toHaveLength(2);
  });

  it("stand beside tools of the graph in one batch: those run at once", async () => {
    const batch = calls(["open_page", {}, "a"], ["fast", {}, "b"], ["open_page", {}, "c"]);
    const { run, runs } = thread([batch, "done"], { additionalTools: [browser] });
    const asked = ["human: go", "ai> open_page fast open_page"];
    expect(await run()).toEqual([...asked, "tool: fast done -"]);
    await run(result("c"));
    const results = ["tool: result of a", "tool: fast done -", "tool: result of c"];
    expect(await run(result("a"))).toEqual([...asked, ...results, "ai: done"]);
    expect(runs).toEqual(["fast:-"]);
  });

  it.each([
    [[{ type: "function", function: { name: "fast" } }], "Two tools are named `fast`"],
    [[{ type: "function", function: { name: "bad name" } }], "`bad name`"],
    [[{}], "additionalTools[0]"],
    [["open_page"], "additionalTools[0]"],
    [browser, "`additionalTools` to be a list of tools"],
  ])("%j are refused", (additionalTools, words) => {
    expect(() => thread([], { additionalTools } as never)).toThrow(words);
  });
});

describe("terminateOnUnknownCalls", () => {
  it("ends the run when siblings are done, and the next turn goes on", async () => {
    const batch = calls(["nowhere", {}, "a"], ["fast", {}, "b"]);
    const { run } = thread([batch, "done"], { terminateOnUnknownCalls: true });
    expect(await run()).toEqual(
      lines(
        "human: go | ai> nowhere fast",
        "tool! Error: there is no tool named `nowhere`. The tools are: fast. | tool: fast done -",
      ),
    );
    expect((await run("go on")).at(-1)).toBe("ai: done");
  });

  it("is off by default: the model is told, and goes on", async () => {
    expect((await thread([calls(["nowhere"]), "done"]).run()).at(-1)).toBe("ai: done");
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
const build = (model: Model, tool: object, options: Partial<AgentGraphOptions> = {}) =>
  createAgentGraph({ model, tools: [tool as ProviderTool], createModel: async () => openAI(), ...options });

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
    expect(() => build(model, tool)).not.toThrow();
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
    const message = expect.stringContaining(`\`${toolName}\` is a tool that ${maker} runs`);
    const error = expect.objectContaining({ code: "INVALID_TOOL", toolName, message });
    expect(() => build(model, tool)).toThrow(error);
  });

  it("is refused for one of several models, and in a run for a model that is known only then", async () => {
    const several = () => build(openAI(), OPENAI, { models: ["anthropic:claude"] });
    expect(several).toThrow(/`anthropic:claude` has the dialect `anthropic`/);
    const graph = build("openai:gpt-4o", OPENAI, { createModel: async () => anthropic() });
    await expect(graph.invoke(user("go"))).rejects.toMatchObject({ code: "INVALID_TOOL" });
  });

  const CALLERS = "A tool that the caller runs belongs in `additionalTools`.";
  const NO_TOOL = "Expected `tools[0]` to be a LangChain tool";
  it.each<[title: string, tool: object, says: string]>([
    ["a function", { type: "function", function: { name: "look", parameters: {} } }, CALLERS],
    ["a custom tool", { type: "custom", name: "look", input_schema: { type: "object" } }, CALLERS],
    ["a definition without a type", { name: "look", input_schema: { type: "object" } }, CALLERS],
    ["an empty object", {}, NO_TOOL],
    ["an object with several keys and no type", { googleSearch: {}, codeExecution: {} }, NO_TOOL],
    ["a list", [], NO_TOOL],
  ])("is not %s", (_, tool, says) => {
    expect(() => build("offline:", tool)).toThrow(says);
  });

  it("has a name of its own", () => {
    const tools = [createProbe().fast, { ...ANTHROPIC, name: "fast" }];
    expect(() => createAgentGraph({ model: "offline:", tools })).toThrow("Two tools are named `fast`.");
  });

  it("is offered to the model beside the others, and a call of it is not run", async () => {
    const tools: ThreadOptions["tools"] = ({ fast }) => [fast, ANTHROPIC];
    const { run, runs, model } = agentThread([calls(["fast"], ["web_search"]), "done"], { tools });
    expect((await run()).slice(2)).toEqual(
      lines(
        "tool: fast done - | tool! Error: there is no tool named `web_search`. The tools are: fast.",
        "ai: done",
      ),
    );
    expect(model.requests[0]?.toolNames).toEqual(["fast", "web_search"]);
    expect(runs).toEqual(["fast:-"]);
  });
});
