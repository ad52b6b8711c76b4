/** A response format whose responses are tool calls: what the thread, the state and the model get. */

import { Command, MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AgentGraphOptions,
  agentMiddleware,
  chatMiddleware,
  createAgentGraph,
  functionMiddleware,
  MiddlewareTermination,
  MultipleStructuredOutputsError,
  StructuredOutputParsingError,
  type ToolStrategyOptions,
  toolStrategy,
} from "../../../src/index.js";
import { openThread } from "../../support/open-thread.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { shown } from "../../support/stream-faults.js";
import { inThread, pairedScript, script, user } from "../../support/thread.js";

const City = z.object({ name: z.string(), people: z.number().default(0) }).meta({ title: "City" });
const River = z.object({ length: z.number() }).meta({ title: "River" });

const OSLO = { name: "Oslo", people: 700_000 };
const RIGHT = `tool: Returning structured response: ${JSON.stringify(OSLO)}`;
const TOO_EARLY =
  "tool! Error: the structured response was not taken, because other tools were called with it. Respond again, with this call alone, after their results.";
const wrongText = (error: string) =>
  `tool! Error: Failed to parse structured output for tool 'City':\n  - ${error}.`;
const NO_NAME = wrongText("name: Invalid input: expected string, received undefined");
const SEVERAL =
  "tool! Error: The model has called multiple tools: City, City to return a structured output. This is not supported. Please provide a single structured output.";

type Options = Partial<Omit<AgentGraphOptions, "responseFormat">>;

function agent(steps: readonly Step[], options: Options = {}, format: ToolStrategyOptions = {}) {
  const probe = createProbe();
  const model = scripted(...steps);
  const graph = createAgentGraph({
    model,
    tools: [probe.fast, probe.failing],
    checkpointer: new MemorySaver(),
    ...options,
    responseFormat: toolStrategy(City, format),
  });
  return { graph, probe, model, thread: openThread(graph) };
}

async function run(steps: readonly Step[], options?: Options, format?: ToolStrategyOptions) {
  const { graph, probe, model } = agent(steps, options, format);
  const result = await graph.invoke(user("go"), inThread("1"));
  return {
    script: pairedScript(result),
    response: result.structuredResponse,
    runs: probe.runs,
    choices: model.requests.map(({ toolChoice }) => toolChoice),
    result,
  };
}

const right = () => calls(["City", OSLO]);
const wrong = () => calls(["City", {}]);

describe("A structured response", () => {
  it("ends the turn, and its call has a result", async () => {
    const { script, response, choices } = await run([right()]);
    expect(script).toEqual(["human: go", "ai> City", RIGHT]);
    expect(response).toEqual(OSLO);
    expect(choices).toEqual(["any"]);
  });

  it("comes after the results of tools", async () => {
    const { script, response, choices } = await run([calls(["fast"]), right()]);
    expect(script).toEqual(["human: go", "ai> fast", "tool: fast done -", "ai> City", RIGHT]);
    expect([response, choices]).toEqual([OSLO, ["any", "any"]]);
  });

  it("is completed by the schema", async () => {
    const { response } = await run([calls(["City", { name: "Rome" }])]);
    expect(response).toEqual({ name: "Rome", people: 0 });
  });

  it("is required by name in a graph without tools", async () => {
    const { choices, response } = await run([right()], { tools: [] });
    expect([choices, response]).toEqual([["City"], OSLO]);
  });

  it("is one of several schemas", async () => {
    const model = scripted(calls(["River", { length: 5 }]));
    const graph = createAgentGraph({ model, responseFormat: toolStrategy([City, River]) });
    const { structuredResponse } = await graph.invoke(user("go"));
    expect(structuredResponse).toEqual({ length: 5 });
    expect(model.requests[0]).toMatchObject({ toolNames: ["City", "River"], toolChoice: "any" });
  });

  it("is in the streams and in the state of the thread", async () => {
    const { graph } = agent([right()]);
    const chunks = await graph.stream(user("go"), { ...inThread("1"), streamMode: ["values", "updates"] });
    const seen: unknown[] = [];
    for await (const [mode, chunk] of chunks)
      seen.push(
        mode === "values" ? chunk.structuredResponse : Reflect.get(chunk.model ?? {}, "structuredResponse"),
      );
    expect(seen).toEqual([undefined, OSLO, OSLO]);
    expect((await graph.getState(inThread("1"))).values.structuredResponse).toEqual(OSLO);
  });

  it("is counted with its result at the end of the run", async () => {
    const { thread } = agent([calls(["fast"]), right()]);
    const { events } = await thread.send("go");
    expect(events).toEqual([{ type: "run-end", calls: 2, results: 2, usedFallback: false }]);
  });
});

