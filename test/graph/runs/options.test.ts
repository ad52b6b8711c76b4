import { StructuredTool, tool } from "@langchain/core/tools";
import { END, InMemoryStore, MemorySaver, MessagesAnnotation, START, StateGraph } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import {
  createAgentGraph,
  InvalidModelError,
  InvalidSettingError,
  InvalidToolError,
  TetherError,
} from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { pairedScript, user } from "../../support/thread.js";

const make = (options: Record<string, unknown>) =>
  createAgentGraph({ model: "offline:", ...options } as Parameters<typeof createAgentGraph>[0]);

const named = (name: string) => tool(async () => "", { name, description: name, schema: z.object({}) });

function thrownBy(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  throw new Error("Expected an error.");
}

describe("createAgentGraph refuses", () => {
  const badSettings: readonly (readonly [setting: string, value: unknown])[] = [
    ["__proto", 1],
    ["constructor", 1],
    ["systemPrompt", 7],
    ["systemPrompt", null],
    ["maxIterations", 0],
    ["maxIterations", 1.5],
    ["maxIterations", "3"],
    ["maxIterations", Number.NaN],
    ["maxIterations", Number.POSITIVE_INFINITY],
    ["maxToolCalls", -1],
    ["maxToolCalls", "0"],
    ["maxConsecutiveErrors", 0],
    ["maxConsecutiveErrors", true],
    ["maxToolCallsFromHistory", -1],
    ["maxToolCallsFromHistory", 0.5],
    ["includeDetailedErrors", "yes"],
    ["includeDetailedErrors", 1],
    ["toolTimeoutMs", 0],
    ["toolTimeoutMs", "5s"],
    ["maxStreamFallbackAttempts", -1],
    ["maxStreamFallbackAttempts", 1.5],
    ["tools", named("a")],
    ["tools", "weather"],
    ["models", "offline:"],
    ["models", [1]],
    ["model", undefined],
    ["model", 7],
    ["model", {}],
    ["checkpointer", "memory"],
    ["store", "memory"],
  ];

  it.each(badSettings)("the option %s = %j, and names it", (setting, value) => {
    const error = thrownBy(() => make({ [setting]: value }));
    expect(error).toBeInstanceOf(InvalidSettingError);
    expect(error).toMatchObject({ code: "INVALID_SETTING", setting });
    expect(String(error)).toContain(`\`${setting}\``);
  });

  const suggestions: readonly (readonly [setting: string, options: object, meant: string])[] = [
    ["maxIteration", { maxIteration: 3 }, "maxIterations"],
    ["max_iterations", { max_iterations: 3 }, "maxIterations"],
    ["tool", { tool: [] }, "tools"],
    ["prompt", { prompt: "x" }, "systemPrompt"],
    ["stateModifier", { stateModifier: "x" }, "systemPrompt"],
    ["messageModifier", { messageModifier: "x" }, "systemPrompt"],
    ["llm", { llm: "offline:" }, "model"],
    ["checkpointSaver", { checkpointSaver: new MemorySaver() }, "checkpointer"],
    ["interruptOn", { interruptOn: {} }, "requireApproval"],
    ["recursionLimit", { recursionLimit: 25 }, "maxIterations"],
  ];

  it.each(suggestions)("the option %s, and says what was meant", (setting, options, meant) => {
    const error = thrownBy(() => make({ ...options }));
    expect(error).toMatchObject({
      setting,
      message: `Unknown setting \`${setting}\`. Did you mean \`${meant}\`?`,
    });
  });

  it("an unknown option without a near match, and lists all options", () => {
    expect(String(thrownBy(() => make({ weather: 1 })))).toMatch(
      /Unknown setting `weather`\. Known settings are: model, .*, store\.$/,
    );
  });

  it.each([
    ["checkpointer", MemorySaver, "new MemorySaver()"],
    ["store", InMemoryStore, "new InMemoryStore()"],
    ["model", ChatOpenAI, "new ChatOpenAI()"],
    ["summaryModel", ChatOpenAI, "new ChatOpenAI()"],
  ])("a class in the place of a %s", (setting, Class, meant) => {
    const error = thrownBy(() => make({ [setting]: Class }));
    expect(error).toMatchObject({ code: "INVALID_SETTING", setting });
    expect(String(error)).toMatch(new RegExp(`^InvalidSettingError: Expected \`${setting}\` to be .*, got `));
    expect(String(error)).toContain(`Did you mean \`${meant}\`?`);
  });

  it("a class in the place of a tool", () => {
    class Weather extends StructuredTool {
      name = "weather";
      description = "";
      schema = z.object({});
      async _call() {
        return "";
      }
    }
    expect(String(thrownBy(() => make({ tools: [Weather] })))).toContain("Did you mean `new Weather()`?");
    make({ tools: [new Weather()] });
  });

  it("a function in the place of a checkpointer, and guesses nothing", () => {
    const error = thrownBy(() => make({ checkpointer: () => new MemorySaver() }));
    expect(String(error)).toMatch(
      /Expected `checkpointer` to be a checkpointer, true or false, got `a function`\.$/,
    );
  });

  it.each([undefined, null, "offline:", []])("%j in the place of the options", (options) => {
    const error = thrownBy(() => createAgentGraph(options as never));
    expect(error).toMatchObject({ code: "INVALID_SETTING" });
  });

  const badTools: readonly (readonly [what: string, tools: unknown[], text: string])[] = [
    ["a name with a space", [named("my tool")], "my tool"],
    ["a name with a dot", [named("a.b")], "a.b"],
    ["a name in another script", [named("天气")], "天气"],
    ["an empty name", [named("")], "name"],
    ["a name of 65 letters", [named("a".repeat(65))], "a".repeat(65)],
    ["two tools of one name", [named("twin"), named("single"), named("twin")], "twin"],
    ["something that is no tool", [named("fine"), { name: "half" }], "tools[1]"],
    ["null among the tools", [null], "tools[0]"],
    ["129 tools", Array.from({ length: 129 }, (_, index) => named(`t${index}`)), "129"],
    [
      "a misspelt `replay`",
      [Object.assign(named("pay"), { metadata: { replay: "Safe" } })],
      '"safe" or "unsafe"',
    ],
  ];

  it.each(badTools)("%s", (_what, tools, text) => {
    const error = thrownBy(() => make({ tools }));
    expect(error).toBeInstanceOf(InvalidToolError);
    expect(error).toMatchObject({ code: "INVALID_TOOL" });
    expect(String(error)).toContain(text);
  });

  it.each(["nobody:model", "offline", "gpt-4o-mini", "openai:", "", "constructor:x", "toString:"])(
    "the model name %j",
    (model) => {
      const error = thrownBy(() => make({ model }));
      expect(error).toBeInstanceOf(InvalidModelError);
      expect(error).toMatchObject({ code: "INVALID_MODEL", model });
      expect(String(error)).toContain(`\`${model}\``);
    },
  );

  it.each([
    ["opnai:gpt-4o", "openai:gpt-4o"],
    ["OpenAI:gpt-4o", "openai:gpt-4o"],
    ["google-gena:gemini-2.5-flash", "google-genai:gemini-2.5-flash"],
    ["gemini:2.5-flash", "google-genai:2.5-flash"],
    ["mistral:mistral-large", "mistralai:mistral-large"],
    ["gpt-4o-mini", "openai:gpt-4o-mini"],
    ["claude-sonnet-4-5", "anthropic:claude-sonnet-4-5"],
    ["offline", "offline:"],
  ])("the model name %s, and says what was meant", (model, meant) => {
    expect(thrownBy(() => make({ model }))).toMatchObject({
      message: `Expected \`model\` to be a model as \`provider:model\`, got \`${model}\`. Did you mean \`${meant}\`?`,
    });
  });

  it("a model name without a near match, and lists the providers", () => {
    expect(String(thrownBy(() => make({ model: "nobody:x" })))).toContain("offline, openai, deepseek");
  });

  it.each([
    ["models[1]", { models: ["offline:", "nobody:x"] }],
    ["fallbackModels[0]", { fallbackModels: ["nobody:x"] }],
    ["summaryModel", { summaryModel: "nobody:x" }],
  ])("a name for `%s` that cannot be resolved, and names the option", (option, options) => {
    expect(thrownBy(() => make(options))).toMatchObject({
      model: "nobody:x",
      message: expect.stringContaining(`Expected \`${option}\` to be a model as`),
    });
  });

  it.each([
    ["toolChoice", "requred", "required"],
    ["dialect", "opnai", "openai"],
    ["messagesChannel", "delt", "delta"],
  ])("the option %s = %s, and says what was meant", (setting, value, meant) => {
    const error = thrownBy(() => make({ [setting]: value }));
    expect(error).toMatchObject({ setting });
    expect(String(error)).toContain(`got \`"${value}"\`. Did you mean \`${meant}\`?`);
  });
});

