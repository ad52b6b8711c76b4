/** How `responseFormat` can be written, and what is refused. */

import * as langchain from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { z as z3 } from "zod/v3";
import { createAgentGraph, providerStrategy, type ResponseFormat, toolStrategy } from "../../../src/index.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls, scripted } from "../../support/scripted-model.js";
import { pairedScript, user } from "../../support/thread.js";

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