describe("A wrong response", () => {
  it("has a result that says what is wrong, and the model is asked again", async () => {
    const { thread, graph } = agent([wrong(), right()]);
    const { events, messages } = await thread.send("go");
    const state = await thread.read();
    expect(script(state)).toEqual(["human: go", "ai> City", NO_NAME, "ai> City", RIGHT]);
    expect(shown(messages)).toEqual(shown(state.slice(1)));
    expect(events).toMatchObject([
      { type: "structured-response-refused", reason: expect.stringContaining("name: Invalid input") },
      { type: "run-end", calls: 2, results: 2 },
    ]);
    expect((await graph.getState(inThread("1"))).values.structuredResponse).toEqual(OSLO);
  });

  it("among several responses leaves no call without a result", async () => {
    const { script, response } = await run([calls(["City", OSLO], ["City", OSLO]), right()]);
    expect(script).toEqual(["human: go", "ai> City City", SEVERAL, SEVERAL, "ai> City", RIGHT]);
    expect(response).toEqual(OSLO);
  });

  it("beside other tools is refused, and the tools are run", async () => {
    const { script, runs, response } = await run([calls(["City", OSLO], ["fast"]), right()]);
    expect(script).toEqual(["human: go", "ai> City fast", TOO_EARLY, "tool: fast done -", "ai> City", RIGHT]);
    expect([runs, response]).toEqual([["fast:-"], OSLO]);
  });

  it("of several beside other tools is refused, and the tools are run", async () => {
    const { script, runs } = await run([calls(["City", OSLO], ["fast"], ["City", OSLO]), right()]);
    expect(script.slice(1, 5)).toEqual(["ai> City fast City", SEVERAL, "tool: fast done -", SEVERAL]);
    expect(runs).toEqual(["fast:-"]);
  });

  it.each<[title: string, given: ToolStrategyOptions["handleError"], text: string]>([
    ["a text", "Try again.", "tool! Try again."],
    ["a function", ({ name }) => `${name}!`, "tool! StructuredOutputParsingError!"],
    ["a slow function", async (error) => `${"errors" in error && error.errors.length}`, "tool! 1"],
    ["true", true, NO_NAME],
  ])("is described by %s of `handleError`", async (_, handleError, text) => {
    const { script } = await run([wrong(), right()], {}, { handleError });
    expect(script[2]).toBe(text);
  });

  const thrown = new Error("no more");
  it.each<[title: string, ToolStrategyOptions["handleError"], Step, expected: unknown]>([
    [
      "false",
      false,
      wrong(),
      new StructuredOutputParsingError("City", ["name: Invalid input: expected string, received undefined"]),
    ],
    [
      "false",
      false,
      calls(["City", OSLO], ["City", OSLO]),
      new MultipleStructuredOutputsError(["City", "City"]),
    ],
    ["a function that throws", () => Promise.reject(thrown), wrong(), thrown],
    [
      "a function without a text",
      (() => 7) as never,
      wrong(),
      expect.objectContaining({ code: "INVALID_SETTING" }),
    ],
  ])(
    "fails the run with `handleError: %s`, and the thread stays usable",
    async (_, handleError, step, expected) => {
      const { graph, thread } = agent([step, right()], {}, { handleError });
      await expect(graph.invoke(user("go"), inThread("1"))).rejects.toEqual(expected);
      const state = await thread.read();
      expect(state.at(-1)).toMatchObject({ type: "tool", status: "error" });
      await graph.invoke(user("again"), inThread("1"));
      expect((await graph.getState(inThread("1"))).values.structuredResponse).toEqual(OSLO);
    },
  );
});