describe("createAgentGraph takes", () => {
  it("128 tools, and names of 64 letters", () => {
    make({ tools: Array.from({ length: 128 }, (_, index) => named(`t${index}`)) });
    make({ tools: [named("a".repeat(64)), named("_b-2")] });
  });
});

describe("a run refuses", () => {
  const badContexts: readonly (readonly [setting: string, context: unknown])[] = [
    ["maxToken", { maxToken: 3 }],
    ["maxIterations", { maxIteration: 3 }],
    ["systemPrompt", { prompt: "x" }],
    ["tools", { tools: [] }],
    ["includeDetailedErrors", { includeDetailedErrors: true }],
    ["toolTimeoutMs", { toolTimeoutMs: 10 }],
    ["maxStreamFallbackAttempts", { maxStreamFallbackAttempts: 0 }],
    ["maxIterations", { maxIterations: 0 }],
    ["maxIterations", { maxIterations: "2" }],
    ["maxIterations", { maxIterations: 6 }],
    ["maxToolCalls", { maxToolCalls: 9 }],
    ["maxConsecutiveErrors", { maxConsecutiveErrors: 3 }],
    ["maxToolCallsFromHistory", { maxToolCallsFromHistory: -1 }],
    ["systemPrompt", { systemPrompt: 5 }],
    ["model", { model: "openai:gpt-4o" }],
    ["model", { model: 7 }],
    ["context", "maxIterations"],
  ];

  it.each(badContexts)(
    "the context field %s of %j, names it, and leaves the thread as it was",
    async (setting, context) => {
      const graph = make({
        models: ["openai:gpt-4o-mini"],
        maxIterations: 5,
        maxToolCalls: 8,
        maxConsecutiveErrors: 2,
        checkpointer: new MemorySaver(),
      });
      const config = { configurable: { thread_id: "1" } };
      await graph.invoke(user("hello"), config);
      const before = await graph.getState(config);

      const error = await graph.invoke(user("more"), { ...config, context: context as never }).then(
        () => "no error",
        (reason: unknown) => reason,
      );
      expect(TetherError.isInstance(error), String(error)).toBe(true);
      expect(String(error)).toContain(`\`${setting}\``);
      expect((await graph.getState(config)).config).toEqual(before.config);
      expect((await graph.getState(config)).values).toEqual(before.values);

      expect(pairedScript(await graph.invoke(user("hello"), config))).toHaveLength(4);
    },
  );

  it("no limit up to the graph's, and lowers it for this run only", async () => {
    const graph = make({ maxIterations: 5, maxToolCalls: 8, tools: [named("ping")] });
    const ping = user("call ping {} then call ping {} then call ping {}");
    const ofOne = await graph.invoke(ping, { context: { maxIterations: 1, maxToolCalls: 8 } });
    const ofAll = await graph.invoke(ping, { context: { maxIterations: 5 } });
    expect([pairedScript(ofOne).length, pairedScript(ofAll).length]).toEqual([4, 8]);
  });
});

