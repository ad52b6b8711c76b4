/**
 * Structured responses over HTTP, through the real clients, to providers that reject an invalid history: right and wrong
 * ones, several at once, and some beside other tools.
 */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, providerStrategy, toolStrategy } from "../../src/index.js";
import { createLook } from "../support/chain-script.js";
import { anthropicAt, clientOf, openAIAt, PROVIDERS } from "../support/clients.js";
import { openThread } from "../support/open-thread.js";
import { shown } from "../support/stream-faults.js";
import {
  type ProviderName,
  type Reply,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";
import { inThread, script } from "../support/thread.js";

const City = z.object({ name: z.string(), people: z.number() }).meta({ title: "City" });
const OSLO = { name: "Oslo", people: 700_000 };

let replies: Reply[] = [];
const strict = stopAtEnd(
  await startStrictProvider(() => replies.shift() ?? { text: "The script has ended." }),
);

/** Plays the replies, one for each request, and returns the bodies of the requests. */
async function play(
  model: BaseChatModel,
  turns: readonly (readonly Reply[])[],
  format: Parameters<typeof createAgentGraph>[0]["responseFormat"],
  hasTools = true,
) {
  const { look, looked } = createLook();
  const graph = createAgentGraph({
    model,
    tools: hasTools ? [look] : [],
    checkpointer: new MemorySaver(),
    responseFormat: format,
  });
  const thread = openThread(graph as never);
  const before = strict.requests.length;
  const seen: unknown[] = [];
  const responses: unknown[] = [];
  for (const [index, turn] of turns.entries()) {
    replies = [...turn];
    const known = index === 0 ? 0 : (await thread.read()).length;
    const { messages, error } = await thread.send("go");
    expect(error).toBeUndefined();
    const state = await thread.read();
    expect(shown(messages)).toEqual(shown(state.slice(known + 1)));
    seen.push(script(state.slice(known)));
    const values: object = (await graph.getState(inThread("1"))).values;
    responses.push(Reflect.get(values, "structuredResponse"));
    expect(replies).toEqual([]);
  }
  const requests = strict.requests.slice(before);
  expect(requests.map(({ refusal }) => refusal)).toEqual(requests.map(() => undefined));
  return { seen, responses, looked, bodies: requests.map(({ body }) => body as Record<string, unknown>) };
}

const call = (args: object) => ({ name: "City", args });
const WRONG = expect.stringMatching(/^tool! Error: Failed to parse structured output/);
const SEVERAL = expect.stringMatching(/^tool! Error: The model has called multiple tools: City, City/);
const RIGHT = `tool: Returning structured response: ${JSON.stringify(OSLO)}`;

describe.each(PROVIDERS)("toolStrategy with the client of %s", (provider) => {
  it("gets a structured response after all kinds of wrong ones, and again in the next turn", async () => {
    const first = [
      { calls: [{ name: "look", args: { city: "Rome" } }, call(OSLO)] },
      { calls: [call({ name: 7 })] },
      { calls: [call(OSLO), call(OSLO)] },
      { calls: [call(OSLO)] },
    ];
    const model = await clientOf(provider, strict);
    const { seen, responses, looked } = await play(
      model,
      [first, [{ calls: [call(OSLO)] }]],
      toolStrategy(City),
    );
    expect(seen).toEqual([
      [
        "human: go",
        "ai> look City",
        expect.stringMatching(/^tool: /),
        expect.stringMatching(/^tool! Error: the structured response was not taken/),
        "ai> City",
        WRONG,
        "ai> City City",
        SEVERAL,
        SEVERAL,
        "ai> City",
        RIGHT,
      ],
      ["human: go", "ai> City", RIGHT],
    ]);
    expect(responses).toEqual([OSLO, OSLO]);
    expect(looked).toEqual(["Rome"]);
  });

  it("gets one after a text", async () => {
    const model = await clientOf(provider, strict);
    const turn = [{ text: "It is Oslo." }, { calls: [call(OSLO)] }];
    const { seen, responses } = await play(model, [turn], toolStrategy(City));
    expect([seen, responses]).toEqual([[["human: go", "ai> City", RIGHT]], [OSLO]]);
  });
});

const schema = {
  type: "object",
  title: "City",
  properties: { name: { type: "string" }, people: { type: "number" } },
  required: ["name", "people"],
};
const closed = { ...schema, additionalProperties: false };

const format = { name: "City", schema: closed, strict: true };
const chatFormat = { response_format: { type: "json_schema", json_schema: format } };

/** Where the schema is in the body of a request. */
const SENT: Partial<Record<ProviderName, object>> = {
  openai: chatFormat,
  "openai-responses": { text: { format: { type: "json_schema", ...format } } },
  anthropic: { output_config: { format: { type: "json_schema", schema: closed } } },
  gemini: { generationConfig: { responseMimeType: "application/json", responseSchema: schema } },
  mistral: chatFormat,
};

describe.each(Object.entries(SENT))("providerStrategy with the client of %s", (provider, sent) => {
  it("sends the schema with each request, and takes a text that matches it", async () => {
    const model = await clientOf(provider as ProviderName, strict);
    const hasTools = provider !== "gemini";
    const look = { calls: [{ name: "look", args: { city: "Rome" } }] };
    const turn = [...(hasTools ? [look] : []), { text: "It is Oslo." }, { text: JSON.stringify(OSLO) }];
    const { seen, responses, bodies } = await play(model, [turn], providerStrategy(City), hasTools);
    expect(responses).toEqual([OSLO]);
    expect(seen[0]).toContain(`ai: ${JSON.stringify(OSLO)}`);
    expect(bodies).toHaveLength(turn.length);
    for (const body of bodies) expect(body).toMatchObject(sent);
  });
});

it("A model's own output options are kept", async () => {
  const model = anthropicAt(strict.url("anthropic"), { outputConfig: { effort: "low" } });
  const { bodies } = await play(model, [[{ text: JSON.stringify(OSLO) }]], providerStrategy(City));
  expect(bodies[0]?.["output_config"]).toMatchObject({ effort: "low", format: { type: "json_schema" } });
});

describe("A schema alone", () => {
  const openAI = (model: string) => openAIAt(`${strict.url("openai")}/v1`, { model });
  const named = (profile: object) => {
    const model = openAI("gpt-4o-mini");
    Object.defineProperty(model, "profile", { value: profile });
    // The rules of the provider are not known by the address of this server.
    Object.defineProperty(model, "_llmType", { value: () => "azure_openai" });
    return model;
  };
  const optional = z.object({ name: z.string(), people: z.number().optional() }).meta({ title: "City" });

  it.each([
    ["the provider's way with a model whose profile has it", { structuredOutput: true }, City, "text"],
    ["tool calls with a model whose profile does not have it", { structuredOutput: false }, City, "call"],
    ["tool calls with a model without a profile", {}, City, "call"],
    ["tool calls for a schema that strict mode refuses", { structuredOutput: true }, optional, "call"],
  ] as const)("uses %s", async (_, profile, format, kind) => {
    const turn = kind === "text" ? { text: JSON.stringify(OSLO) } : { calls: [call(OSLO)] };
    const { responses, bodies } = await play(named(profile), [[turn]], format);
    expect(responses).toEqual([OSLO]);
    expect("response_format" in (bodies[0] ?? {})).toBe(kind === "text");
  });

  it("uses tool calls with Gemini if the graph has tools, because Gemini refuses both together", async () => {
    const model = await clientOf("gemini", strict);
    expect(model.profile).toMatchObject({ structuredOutput: true });
    const withTools = await play(model, [[{ calls: [call(OSLO)] }]], City);
    const without = await play(model, [[{ text: JSON.stringify(OSLO) }]], City, false);
    expect([...withTools.responses, ...without.responses]).toEqual([OSLO, OSLO]);
    expect(without.bodies[0]).toMatchObject({ generationConfig: { responseMimeType: "application/json" } });
  });
});

it("A model that thinks is not forced to call a tool, because its provider refuses that", async () => {
  const model = anthropicAt(strict.url("anthropic"), {
    maxTokens: 2048,
    thinking: { type: "enabled", budget_tokens: 1024 },
  });
  const turn = [{ text: "It is Oslo." }, { calls: [call(OSLO)] }];
  const { bodies, responses } = await play(model, [turn], toolStrategy(City));
  expect(bodies.map((body) => body["tool_choice"])).toEqual([undefined, undefined]);
  expect(responses).toEqual([OSLO]);
});

it("tells the model of a text that is not JSON also where the client cannot parse it", async () => {
  const text = "It is Oslo.";
  replies = [{ text }, { text }, { text: JSON.stringify(OSLO) }];
  const model = await clientOf("openai", strict);
  const graph = createAgentGraph({ model, responseFormat: providerStrategy(City) });
  const before = strict.requests.length;
  const { structuredResponse } = await graph.invoke({ messages: "go" });
  expect(structuredResponse).toEqual(OSLO);
  expect(replies).toEqual([]);
  const bodies = strict.requests.slice(before).map(({ body }) => JSON.stringify(body));
  expect(bodies).toHaveLength(3);
  expect(bodies[1]).toContain('"stream":true');
  expect(bodies[2]).toContain("the text is not valid JSON");
});