describe("A text in place of a structured response", () => {
  it("is taken back, and the model is asked again with what is wrong", async () => {
    const { thread, model } = agent(["It is Oslo.", right()]);
    const { messages, events } = await thread.send("go");
    const state = await thread.read();
    expect(script(state)).toEqual(["human: go", "ai> City", RIGHT]);
    expect(shown(messages)).toEqual(shown(state.slice(1)));
    expect(script(model.requests[1]?.messages ?? [])).toEqual([
      "human: go",
      "ai: It is Oslo.",
      "human: The response is a text. Do not respond with a text. Call `City` with your response as its arguments.",
    ]);
    expect(events.map(({ type }) => type)).toEqual(["structured-response-refused", "run-end"]);
  });

  it("stays at last, and the event says that there is no structured response", async () => {
    const { thread, graph } = agent(["One.", "Two.", "Three."]);
    const { events } = await thread.send("go");
    expect(script(await thread.read())).toEqual(["human: go", "ai: Three."]);
    expect(events.slice(-2)).toMatchObject([
      { type: "structured-response-missing", reason: "not-in-format" },
      { type: "run-end" },
    ]);
    expect((await graph.getState(inThread("1"))).values).not.toHaveProperty("structuredResponse");
  });

  it("leaves the calls of the turn in the next request, whatever is filtered of earlier turns", async () => {
    const { thread, model } = agent([right(), calls(["fast"]), "Done.", right()], {
      maxToolCallsFromHistory: 0,
    });
    await thread.send("go");
    await thread.send("again");
    expect(script(model.requests[3]?.messages ?? []).slice(0, 3)).toEqual([
      "human: go\n\nagain",
      "ai> fast",
      "tool: fast done -",
    ]);
  });
});

describe("A limit of the turn", () => {
  const limits = (options: Options, steps: readonly Step[]) => agent(steps, options).thread.send("go");

  it("still lets the model give its structured response", async () => {
    const { thread, graph, model, probe } = agent([calls(["fast"]), right()], { maxIterations: 1 });
    const { events } = await thread.send("go");
    expect(events.map(({ type }) => type)).toEqual(["limit-reached", "run-end"]);
    expect(model.requests.map(({ toolChoice }) => toolChoice)).toEqual(["any", "City"]);
    expect((await graph.getState(inThread("1"))).values.structuredResponse).toEqual(OSLO);
    expect(probe.runs).toHaveLength(1);
  });

  it("ends the turn without one if the last response is wrong too", async () => {
    const { thread, graph } = agent([wrong(), wrong(), wrong()], { maxConsecutiveErrors: 2 });
    const { events, messages } = await thread.send("go");
    const state = await thread.read();
    expect(script(state)).toEqual([
      "human: go",
      "ai> City",
      NO_NAME,
      "ai> City",
      NO_NAME,
      "ai: I stopped here: the tools failed several times in a row.",
    ]);
    expect(shown(messages)).toEqual(shown(state.slice(1)));
    expect(events.slice(-3)).toMatchObject([
      { type: "structured-response-refused" },
      { type: "structured-response-missing", reason: "limit-reached" },
      { type: "run-end" },
    ]);
    expect((await graph.getState(inThread("1"))).values).not.toHaveProperty("structuredResponse");
  });

  it("lets no other tool run beside the last structured response", async () => {
    const steps = [calls(["fast"]), calls(["fast"], ["City", OSLO])];
    const { thread, graph, probe } = agent(steps, { maxIterations: 1 });
    await thread.send("go");
    expect(script(await thread.read()).slice(3)).toEqual([
      "ai> fast City",
      "tool! Error: not run, because only a structured response is allowed here.",
      RIGHT,
    ]);
    expect(probe.runs).toHaveLength(1);
    expect((await graph.getState(inThread("1"))).values.structuredResponse).toEqual(OSLO);
  });

  it.each<[title: string, options: Options, steps: readonly Step[]]>([
    ["no tool calls", { maxToolCalls: 0 }, [right()]],
    ["one model call", { maxIterations: 1 }, [wrong(), right()]],
    ["one error", { maxConsecutiveErrors: 1 }, [wrong(), right()]],
  ])("of %s leads to a structured response", async (_, options, steps) => {
    const { events } = await limits(options, steps);
    expect(events.map(({ type }) => type)).toContain("limit-reached");
    expect(events.map(({ type }) => type)).not.toContain("structured-response-missing");
  });

  it("of texts is that of errors, and not that of all model calls", async () => {
    const { events } = await limits({ maxIterations: 1 }, ["Text."]);
    expect(events.map(({ type }) => type)).toEqual(["structured-response-missing", "run-end"]);
  });
});