// A graph can be built without store and checkpointer, because a server or a parent graph supplies them. A run needs
// them.

const thread = { configurable: { thread_id: "1" } };

describe("Archived messages without a store", () => {
  const refused = {
    code: "INVALID_SETTING",
    setting: "store",
    message:
      'Expected `store` to be a store, because `coveredMessages: "archive"` moves messages to it, got `undefined`.',
  };

  it("are refused before the model is asked, and the thread stays as it was", async () => {
    const checkpointer = new MemorySaver();
    const model = scripted();
    const graph = createAgentGraph({ model, coveredMessages: "archive", checkpointer });
    await expect(graph.invoke(user("hello"), thread)).rejects.toMatchObject(refused);
    await expect(graph.stream(user("hello"), thread).then(drain)).rejects.toMatchObject(refused);
    expect((await graph.getState(thread)).values).toEqual({ messages: [] });
  });

  it.each(["graph", "run", "parent"] as const)("are accepted if the %s has a store", async (place) => {
    const store = new InMemoryStore();
    const graph = createAgentGraph({
      model: "offline:",
      coveredMessages: "archive",
      ...(place === "graph" && { store }),
    });
    const run =
      place === "parent"
        ? nest(graph).compile({ store }).invoke(user("hello"))
        : graph.invoke(user("hello"), { ...(place === "run" && { store }) });
    expect(pairedScript(await run)).toHaveLength(2);
  });
});

