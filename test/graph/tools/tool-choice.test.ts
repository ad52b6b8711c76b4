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
import { pairedScript, user } from "../../support/thread.js";

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