describe("A new turn", () => {
  it("begins without the structured response of the last one", async () => {
    const { graph, probe } = agent([right(), calls(["heedful"])], { tools: [createProbe().fast] });
    await graph.invoke(user("go"), inThread("1"));
    const seen: unknown[] = [];
    const controller = new AbortController();
    const options = { ...inThread("1"), streamMode: "values", signal: controller.signal } as const;
    await expect(async () => {
      for await (const chunk of await graph.stream(user("again"), options)) {
        seen.push(chunk.structuredResponse);
        if (chunk.messages.length > 4) controller.abort();
      }
    }).rejects.toThrow();
    expect(new Set(seen)).toEqual(new Set([undefined]));
    expect((await graph.getState(inThread("1"))).values).not.toHaveProperty("structuredResponse");
    expect(probe.runs).toEqual([]);
  });

  it("does not take one from its input", async () => {
    const { graph } = agent([right()], { autoInvoke: false });
    const forged = { ...user("go"), structuredResponse: { name: "Nowhere", people: 1 } };
    const seen: unknown[] = [];
    for await (const chunk of await graph.stream(forged, { ...inThread("1"), streamMode: "values" }))
      seen.push(chunk.structuredResponse);
    expect(seen).toEqual([undefined, OSLO]);
  });
});

describe("Together with", () => {
  it("approvals, a refused response waits for nobody", async () => {
    const { graph, probe } = agent([calls(["fast"], ["City", OSLO]), right()], { requireApproval: ["fast"] });
    await graph.invoke(user("go"), inThread("1"));
    expect(probe.runs).toEqual([]);
    const resume = { decisions: [{ type: "approve" }] };
    const result = await graph.invoke(new Command({ resume }), inThread("1"));
    expect(pairedScript(result)).toEqual([
      "human: go",
      "ai> fast City",
      "tool: fast done -",
      TOO_EARLY,
      "ai> City",
      RIGHT,
    ]);
    expect(result.structuredResponse).toEqual(OSLO);
  });

  it("`autoInvoke: false`, only the other calls are the caller's", async () => {
    const { graph, model } = agent([calls(["fast", {}, "c1"], ["City", OSLO]), right()], {
      autoInvoke: false,
    });
    const first = await graph.invoke(user("go"), inThread("1"));
    expect(script(first.messages)).toEqual(["human: go", "ai> fast City", TOO_EARLY]);
    expect(model.requests).toHaveLength(1);
    const results = { messages: [{ role: "tool", tool_call_id: "c1", content: "18 °C" }] };
    const second = await graph.invoke(results, inThread("1"));
    expect(pairedScript(second)).toEqual([
      "human: go",
      "ai> fast City",
      "tool: 18 °C",
      TOO_EARLY,
      "ai> City",
      RIGHT,
    ]);
    expect(second.structuredResponse).toEqual(OSLO);
  });

  it.each([
    ["required", ["any", "any"]],
    [{ mode: "required", requiredFunctionName: "fast" }, ["fast", "any"]],
    [{ mode: "required", requiredFunctionName: "fast", afterRequired: "answer" }, ["fast", "any"]],
  ] as const)("`toolChoice: %j`, the run goes on to the structured response", async (toolChoice, choices) => {
    const { response, choices: sent } = await run([calls(["fast"]), right()], { toolChoice });
    expect([response, sent]).toEqual([OSLO, choices]);
  });

  it("`toolChoice: none`, only the structured response can be called", async () => {
    const { response, choices } = await run([right()], { toolChoice: "none" });
    expect([response, choices]).toEqual([OSLO, ["City"]]);
  });

  it("a function middleware that ends the run, there is none", async () => {
    const stop = functionMiddleware(async (context) => {
      context.result = "stopped";
      throw new MiddlewareTermination();
    });
    const { thread } = agent([calls(["fast"])], { middleware: [stop] });
    const { events } = await thread.send("go");
    expect(events).toMatchObject([
      { type: "structured-response-missing", reason: "ended" },
      { type: "run-end" },
    ]);
  });

  it("a chat middleware that ends the run with it, it counts", async () => {
    const stop = chatMiddleware(async (_, next) => {
      await next();
      throw new MiddlewareTermination();
    });
    expect((await run([right()], { middleware: [stop] })).response).toEqual(OSLO);
    const { script, response } = await run([wrong()], { middleware: [stop] });
    expect(script).toEqual(["human: go", "ai> City", "tool! Not run: the run was ended before this call."]);
    expect(response).toBeUndefined();
  });

  it("an agent middleware that changes the last message, it stays", async () => {
    const change = agentMiddleware(async (context, next) => {
      await next();
      context.result = "Here you are.";
    });
    const { graph } = agent([right()], { middleware: [change] });
    const result = await graph.invoke(user("go"), inThread("1"));
    expect(pairedScript(result)).toEqual(["human: go", "ai> City", RIGHT, "ai: Here you are."]);
    expect(result.structuredResponse).toEqual(OSLO);
  });
});