describe("Approvals without a checkpointer", () => {
  const refused = {
    code: "INVALID_SETTING",
    setting: "checkpointer",
    message:
      "Expected `checkpointer` to be a checkpointer, because `requireApproval` saves a run that waits for a human, got `undefined`.",
  };

  it("are refused before the model is asked", async () => {
    const { fast } = createProbe();
    for (const requireApproval of [["fast"], () => false]) {
      const graph = createAgentGraph({ model: scripted(), tools: [fast], requireApproval });
      await expect(graph.invoke(user("go"))).rejects.toMatchObject(refused);
    }
  });

  it("are accepted if no tool needs one", async () => {
    const graph = createAgentGraph({ model: "offline:", requireApproval: [] });
    expect(pairedScript(await graph.invoke(user("hello")))).toHaveLength(2);
  });

  it("are accepted with the checkpointer of a parent graph", async () => {
    const { fast } = createProbe();
    const graph = createAgentGraph({ model: "offline:", tools: [fast], requireApproval: ["fast"] });
    const parent = nest(graph).compile({ checkpointer: new MemorySaver() });
    await parent.invoke(user("call fast"), thread);
    expect((await parent.getState(thread)).tasks[0]?.interrupts).toHaveLength(1);
  });

  it.each(["served", "nested"] as const)(
    "are refused only when a human must be asked, if the run is %s, and no tool of the batch runs",
    async (kind) => {
      if (kind === "served") beServer();
      const probe = createProbe();
      const model = scripted("hello", calls(["fast"], ["heedful"]));
      const tools = [probe.fast, probe.heedful];
      const graph = createAgentGraph({ model, tools, requireApproval: ["fast"] });
      const invoke = async (text: string) =>
        kind === "served"
          ? graph.invoke(user(text), { configurable: { assistant_id: "a" } })
          : nest(graph).compile().invoke(user(text));
      expect(pairedScript(await invoke("hello"))).toHaveLength(2);
      await expect(invoke("go")).rejects.toMatchObject(refused);
      expect(probe.runs).toEqual([]);
    },
  );
});

/** What LangGraph's server leaves in its process. A client can send the assistant, but not this. */
function beServer(): void {
  const mark = Symbol.for("langgraph_api:fetch");
  Reflect.set(globalThis, mark, () => {});
  onTestFinished(() => void Reflect.deleteProperty(globalThis, mark));
}

function nest(graph: ReturnType<typeof createAgentGraph>) {
  return new StateGraph(MessagesAnnotation)
    .addNode("agent", graph)
    .addEdge(START, "agent")
    .addEdge("agent", END);
}

async function drain(chunks: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of chunks);
}
