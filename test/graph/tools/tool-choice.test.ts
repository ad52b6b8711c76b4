import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  type AgentGraphOptions,
  chatMiddleware,
  createAgentGraph,
  type ToolChoice,
} from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { PlainClient } from "../../support/stream-faults.js";
import { pairedMessagesOf, pairedScript, user } from "../../support/thread.js";

const NOTHING_SAID = "I stopped here: tools are off for this response.";

function agent(steps: readonly Step[], options: Partial<AgentGraphOptions>) {
  const probe = createProbe();
  const model = scripted(...steps);
  const graph = createAgentGraph({
    model,
    tools: [probe.fast, probe.failing],
    checkpointer: new MemorySaver(),
    ...options,
  });
  const config = { configurable: { thread_id: "1" } };
  return { graph, probe, config, choices: () => model.requests.map(({ toolChoice }) => toolChoice) };
}

interface Case {
  readonly toolChoice: ToolChoice;
  readonly steps: readonly Step[];
  /** What the model is told, request by request. */
  readonly choices: readonly unknown[];
  readonly script: readonly string[];
}

const call = () => calls(["fast"]);
const asked = ["human: go", "ai> fast", "tool: fast done -"];

const cases: readonly Case[] = [
  {
    toolChoice: "auto",
    steps: [call(), "done"],
    choices: [undefined, undefined],
    script: [...asked, "ai: done"],
  },
  { toolChoice: "auto", steps: ["done"], choices: [undefined], script: ["human: go", "ai: done"] },
  { toolChoice: "none", steps: ["done"], choices: ["none"], script: ["human: go", "ai: done"] },
  { toolChoice: "none", steps: [call()], choices: ["none"], script: ["human: go", `ai: ${NOTHING_SAID}`] },
  { toolChoice: "required", steps: [call()], choices: ["any"], script: asked },
  { toolChoice: { mode: "required" }, steps: [call()], choices: ["any"], script: asked },
  {
    toolChoice: { mode: "required", requiredFunctionName: "fast" },
    steps: [call()],
    choices: ["fast"],
    script: asked,
  },
  {
    toolChoice: { mode: "required", requiredFunctionName: "fast", afterRequired: "end" },
    steps: [call()],
    choices: ["fast"],
    script: asked,
  },
  {
    toolChoice: { mode: "required", afterRequired: "answer" },
    steps: [call(), "done"],
    choices: ["any", "none"],
    script: [...asked, "ai: done"],
  },
  {
    toolChoice: { mode: "required", requiredFunctionName: "fast", afterRequired: "answer" },
    steps: [call(), call()],
    choices: ["fast", "none"],
    script: [...asked, "ai: I stopped here: the required tool was called, and no other call is allowed."],
  },
  // A provider that does not force the call, and a call that fails.
  { toolChoice: "required", steps: ["no"], choices: ["any"], script: ["human: go", "ai: no"] },
  {
    toolChoice: "required",
    steps: [calls(["failing"])],
    choices: ["any"],
    script: ["human: go", "ai> failing", "tool! Error: `failing` failed."],
  },
];

describe("toolChoice", () => {
  it.each(cases)("$toolChoice of the graph: $script", async ({ toolChoice, steps, choices, script }) => {
    const { graph, config, ...seen } = agent(steps, { toolChoice });
    expect(pairedScript(await graph.invoke(user("go"), config))).toEqual(script);
    expect(seen.choices()).toEqual(choices);
  });

  it.each(cases)("$toolChoice of the run: $script", async ({ toolChoice, steps, choices, script }) => {
    const { graph, config, ...seen } = agent(steps, { toolChoice: "none" });
    expect(pairedScript(await graph.invoke(user("go"), { ...config, context: { toolChoice } }))).toEqual(
      script,
    );
    expect(seen.choices()).toEqual(choices);
  });

  it("requires a call in each turn, once", async () => {
    const { graph, config, probe, choices } = agent([call(), call()], { toolChoice: "required" });
    await graph.invoke(user("go"), config);
    const ended = await graph.invoke(user("again"), config);
    expect(pairedScript(ended)).toHaveLength(6);
    expect(probe.runs).toHaveLength(2);
    expect(choices()).toEqual(["any", "any"]);
    // To go on without a message asks for nothing new.
    expect(await graph.invoke(null, config)).toEqual(ended);
  });

  it("can be overridden by a chat middleware", async () => {
    const off = chatMiddleware(async (context, next) => {
      context.options.toolChoice = "none";
      await next();
    });
    const { graph, config, probe, choices } = agent([call()], { middleware: [off] });
    expect(pairedScript(await graph.invoke(user("go"), config)).at(-1)).toBe(`ai: ${NOTHING_SAID}`);
    expect(choices()).toEqual(["none"]);
    expect(probe.runs).toEqual([]);
  });

  it("can be changed by options that are replaced as a whole", async () => {
    const off = chatMiddleware(async (context, next) => {
      context.options = { toolChoice: "none" } as typeof context.options;
      await next();
    });
    const { graph, config, choices } = agent(["done"], { middleware: [off] });
    await graph.invoke(user("go"), config);
    expect(choices()).toEqual(["none"]);
  });

  it("cannot be turned on by a chat middleware if it is off", async () => {
    const on = chatMiddleware(async (context, next) => {
      context.options.toolChoice = "required";
      await next();
    });
    const { graph, config, choices } = agent([call(), call()], { middleware: [on], maxIterations: 1 });
    const last = pairedScript(await graph.invoke(user("go"), config)).at(-1);
    // The first call was required by the middleware, which ends the turn with its result.
    expect(last).toBe("tool: fast done -");
    await graph.invoke(user("go"), { ...config, context: { toolChoice: "none" } });
    expect(choices()).toEqual(["any", "none"]);
  });

  it.each([
    ["never", "toolChoice"],
    [{ mode: "none" }, "toolChoice"],
    [{ mode: "required", requiredFunctionNme: "fast" }, "toolChoice"],
    [{ mode: "required", requiredFunctionName: "fsat" }, "`fsat`.*fast, failing"],
    [{ mode: "required", afterRequired: "never" }, "toolChoice"],
    [7, "toolChoice"],
  ])("%j is refused, when a graph is built and when a run begins", async (toolChoice, words) => {
    const build = () => agent([], { toolChoice: toolChoice as ToolChoice });
    expect(build).toThrow(new RegExp(words));
    const { graph, config } = agent([], {});
    const run = graph.invoke(user("go"), { ...config, context: { toolChoice: toolChoice as ToolChoice } });
    await expect(run).rejects.toThrow(new RegExp(words));
  });

  it("cannot require a call if there is no tool", () => {
    expect(() => agent([], { tools: [], toolChoice: "required" })).toThrow("has no tool");
  });
});

