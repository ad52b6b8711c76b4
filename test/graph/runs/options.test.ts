import { StructuredTool } from "@langchain/core/tools";
import { InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  type AgentGraph,
  type AgentGraphOptions,
  createAgentGraph,
  InvalidModelError,
  InvalidSettingError,
  InvalidToolError,
  TetherError,
} from "../../../src/index.js";
import { calls } from "../../support/models.js";
import { parentOf } from "../../support/plain-graph.js";
import { scripted } from "../../support/scripted-model.js";
import { inThread, pairedScript, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

const make = (options: unknown) => createAgentGraph(options as Parameters<typeof createAgentGraph>[0]);

const named = (name: string) => makeTool(name, async () => "");
const manyTools = (count: number) => Array.from({ length: count }, (_, index) => named(`t${index}`));

class Weather extends StructuredTool {
  name = "weather";
  description = "";
  schema = z.object({});
  async _call() {
    return "";
  }
}

/** The error of a graph with this option, beside the model. */
function refusalOf(options: object): unknown {
  try {
    make({ model: "offline:", ...options });
  } catch (error) {
    return error;
  }
  throw new Error("Expected an error.");
}

describe("createAgentGraph refuses", () => {
  const BAD_VALUES: Readonly<Record<string, readonly unknown[]>> = {
    ["__proto"]: [1],
    ["constructor"]: [1],
    systemPrompt: [7, null],
    maxIterations: [0, 1.5, "3", Number.NaN, Number.POSITIVE_INFINITY],
    maxToolCalls: [-1, "0"],
    maxConsecutiveErrors: [0, true],
    maxToolCallsFromHistory: [-1, 0.5],
    includeDetailedErrors: ["yes", 1],
    toolTimeoutMs: [0, "5s"],
    maxStreamFallbackAttempts: [-1, 1.5],
    tools: [named("a"), "weather"],
    models: ["offline:", [1]],
    model: [undefined, 7, {}],
    checkpointer: ["memory"],
    store: ["memory"],
  };

  it.each(Object.entries(BAD_VALUES).flatMap(([setting, values]) => values.map((value) => [setting, value])))(
    "the option %s = %j, and names it",
    (setting, value) => {
      const error = refusalOf({ [String(setting)]: value });
      expect(error).toBeInstanceOf(InvalidSettingError);
      expect(error).toMatchObject({ code: "INVALID_SETTING", setting });
      expect(String(error)).toContain(`\`${setting}\``);
    },
  );

  it.each([
    ["maxIteration", "maxIterations"],
    ["max_iterations", "maxIterations"],
    ["tool", "tools"],
    ["prompt", "systemPrompt"],
    ["stateModifier", "systemPrompt"],
    ["messageModifier", "systemPrompt"],
    ["llm", "model"],
    ["checkpointSaver", "checkpointer"],
    ["interruptOn", "requireApproval"],
    ["recursionLimit", "maxIterations"],
    ["maxSteps", "maxIterations"],
    ["maxTurns", "maxIterations"],
    ["stopWhen", "maxIterations"],
    ["instructions", "systemPrompt"],
    ["system", "systemPrompt"],
    ["systemMessage", "systemPrompt"],
    ["memory", "checkpointer"],
    ["responseModel", "responseFormat"],
    ["outputType", "responseFormat"],
    ["toolApproval", "requireApproval"],
    ["context", "contextSchema"],
  ])("the option %s, and says what was meant", (setting, meant) => {
    const message = `Unknown setting \`${setting}\`. Did you mean \`${meant}\`?`;
    expect(refusalOf({ [setting]: 3 })).toMatchObject({ setting, message });
  });

  it.each([
    ["toolChoice", "requred", "required"],
    ["dialect", "opnai", "openai"],
    ["messagesChannel", "delt", "delta"],
  ])("the option %s = %s, and says what was meant", (setting, value, meant) => {
    const error = refusalOf({ [setting]: value });
    expect(error).toMatchObject({ setting });
    expect(String(error)).toContain(`got \`"${value}"\`. Did you mean \`${meant}\`?`);
  });

  it.each([
    [
      "temperature",
      'Give it to the class of the model, under its name there: `model: new ChatOpenAI({ model: "…", temperature: 0 })`.',
    ],
    ["preModelHook", "Use `middleware: [chatMiddleware(…)]`"],
    ["postModelHook", "Use `middleware: [chatMiddleware(…)]`"],
    ["wrapToolCall", "Use `middleware: [functionMiddleware(…)]`"],
    ["beforeAgent", "Use `middleware: [agentMiddleware(…)]`"],
    ["subagents", "Make each agent a tool"],
    ["onFinish", "Read the events of the run from its stream"],
    ["abortSignal", "Pass `signal` to `invoke` or `stream`."],
    ["messages", "Pass `messages` to `invoke` or `stream`."],
    ["interruptBefore", "use `requireApproval`"],
  ])("the option %s of another library, and says what to do", (setting, way) => {
    const error = refusalOf({ [setting]: 3 });
    expect(error).toMatchObject({ setting });
    expect(String(error)).toContain(`Unknown setting \`${setting}\`. `);
    expect(String(error)).toContain(way);
    expect(String(error)).not.toContain("Known settings");
  });

  it("an unknown option without a near match, and lists all options", () => {
    expect(String(refusalOf({ weather: 1 }))).toMatch(
      /Unknown setting `weather`\. Known settings are: model, .*, store\.$/,
    );
  });

  it.each([
    ["checkpointer", MemorySaver, "new MemorySaver()"],
    ["store", InMemoryStore, "new InMemoryStore()"],
    ["model", ChatOpenAI, "new ChatOpenAI()"],
    ["summaryModel", ChatOpenAI, "new ChatOpenAI()"],
  ])("a class in the place of a %s", (setting, Class, meant) => {
    const error = refusalOf({ [setting]: Class });
    expect(error).toMatchObject({ code: "INVALID_SETTING", setting });
    expect(String(error)).toMatch(new RegExp(`^InvalidSettingError: Expected \`${setting}\` to be .*, got `));
    expect(String(error)).toContain(`Did you mean \`${meant}\`?`);
  });

  it("a function in the place of a checkpointer, and guesses nothing", () => {
    const error = refusalOf({ checkpointer: () => new MemorySaver() });
    expect(String(error)).toMatch(
      /Expected `checkpointer` to be a checkpointer, true or false, got `a function`\.$/,
    );
  });

  it.each([undefined, null, "offline:", []])("%j in the place of the options", (options) => {
    expect(() => make(options)).toThrow(expect.objectContaining({ code: "INVALID_SETTING" }));
  });

  it.each<[what: string, tools: unknown[], text: string]>([
    ["a name with a space", [named("my tool")], "my tool"],
    ["a name with a dot", [named("a.b")], "a.b"],
    ["a name in another script", [named("天气")], "天气"],
    ["an empty name", [named("")], "name"],
    ["a name of 65 letters", [named("a".repeat(65))], "a".repeat(65)],
    ["two tools of one name", [named("twin"), named("single"), named("twin")], "twin"],
    ["something that is no tool", [named("fine"), { name: "half" }], "tools[1]"],
    ["null among the tools", [null], "tools[0]"],
    [
      "a misspelt `replay`",
      [Object.assign(named("pay"), { metadata: { replay: "Safe" } })],
      '"safe" or "unsafe"',
    ],
    ["a class in the place of a tool", [Weather], "Did you mean `new Weather()`?"],
  ])("%s", (_what, tools, text) => {
    const error = refusalOf({ tools });
    expect(error).toBeInstanceOf(InvalidToolError);
    expect(error).toMatchObject({ code: "INVALID_TOOL" });
    expect(String(error)).toContain(text);
  });

  it("neither 200 tools, which some providers take, nor names of 64 letters", () => {
    for (const tools of [manyTools(200), [named("a".repeat(64)), named("_b-2"), new Weather()]])
      make({ model: "offline:", tools });
  });

  it.each([
    ["nobody:model"],
    ["openai:"],
    [""],
    ["constructor:x"],
    ["toString:"],
    ["opnai:gpt-4o", "openai:gpt-4o"],
    ["OpenAI:gpt-4o", "openai:gpt-4o"],
    ["google-gena:gemini-2.5-flash", "google-genai:gemini-2.5-flash"],
    ["gemini:2.5-flash", "google-genai:2.5-flash"],
    ["mistral:mistral-large", "mistralai:mistral-large"],
    ["gpt-4o-mini", "openai:gpt-4o-mini"],
    ["claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"],
    ["offline", "offline:"],
  ])("the model name %j, and says what was meant", (model, meant?) => {
    const error = refusalOf({ model });
    const message = `Expected \`model\` to be a model as \`provider:model\`, got \`${model}\`.`;
    expect(error).toBeInstanceOf(InvalidModelError);
    expect(error).toMatchObject({ code: "INVALID_MODEL", model });
    if (meant === undefined) expect(String(error)).toContain(`\`${model}\``);
    else expect(error).toMatchObject({ message: `${message} Did you mean \`${meant}\`?` });
  });

  it("a model name without a near match, and lists the providers", () => {
    expect(String(refusalOf({ model: "nobody:x" }))).toContain("offline, openai, deepseek");
  });

  it.each([
    ["models[1]", { models: ["offline:", "nobody:x"] }],
    ["fallbackModels[0]", { fallbackModels: ["nobody:x"] }],
    ["summaryModel", { summaryModel: "nobody:x" }],
  ])("a name for `%s` that cannot be resolved, and names the option", (option, options) => {
    const message = expect.stringContaining(`Expected \`${option}\` to be a model as`);
    expect(refusalOf(options)).toMatchObject({ model: "nobody:x", message });
  });
});

const thread = inThread("1");

describe("a run refuses", () => {
  const limits = { maxIterations: 5, maxToolCalls: 8, maxConsecutiveErrors: 2 };
  const BAD_CONTEXTS: Readonly<Record<string, readonly unknown[]>> = {
    maxToken: [{ maxToken: 3 }],
    maxIterations: [{ maxIteration: 3 }, { maxIterations: 0 }, { maxIterations: "2" }, { maxIterations: 6 }],
    systemPrompt: [{ prompt: "x" }, { systemPrompt: 5 }],
    tools: [{ tools: [] }],
    includeDetailedErrors: [{ includeDetailedErrors: true }],
    toolTimeoutMs: [{ toolTimeoutMs: 10 }],
    maxStreamFallbackAttempts: [{ maxStreamFallbackAttempts: 0 }],
    maxToolCalls: [{ maxToolCalls: 9 }],
    maxConsecutiveErrors: [{ maxConsecutiveErrors: 3 }],
    maxToolCallsFromHistory: [{ maxToolCallsFromHistory: -1 }],
    model: [{ model: "openai:gpt-4o" }, { model: 7 }],
    context: ["maxIterations"],
  };

  it.each(Object.entries(BAD_CONTEXTS).flatMap(([setting, all]) => all.map((context) => [setting, context])))(
    "by the name of %s the context %j, and leaves the thread as it was",
    async (setting, context) => {
      const checkpointer = new MemorySaver();
      const graph = make({ model: "offline:", models: ["openai:gpt-4o-mini"], ...limits, checkpointer });
      await graph.invoke(user("hello"), thread);
      const before = await graph.getState(thread);
      const run = graph.invoke(user("more"), { ...thread, context: context as never });
      const error = await run.catch((reason: unknown) => reason);
      expect(TetherError.isInstance(error), String(error)).toBe(true);
      expect(String(error)).toContain(`\`${setting}\``);
      expect(await graph.getState(thread)).toEqual(before);
      expect(pairedScript(await graph.invoke(user("hello"), thread))).toHaveLength(4);
    },
  );

  it("no limit up to the graph's, and lowers it for this run only", async () => {
    const graph = make({ model: "offline:", ...limits, tools: [named("ping")] });
    const ping = user("call ping {} then call ping {} then call ping {}");
    const ofOne = await graph.invoke(ping, { context: { maxIterations: 1, maxToolCalls: 8 } });
    const ofAll = await graph.invoke(ping, { context: { maxIterations: 5 } });
    expect([pairedScript(ofOne).length, pairedScript(ofAll).length]).toEqual([4, 8]);
  });
});

// A graph can be built without store and checkpointer, because a server or a parent graph supplies them. A run needs
// them.

const refusing = (setting: string, because: string) => ({
  code: "INVALID_SETTING",
  setting,
  message: `Expected \`${setting}\` to be a ${setting}, because ${because}, got \`undefined\`.`,
});

describe("Approvals without a checkpointer", () => {
  const refused = refusing("checkpointer", "`requireApproval` saves a run that waits for a human");
  const graphOf = (
    requireApproval: AgentGraphOptions["requireApproval"],
    model: AgentGraphOptions["model"],
  ) => {
    const { fast, heedful, runs } = createProbe();
    return { graph: createAgentGraph({ model, tools: [fast, heedful], requireApproval }), runs };
  };

  it.each([[["fast"]], [() => false]])("are refused before the model is asked (%o)", async (required) => {
    await expect(graphOf(required, scripted()).graph.invoke(user("go"))).rejects.toMatchObject(refused);
  });

  it("are accepted if no tool needs one", async () => {
    expect(pairedScript(await graphOf([], "offline:").graph.invoke(user("hello")))).toHaveLength(2);
  });

  it("are accepted with the checkpointer of a parent graph", async () => {
    const nested = parentOf(graphOf(["fast"], "offline:").graph, { checkpointer: new MemorySaver() });
    await nested.invoke(user("call fast"), thread);
    expect((await nested.getState(thread)).tasks[0]?.interrupts).toHaveLength(1);
  });

  it.each<[kind: string, send: (graph: AgentGraph, input: ReturnType<typeof user>) => Promise<unknown>]>([
    ["served", (graph, input) => graph.invoke(input, { configurable: { assistant_id: "a" } })],
    ["nested", (graph, input) => parentOf(graph).invoke(input)],
  ])(
    "are refused only when a human must be asked, if the run is %s, and no tool of the batch runs",
    async (kind, send) => {
      if (kind === "served") beServer();
      const { graph, runs } = graphOf(["fast"], scripted("hello", calls(["fast"], ["heedful"])));
      expect(pairedScript(await send(graph, user("hello")))).toHaveLength(2);
      await expect(send(graph, user("go"))).rejects.toMatchObject(refused);
      expect(runs).toEqual([]);
    },
  );
});

/** What LangGraph's server leaves in its process. A client can send the assistant, but not this. */
function beServer(): void {
  const mark = Symbol.for("langgraph_api:fetch");
  Reflect.set(globalThis, mark, () => {});
  onTestFinished(() => void Reflect.deleteProperty(globalThis, mark));
}
