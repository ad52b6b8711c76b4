/** A response format that the provider keeps: the response is a text in JSON. */

import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AgentGraphOptions,
  chatMiddleware,
  createAgentGraph,
  MiddlewareTermination,
  providerStrategy,
} from "../../../src/index.js";
import { openThread } from "../../support/open-thread.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { shown } from "../../support/stream-faults.js";
import { inThread, script } from "../../support/thread.js";

const City = z.object({ name: z.string(), people: z.number().default(0) });
const OSLO = { name: "Oslo", people: 700_000 };
const JSON_TEXT = JSON.stringify(OSLO);

function agent(steps: readonly Step[], options: Partial<Omit<AgentGraphOptions, "responseFormat">> = {}) {
  const model = scripted(...steps);
  const { fast } = createProbe();
  const checkpointer = new MemorySaver();
  const responseFormat = providerStrategy(City);
  const graph = createAgentGraph({ model, tools: [fast], checkpointer, ...options, responseFormat });
  const response = async () => (await graph.getState(inThread("1"))).values.structuredResponse;
  return { thread: openThread(graph), model, response };
}

const typesOf = (events: readonly { readonly type: string }[]) => events.map(({ type }) => type);

describe("A text in JSON", () => {
  it.each([
    ["alone", JSON_TEXT],
    ["in a Markdown block", `\`\`\`json\n${JSON_TEXT}\n\`\`\``],
    ["with spaces around it", `\n ${JSON_TEXT} \n`],
  ])("%s is the structured response", async (_, text) => {
    const { thread, response } = agent([text]);
    const { events } = await thread.send("go");
    expect([await response(), typesOf(events)]).toEqual([OSLO, ["run-end"]]);
    expect((await thread.read()).at(-1)?.text).toBe(text);
  });

  it("is completed by the schema", async () => {
    const { thread, response } = agent(['{"name":"Rome"}']);
    await thread.send("go");
    expect(await response()).toEqual({ name: "Rome", people: 0 });
  });

  it("comes after the results of tools, which the model may or may not call", async () => {
    const { thread, model, response } = agent([calls(["fast"]), JSON_TEXT]);
    await thread.send("go");
    expect(script(await thread.read())).toEqual([
      "human: go",
      "ai> fast",
      "tool: fast done -",
      `ai: ${JSON_TEXT}`,
    ]);
    expect(await response()).toEqual(OSLO);
    expect(model.requests.map(({ toolChoice, toolNames }) => [toolChoice, toolNames])).toEqual([
      [undefined, ["fast"]],
      [undefined, ["fast"]],
    ]);
  });
});

describe("A text that does not match", () => {
  it.each([
    ["no JSON", "It is Oslo.", "the text is not valid JSON"],
    ["another schema", '{"name":7}', "name: Invalid input: expected string, received number"],
  ])("(%s) is taken back, and the model is asked again", async (_, text, reason) => {
    const { thread, model, response } = agent([text, JSON_TEXT]);
    const { events, messages } = await thread.send("go");
    const state = await thread.read();
    expect(script(state)).toEqual(["human: go", `ai: ${JSON_TEXT}`]);
    expect(shown(messages)).toEqual(shown(state.slice(1)));
    expect(await response()).toEqual(OSLO);
    expect(events).toMatchObject([
      { type: "structured-response-refused", reason: expect.stringContaining(reason) },
      { type: "run-end" },
    ]);
    const [, wrong, told] = model.requests[1]?.messages ?? [];
    expect(wrong?.text).toBe(text);
    expect(told?.text).toContain(reason);
    expect(told?.text).toContain('"people"');
  });

  it("is the last message in the end, and there is no structured response", async () => {
    const { thread, response } = agent(["One.", "Two."], { maxConsecutiveErrors: 2 });
    const { events } = await thread.send("go");
    expect(script(await thread.read())).toEqual(["human: go", "ai: Two."]);
    expect(events.slice(-2)).toMatchObject([
      { type: "structured-response-missing", reason: "not-in-format" },
      { type: "run-end" },
    ]);
    expect(await response()).toBeUndefined();
  });

  it("counts as a model call of the turn", async () => {
    const { thread, model, response } = agent(["One.", calls(["fast"]), JSON_TEXT], { maxIterations: 2 });
    const { events } = await thread.send("go");
    expect(typesOf(events)).toEqual(["structured-response-refused", "limit-reached", "run-end"]);
    expect(model.requests.at(-1)?.toolChoice).toBe("none");
    expect(await response()).toEqual(OSLO);
  });

  it("at a limit ends the turn", async () => {
    const { thread, response } = agent([calls(["fast"]), "Sorry."], { maxIterations: 1 });
    const { events } = await thread.send("go");
    expect(events.slice(1)).toMatchObject([
      { type: "structured-response-refused" },
      { type: "structured-response-missing", reason: "limit-reached" },
      { type: "run-end" },
    ]);
    expect(await response()).toBeUndefined();
  });

  it("of a middleware that ends the run is not asked for again", async () => {
    const stop = chatMiddleware(async () => {
      throw new MiddlewareTermination("Not today.");
    });
    const { thread } = agent([], { middleware: [stop] });
    const { events } = await thread.send("go");
    expect(script(await thread.read())).toEqual(["human: go", "ai: Not today."]);
    expect(events).toContainEqual({ type: "structured-response-missing", reason: "ended" });
  });
});