interface OffCase {
  readonly reason: string;
  readonly options: Partial<AgentGraphOptions>;
  readonly config?: object;
  /** The steps before the response in which tools are off. */
  readonly before: readonly Step[];
  readonly runs: number;
  readonly words: RegExp;
}

const off = chatMiddleware(async (context, next) => {
  context.options.toolChoice = "none";
  await next();
});

const offCases: readonly OffCase[] = [
  { reason: "maxIterations", options: { maxIterations: 1 }, before: [call()], runs: 1, words: /model calls/ },
  {
    reason: "maxToolCalls",
    options: { maxToolCalls: 1 },
    before: [call()],
    runs: 1,
    words: /tool calls/,
  },
  {
    reason: "a batch that would exceed maxToolCalls",
    options: { maxToolCalls: 1 },
    before: [calls(["fast"], ["fast"])],
    runs: 0,
    words: /tool calls/,
  },
  {
    reason: "maxConsecutiveErrors",
    options: { maxConsecutiveErrors: 1 },
    before: [calls(["failing"])],
    runs: 1,
    words: /several times/,
  },
  {
    reason: "the recursion limit",
    options: {},
    config: { recursionLimit: 3 },
    before: [],
    runs: 0,
    words: /recursion/,
  },
  {
    reason: "afterRequired",
    options: { toolChoice: { mode: "required", afterRequired: "answer" } },
    before: [call()],
    runs: 1,
    words: /required tool/,
  },
  {
    reason: "toolChoice of the graph",
    options: { toolChoice: "none" },
    before: [],
    runs: 0,
    words: /tools are off/,
  },
  {
    reason: "toolChoice of the run",
    options: {},
    config: { context: { toolChoice: "none" } },
    before: [],
    runs: 0,
    words: /tools are off/,
  },
  {
    reason: "a chat middleware",
    options: { middleware: [off] },
    before: [],
    runs: 0,
    words: /tools are off/,
  },
  { reason: "no tools at all", options: { tools: [] }, before: [], runs: 0, words: /no tool/ },
];

describe.each(offCases)("tools are off because of $reason", ({ options, config, before, runs, words }) => {
  async function run(stray: AIMessage) {
    const probe = createProbe();
    const graph = createAgentGraph({
      model: scripted(...before, stray),
      tools: [probe.fast, probe.failing],
      ...options,
    });
    const stream = await graph.stream(user("go"), { ...config, streamMode: ["messages", "values"] });
    const client = new PlainClient();
    let values: unknown;
    for await (const [mode, data] of stream) {
      if (mode === "messages") client.add(data[0]);
      else values = data;
    }
    expect(probe.runs).toHaveLength(runs);
    return { last: pairedMessagesOf(values).at(-1), shown: client.messages.at(-1) };
  }

  const sameAs = (message: BaseMessage | undefined) => [message?.id, message?.type, message?.text];

  it("a call that the model makes anyway is removed, and a sentence says why", async () => {
    const { last, shown } = await run(calls(["fast"], ["failing"]));
    expect(last?.type).toBe("ai");
    expect(last?.text).toMatch(words);
    expect(last).toMatchObject({ tool_calls: [], invalid_tool_calls: [] });
    expect(sameAs(shown)).toEqual(sameAs(last));
  });

  it("and the other content of the message stays", async () => {
    const { last, shown } = await run(new AIMessage({ ...calls(["fast"]), content: "Let me see." } as never));
    expect(last).toMatchObject({ content: "Let me see.", tool_calls: [] });
    expect(sameAs(shown)).toEqual(sameAs(last));
  });

  it("and a response without calls is unchanged", async () => {
    const { last, shown } = await run(new AIMessage("All done."));
    expect(last?.text).toBe("All done.");
    expect(sameAs(shown)).toEqual(sameAs(last));
  });
});
