/** How `responseFormat` can be written, and what is refused. */

import { MessagesValue, StateSchema } from "@langchain/langgraph";
import * as langchain from "langchain";
import { expect, it } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { createAgentGraph, providerStrategy, type ResponseFormat, toolStrategy } from "../../../src/index.js";
import { agentThread } from "../../support/agent-thread.js";
import { nested } from "../../support/foreign-values.js";
import { calls } from "../../support/models.js";
import { parentOf } from "../../support/plain-graph.js";
import { type Step, scripted } from "../../support/scripted-model.js";
import { pairedScript, user } from "../../support/thread.js";
import { createProbe } from "../../support/tools.js";

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
  ["toolStrategy(zod)", toolStrategy(Zod), "City"],
  ["LangChain's toolStrategy(zod)", langchain.toolStrategy(Zod), "City"],
  [
    "LangChain's toolStrategy(JSON schema)",
    langchain.toolStrategy({ ...JSON_SCHEMA } as never) as never,
    "City",
  ],
];

/** Plays a turn in this format, and returns its structured response and its lines. */
async function play(responseFormat: ResponseFormat, ...steps: readonly Step[]) {
  const { invoke, lines } = agentThread(steps, { responseFormat });
  const { structuredResponse } = await invoke();
  return { response: structuredResponse, lines: (await lines()).slice(1) };
}

it.each(TOOL_FORMATS)(
  "%s takes a right response, and says what is wrong with another",
  async (_, format, name) => {
    const { response, lines } = await play(format, calls([name, { name: 7 }]), calls([name, OSLO]));
    expect(response).toEqual(OSLO);
    expect(lines[1]).toMatch(/^tool! Error: Failed to parse structured output for tool .*\n.*name/);
  },
);

it.each<[title: string, format: ResponseFormat]>([
  ["providerStrategy(zod)", providerStrategy(Zod)],
  ["providerStrategy({ schema, strict })", providerStrategy({ schema: Zod, strict: false })],
  ["LangChain's providerStrategy(zod)", langchain.providerStrategy(Zod)],
  ["LangChain's providerStrategy(JSON schema)", langchain.providerStrategy({ ...JSON_SCHEMA } as never)],
])("%s takes a text", async (_, responseFormat) => {
  expect((await play(responseFormat, JSON.stringify(OSLO))).response).toEqual(OSLO);
});

it("LangChain's options of a strategy are kept", async () => {
  const format = langchain.toolStrategy(Zod, { handleError: "Again.", toolMessageContent: "Taken." });
  const { lines } = await play(format, calls(["City"]), calls(["City", OSLO]));
  expect(lines).toEqual(["ai> City", "tool! Again.", "ai> City", "tool: Taken."]);
});

it.each([undefined, null])("%s is no format", async (value) => {
  const { invoke } = agentThread(["Hi."], { responseFormat: value as undefined });
  expect(await invoke()).not.toHaveProperty("structuredResponse");
});

it.each<[title: string, value: unknown, message: string]>([
  ["a text", "json", 'got `"json"`'],
  ["a list of schemas", [Zod, JSON_SCHEMA], "to be one schema"],
  ["toolStrategy([…])", () => toolStrategy([Zod, JSON_SCHEMA] as never), "to be one schema"],
  ["LangChain's toolStrategy([…])", langchain.toolStrategy([Zod, z.object({})]), "to be one schema"],
  ["an empty list", [], "to be one schema"],
  ["a schema of a list", z.array(z.string()), "a schema of an object"],
  [
    "a schema that has no JSON schema",
    z.object({ at: z.date() }),
    "a schema that can be written as JSON schema",
  ],
  [
    "a wrong `handleError`",
    () => toolStrategy(Zod, { handleError: 3 as never }),
    "`responseFormat.handleError`",
  ],
  [
    "a wrong `toolMessageContent`",
    () => toolStrategy(Zod, { toolMessageContent: 3 as never }),
    "`responseFormat.toolMessageContent`",
  ],
])("%s is refused when the graph is built", (_, value, message) => {
  const build = () => {
    const responseFormat = typeof value === "function" ? value() : value;
    return createAgentGraph({ model: "offline:", responseFormat: responseFormat as ResponseFormat });
  };
  const error = { code: "INVALID_SETTING", message: expect.stringContaining(message) };
  expect(build).toThrow(expect.objectContaining(error));
});

it("A format with the name of a tool is refused", () => {
  const { fast } = createProbe();
  const responseFormat = toolStrategy(z.object({}).meta({ title: "fast" }));
  const build = () => createAgentGraph({ model: "offline:", tools: [fast], responseFormat });
  expect(build).toThrow(expect.objectContaining({ code: "INVALID_TOOL", toolName: "fast" }));
});

it("A response that no checkpoint can store is wrong", async () => {
  const schema = z
    .object({ a: z.string() })
    .transform(({ a }) => (a === "deep" ? { deep: nested(60) } : { a }));
  const steps = ["deep", "b"].map((a) => calls(["extract", { a }]));
  expect((await play(toolStrategy(schema), ...steps)).response).toEqual({ a: "b" });
});

it("A schema that throws makes the response wrong", async () => {
  const schema = z.object({ a: z.string() }).transform(({ a }) => {
    if (a === "bad") throw new Error("no such thing");
    return a.length;
  });
  const steps = ["bad", "good"].map((a) => calls(["extract", { a }]));
  const { response, lines } = await play(toolStrategy(schema), ...steps);
  expect(lines[1]).toContain("no such thing");
  expect(response).toBe(4);
});

// A response format together with a parent graph, and with the steps of a run.

const CITY = ["human: go", "ai> City", `tool: Returning structured response: ${JSON.stringify(OSLO)}`];
const responseFormat = toolStrategy(Zod);
const right = () => calls(["City", OSLO]);

it("A parent graph gets the structured response if its state has the key.", async () => {
  const agent = createAgentGraph({ model: scripted(right(), right()), responseFormat });
  const run = (fields: object) =>
    parentOf(agent, {}, new StateSchema({ messages: MessagesValue, ...fields })).invoke(user("go"));
  expect(await run({ structuredResponse: z.unknown() })).toMatchObject({ structuredResponse: OSLO });
  const without = await run({});
  expect(Object.keys(without)).toEqual(["messages"]);
  expect(pairedScript(without)).toEqual(CITY);
});

it("A run that is continued before the response ends with it.", async () => {
  const { invoke, state } = agentThread([calls(["fast"]), right()], { responseFormat });
  await invoke("go", { interruptAfter: ["tools"] });
  expect((await state()).next).toEqual(["model"]);
  expect(await invoke(null)).toMatchObject({ structuredResponse: OSLO });
});

it("The recursion limit leaves room for the structured response.", async () => {
  const { invoke } = agentThread([calls(["fast"]), right()], { responseFormat });
  expect(await invoke("go", { recursionLimit: 4 })).toMatchObject({ structuredResponse: OSLO });
});

it("A run without a new message does not ask the model again.", async () => {
  const { run, model } = agentThread([right()], { responseFormat });
  await run();
  expect(await run({ messages: [] })).toEqual(CITY);
  expect(model.requests).toHaveLength(1);
});
