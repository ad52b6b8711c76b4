/** How `responseFormat` can be written, and what is refused. */

import { END, MemorySaver, MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import * as langchain from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import {
  type AgentGraphOptions,
  chatMiddleware,
  createAgentGraph,
  MiddlewareTermination,
  providerStrategy,
  type ResponseFormat,
  toolStrategy,
} from "../../../src/index.js";
import { openThread } from "../../support/open-thread.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, type Step, scripted } from "../../support/scripted-model.js";
import { shown } from "../../support/stream-faults.js";
import { inThread, pairedScript, script, user } from "../../support/thread.js";

const OSLO = { name: "Oslo" };

const JSON_SCHEMA = {
  type: "object",
  title: "City",
  properties: { name: { type: "string" } },
  required: ["name"],
} as const;

const Zod = z.object({ name: z.string() }).meta({ title: "City" });

const TOOL_FORMATS: readonly (readonly [title: string, format: ResponseFormat, name: string])[] = [
  ["a zod schema", Zod, "City"],
  ["a zod schema without a title", z.object({ name: z.string() }), "extract"],
  ["a schema of zod 3", z3.object({ name: z3.string() }), "extract"],
  ["a JSON schema", JSON_SCHEMA, "City"],
  ["a JSON schema with a title that is no name", { ...JSON_SCHEMA, title: "The city!" }, "The_city_"],
  ["a function definition", { name: "City", description: "A city.", parameters: { ...JSON_SCHEMA } }, "City"],
  ["a list of schemas", [Zod, { ...JSON_SCHEMA, title: "Town" }], "Town"],
  [
    "a list of schemas without titles",
    [z.object({ a: z.string() }), z.object({ name: z.string() })],
    "extract_2",
  ],
  ["toolStrategy(zod)", toolStrategy(Zod), "City"],
  [
    "toolStrategy([…])",
    toolStrategy([Zod, JSON_SCHEMA].map((one, n) => (n === 0 ? z.object({ a: z.string() }) : one))),
    "City",
  ],
  ["LangChain's toolStrategy(zod)", langchain.toolStrategy(Zod), "City"],
  [
    "LangChain's toolStrategy(JSON schema)",
    langchain.toolStrategy({ ...JSON_SCHEMA } as never) as never,
    "City",
  ],
];

describe.each(TOOL_FORMATS)("%s", (_, responseFormat, name) => {
  it("takes a right response, and says what is wrong with another", async () => {
    const model = scripted(calls([name, { name: 7 }]), calls([name, OSLO]));
    const graph = createAgentGraph({ model, responseFormat });
    const result = await graph.invoke(user("go"));
    expect((result as { structuredResponse?: unknown }).structuredResponse).toEqual(OSLO);
    expect(pairedScript(result)[2]).toMatch(
      /^tool! Error: Failed to parse structured output for tool .*\n.*name/,
    );
  });
});

it.each<[title: string, format: ResponseFormat]>([
  ["providerStrategy(zod)", providerStrategy(Zod)],
  ["providerStrategy({ schema, strict })", providerStrategy({ schema: Zod, strict: false })],
  ["LangChain's providerStrategy(zod)", langchain.providerStrategy(Zod)],
  ["LangChain's providerStrategy(JSON schema)", langchain.providerStrategy({ ...JSON_SCHEMA } as never)],
])("%s takes a text", async (_, responseFormat) => {
  const graph = createAgentGraph({ model: scripted(JSON.stringify(OSLO)), responseFormat });
  const result = await graph.invoke(user("go"));
  expect((result as { structuredResponse?: unknown }).structuredResponse).toEqual(OSLO);
});

it("LangChain's options of a strategy are kept", async () => {
  const options = { handleError: "Again.", toolMessageContent: "Taken." };
  const responseFormat = langchain.toolStrategy(Zod, options);
  const model = scripted(calls(["City"]), calls(["City", OSLO]));
  const result = await createAgentGraph({ model, responseFormat }).invoke(user("go"));
  expect(pairedScript(result)).toEqual(["human: go", "ai> City", "tool! Again.", "ai> City", "tool: Taken."]);
});

it.each<[title: string, value: unknown]>([
  ["nothing", undefined],
  ["null", null],
])("%s is no format", async (_, value) => {
  const graph = createAgentGraph({ model: scripted("Hi."), responseFormat: value as undefined });
  expect(await graph.invoke(user("go"))).not.toHaveProperty("structuredResponse");
});

it.each<[title: string, value: unknown, message: string]>([
  ["a text", "json", 'got `"json"`'],
  ["an empty list", [], "a list of at least one schema"],
  ["a schema of a list", z.array(z.string()), "a schema of an object"],
  [
    "a schema that has no JSON schema",
    z.object({ at: z.date() }),
    "a schema that can be written as JSON schema",
  ],
  ["a wrong `handleError`", toolStrategy(Zod, { handleError: 3 as never }), "`responseFormat.handleError`"],
  [
    "a wrong `toolMessageContent`",
    toolStrategy(Zod, { toolMessageContent: 3 as never }),
    "`responseFormat.toolMessageContent`",
  ],
])("%s is refused when the graph is built", (_, value, message) => {
  const build = () => createAgentGraph({ model: "offline:", responseFormat: value as ResponseFormat });
  expect(build).toThrow(
    expect.objectContaining({ code: "INVALID_SETTING", message: expect.stringContaining(message) }),
  );
});

it("A format with the name of a tool is refused", () => {
  const { fast } = createProbe();
  const responseFormat = toolStrategy(z.object({}).meta({ title: "fast" }));
  const build = () => createAgentGraph({ model: "offline:", tools: [fast], responseFormat });
  expect(build).toThrow(expect.objectContaining({ code: "INVALID_TOOL", toolName: "fast" }));
});

it("A response that no checkpoint can store is wrong", async () => {
  let deep: unknown = "end";
  for (let level = 0; level < 60; level += 1) deep = { deep };
  const schema = z.object({ a: z.string() }).transform(({ a }) => (a === "deep" ? { deep } : { a }));
  const model = scripted(calls(["extract", { a: "deep" }]), calls(["extract", { a: "b" }]));
  const result = await createAgentGraph({ model, responseFormat: toolStrategy(schema) }).invoke(user("go"));
  expect(result.structuredResponse).toEqual({ a: "b" });
});

it("A schema that throws makes the response wrong", async () => {
  const schema = z.object({ a: z.string() }).transform(({ a }) => {
    if (a === "bad") throw new Error("no such thing");
    return a.length;
  });
  const model = scripted(calls(["extract", { a: "bad" }]), calls(["extract", { a: "good" }]));
  const result = await createAgentGraph({ model, responseFormat: toolStrategy(schema) }).invoke(user("go"));
  expect(pairedScript(result)[2]).toContain("no such thing");
  expect(result.structuredResponse).toBe(4);
});

// A response format that the provider keeps: the response is a text in JSON.

const CityWithPeople = z.object({ name: z.string(), people: z.number().default(0) });
const BIG_OSLO = { name: "Oslo", people: 700_000 };
const JSON_TEXT = JSON.stringify(BIG_OSLO);

function agent(steps: readonly Step[], options: Partial<Omit<AgentGraphOptions, "responseFormat">> = {}) {
  const model = scripted(...steps);
  const { fast } = createProbe();
  const checkpointer = new MemorySaver();
  const responseFormat = providerStrategy(CityWithPeople);
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
    expect([await response(), typesOf(events)]).toEqual([BIG_OSLO, ["run-end"]]);
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
    expect(await response()).toEqual(BIG_OSLO);
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
    expect(await response()).toEqual(BIG_OSLO);
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
    expect(await response()).toEqual(BIG_OSLO);
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

// A response format together with what else a graph can have: a parent graph, summaries, other models, steps of a run.

const City = z.object({ name: z.string() }).meta({ title: "City" });
const RIGHT = `tool: Returning structured response: ${JSON.stringify(OSLO)}`;
const responseFormat = toolStrategy(City);
const right = () => calls(["City", OSLO]);

it("A parent graph gets the structured response if its state has the key.", async () => {
  const agent = createAgentGraph({ model: scripted(right(), right()), responseFormat });
  const parentWith = (fields: object) =>
    new StateGraph(new StateSchema({ messages: MessagesValue, ...fields }))
      .addNode("agent", agent)
      .addEdge(START, "agent")
      .addEdge("agent", END)
      .compile();
  const input = { messages: user("go").messages as never };
  const withKey = await parentWith({ structuredResponse: z.unknown() }).invoke(input);
  expect(Reflect.get(withKey, "structuredResponse")).toEqual(OSLO);
  const without = await parentWith({}).invoke(input);
  expect(Object.keys(without)).toEqual(["messages"]);
  expect(pairedScript(without)).toEqual(["human: go", "ai> City", RIGHT]);
});

it("A run that is continued before the response ends with it.", async () => {
  const { fast } = createProbe();
  const model = scripted(calls(["fast"]), right());
  const checkpointer = new MemorySaver();
  const graph = createAgentGraph({ model, responseFormat, tools: [fast], checkpointer });
  await graph.invoke(user("go"), { ...inThread("1"), interruptAfter: ["tools"] });
  expect((await graph.getState(inThread("1"))).next).toEqual(["model"]);
  const { structuredResponse } = await graph.invoke(null, inThread("1"));
  expect(structuredResponse).toEqual(OSLO);
});

it("The recursion limit leaves room for the structured response.", async () => {
  const { fast } = createProbe();
  const model = scripted(calls(["fast"]), right());
  const graph = createAgentGraph({ model, responseFormat, tools: [fast], checkpointer: new MemorySaver() });
  const { structuredResponse } = await graph.invoke(user("go"), { ...inThread("1"), recursionLimit: 4 });
  expect(structuredResponse).toEqual(OSLO);
});

it("A run without a new message does not ask the model again.", async () => {
  const model = scripted(right());
  const graph = createAgentGraph({ model, responseFormat, checkpointer: new MemorySaver() });
  await graph.invoke(user("go"), inThread("1"));
  const again = await graph.invoke({ messages: [] }, inThread("1"));
  expect(pairedScript(again)).toEqual(["human: go", "ai> City", RIGHT]);
  expect(model.requests).toHaveLength(1);
});
