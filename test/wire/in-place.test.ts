/** What each provider takes is sent as it is stored, and what it refuses is not: through the real clients. */

import { ChatAnthropic } from "@langchain/anthropic";
import type { ChatBedrockConverse } from "@langchain/aws";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { ChatXAI } from "@langchain/xai";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { createAgentGraph, toModelInput, validateHistory } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { identityOf } from "../support/internals.js";
import { leadRequests, stopAtEnd } from "../support/test-tools.js";
import { call, calls, PICTURE, result, says, system, user } from "../support/wire-messages.js";
import { CLIENTS } from "./unchanged/clients.js";
import { startRecorder } from "./unchanged/start-recorder.js";

const recorder = stopAtEnd(await startRecorder());
leadRequests(recorder.fetch);

const fields = { apiKey: "test-key", maxRetries: 0 };
const claude = (model: string) => new ChatAnthropic({ ...fields, model });
const openai = () => new ChatOpenAI({ ...fields, model: "gpt-5" });
const atHost = (baseURL: string, model: string) =>
  new ChatOpenAI({ ...fields, model, configuration: { baseURL, fetch: recorder.fetch } });
const minimax = () => atHost("https://api.minimax.io/v1", "MiniMax-M2");
const kimi = () => atHost("https://api.moonshot.ai/v1", "kimi-k2.5");
const bedrock = () =>
  CLIENTS.find(({ name }) => name === "ChatBedrockConverse")?.create(recorder) as ChatBedrockConverse;

/** What a client has sent, as JSON. */
type Body = ReturnType<typeof JSON.parse>;

/** The first request, which is sound by our own check too. */
async function sentBy(
  model: BaseChatModel,
  messages: readonly BaseMessage[],
  more: object = {},
): Promise<Body> {
  const { requests, error } = await recorder.record(() =>
    createAgentGraph({ model, promptCache: "off", ...more }).invoke({ messages: [...messages] }),
  );
  const [request] = requests;
  if (request === undefined) throw error;
  const body: Body = request.body;
  const { dialect } = identityOf(model);
  expect(validateHistory(toModelInput(messages, { model }), dialect)).toEqual([]);
  return body;
}

const rolesOf = ({ messages }: Body): string => messages.map(({ role }: Body) => role).join(" ");

describe("A system message in mid-thread", () => {
  const thread = () => [user("Hello."), says("Hi."), user("How is it?"), system("Be brief.")];

  it.each([
    "claude-opus-4-8",
    "claude-opus-4-8-20260528",
    "claude-opus-5",
    "claude-opus-5-5",
    "claude-sonnet-5",
    "claude-haiku-5-5-20261001",
    "claude-fable-5",
  ])("stays in its place for %s, behind the user.", async (model) => {
    const body = await sentBy(claude(model), thread());
    expect(rolesOf(body)).toBe("user assistant user system");
  });

  it.each(["claude-sonnet-4-5", "claude-opus-4-5-20251101", "claude-opus-4-20250514"])(
    "goes to the front for %s.",
    async (model) => {
      const body = await sentBy(claude(model), thread());
      expect(rolesOf(body)).toBe("user assistant user");
      expect(JSON.stringify(body["system"])).toContain("Be brief.");
    },
  );

  it("goes to the front for a new Claude too if it stands behind a response.", async () => {
    const messages = [user("Hello."), says("Hi."), system("Be brief."), user("How is it?")];
    const body = await sentBy(claude("claude-opus-5"), messages);
    expect(rolesOf(body)).toBe("user assistant user");
  });

  const next = new Map([
    ["a result", [calls("toolu_1"), result("toolu_1"), system("Be brief."), says("Hi.")]],
    ["the user", [system("Be brief."), says("Hi.")]],
  ]);
  it.each([...next])(
    "stays in its place for a new Claude between %s and a response.",
    async (_, messages) => {
      const body = await sentBy(claude("claude-opus-5"), [user("Hello."), ...messages, user("And?")]);
      expect(rolesOf(body)).toMatch(/user system assistant user$/);
    },
  );

  it("goes to the front for a new Claude too if the user speaks next.", async () => {
    const messages = [user("Hello."), system("Be brief."), user("How is it?")];
    const body = await sentBy(claude("claude-opus-5"), messages);
    expect(rolesOf(body)).toBe("user user");
    expect(JSON.stringify(body["system"])).toContain("Be brief.");
  });

  it("goes to the front if the response after it has nothing for this provider.", async () => {
    const thought = says([{ type: "reasoning", reasoning: "Hm." }], {
      response_metadata: { model_provider: "openai", model_name: "gpt-5" },
    });
    const messages = [user("Hello."), system("Be brief."), thought, user("And?")];
    expect(rolesOf(await sentBy(claude("claude-opus-5"), messages))).toBe("user user");
  });

  it("is joined with others only where a provider takes one.", async () => {
    const messages = [system("Be kind."), ...thread()];
    expect(rolesOf(await sentBy(minimax(), messages))).toBe("system user assistant user");
    expect(rolesOf(await sentBy(kimi(), messages))).toBe("system user assistant user system");
  });

  it("keeps its place beside the system prompt of an agent of LangChain.", async () => {
    const model = kimi();
    const agent = createAgent({ model, tools: [], systemPrompt: "Help.", middleware: [tetherMiddleware()] });
    const { requests } = await recorder.record(() =>
      agent.invoke({ messages: [system("Be kind."), ...thread()] }),
    );
    expect(rolesOf(requests[0]?.body ?? {})).toBe("system system user assistant user system");
  });
});

describe("Marks for the prompt cache", () => {
  const MARK = { cache_control: { type: "ephemeral" } };
  const marked = (text: string) => [{ type: "text", text, ...MARK }];
  const thread = () => [
    system(marked("s")),
    ...[1, 2, 3, 4].flatMap((turn) => [user(marked(`q${turn}`)), says(`a${turn}`)]),
    user("And?"),
  ];
  const marksIn = (value: unknown) => JSON.stringify(value).split("cache_control").length - 1;

  it("are at most four, the last ones.", async () => {
    const body = await sentBy(claude("claude-sonnet-4-5"), thread());
    expect([marksIn(body), marksIn(body["system"])]).toEqual([4, 0]);
    expect(validateHistory(thread(), "anthropic")).toMatchObject([
      { rule: "cache-marks", message: "A maximum of 4 blocks with cache_control may be provided. Found 5." },
    ]);
  });

  it("count those of the tools.", async () => {
    const look = { name: "look", description: "Looks.", input_schema: { type: "object" }, ...MARK };
    const agent = createAgent({
      model: claude("claude-sonnet-4-5"),
      tools: [look] as never,
      middleware: [tetherMiddleware()],
    });
    const { requests } = await recorder.record(() => agent.invoke({ messages: thread() }));
    expect(marksIn(requests[0]?.body)).toBe(4);
    const body: Body = requests[0]?.body;
    expect(marksIn(body["tools"])).toBe(1);
  });

  it("are not sent to OpenAI, and stay for a gateway.", async () => {
    expect(marksIn(await sentBy(openai(), thread()))).toBe(0);
    const gateway = atHost("https://openrouter.ai/api/v1", "google/some-model");
    expect(marksIn(await sentBy(gateway, thread()))).toBe(5);
  });
});

describe("A picture that Gemini has made", () => {
  const inlineData = { mimeType: "image/png", data: PICTURE };
  const made = { type: "inlineData", inlineData, thoughtSignature: "c2ln" };
  const thread = (model_provider: string, model_name: string) => [
    user("Draw."),
    says([{ type: "text", text: "Here." }, made], { response_metadata: { model_provider, model_name } }),
    user("Now at night."),
  ];
  const gemini = (name: string) => CLIENTS.find((client) => client.name === name)?.create(recorder);

  it.each([
    ["ChatGoogle", { inlineData, thoughtSignature: "c2ln" }],
    // The client keeps no signature of a picture.
    ["ChatGoogleGenerativeAI", { inlineData }],
  ])("goes back to it, with %s.", async (name, part) => {
    const maker = name === "ChatGoogle" ? "google" : "google-genai";
    const body = await sentBy(gemini(name) as BaseChatModel, thread(maker, "gemini-2.5-flash"));
    expect(body["contents"][1].parts).toEqual([{ text: "Here." }, part]);
  });

  it.each([
    ["another Gemini", () => gemini("ChatGoogle")],
    ["OpenAI", openai],
    ["Claude", () => claude("claude-sonnet-4-5")],
  ])("is described to %s.", async (_, create) => {
    const body = JSON.stringify(
      await sentBy(create() as BaseChatModel, thread("google", "gemini-3-pro-image")),
    );
    expect(body).toContain("image/png");
    expect(body).not.toContain(PICTURE);
  });
});

describe("The name of a called tool", () => {
  const thread = () => [
    user("Hello."),
    says("", { tool_calls: [{ ...call("c1"), name: "sky.look" }] }),
    result("c1", "clear", { name: "sky.look" }),
  ];
  const nameIn = (body: Body) => body["messages"][1].tool_calls[0].function.name;

  it("is sent as it is to a host that nobody knows, which has the tool under this name.", async () => {
    expect(nameIn(await sentBy(kimi(), thread()))).toBe("sky.look");
    expect(nameIn(await sentBy(openai(), thread()))).toBe("sky_look");
  });
});

describe("A field of a text block", () => {
  const citation = { type: "text", text: "Blue.", citations: [{ type: "char_location" }], index: 0 };
  const written = (provider: string, model: string, block: object) => [
    user("Hello."),
    says([block], { response_metadata: { model_provider: provider, model_name: model } }),
    user("And?"),
  ];

  it("stays with the provider that wrote it.", async () => {
    const messages = written("anthropic", "claude-sonnet-4-5", citation);
    const own = await sentBy(claude("claude-sonnet-4-5"), messages);
    expect(own["messages"][1].content[0].citations).toHaveLength(1);
    const other = await sentBy(openai(), messages);
    expect(other["messages"][1].content).toEqual([{ type: "text", text: "Blue." }]);
  });

  it("of OpenAI does not reach Anthropic, or a host of another model.", async () => {
    const block = { type: "text", text: "Blue.", annotations: [{ type: "url_citation" }], id: "msg_1" };
    const messages = written("openai", "gpt-5", block);
    for (const model of [claude("claude-sonnet-4-5"), kimi()]) {
      const [, answer] = (await sentBy(model, messages))["messages"];
      expect(JSON.stringify(answer)).not.toMatch(/annotations|msg_1/);
    }
  });
});

describe("Grok", () => {
  const grok = () =>
    new ChatXAI({ ...fields, model: "grok-4", configuration: { fetch: recorder.fetch } } as never);

  it("gets no empty message.", async () => {
    const messages = [user("Hello."), says(""), user(""), calls("c1"), result("c1", "")];
    const body = await sentBy(grok(), messages);
    expect(rolesOf(body)).toBe("user user assistant tool");
    expect(body["messages"].map(({ content }: Body) => content)).toEqual([
      "Hello.",
      "(empty message)",
      "",
      expect.stringMatching(/./),
    ]);
  });
});

describe("A call id that occurs twice", () => {
  it("in two responses stays where nobody has seen a refusal.", async () => {
    const messages = [user("Hello."), calls("c1"), result("c1"), calls("c1"), result("c1")];
    const idsOf = ({ messages: sent }: Body) => sent.flatMap(({ tool_call_id }: Body) => tool_call_id ?? []);
    expect(idsOf(await sentBy(openai(), messages))).toEqual(["c1", "c1"]);
    expect(new Set(idsOf(await sentBy(minimax(), messages))).size).toBe(2);
  });

  it.each([
    ["OpenAI", openai],
    ["an unknown host", () => atHost("http://gpu-7.internal:8000/v1", "m")],
  ])("in one response is replaced for %s, together with its result.", async (_, create) => {
    const messages = [user("Hello."), calls("c1", "c1"), result("c1", "one"), result("c1", "two")];
    const [, head, ...results] = (await sentBy(create(), messages))["messages"];
    const ids = head.tool_calls.map(({ id }: Body) => id);
    expect(new Set(ids).size).toBe(2);
    expect(results.map(({ tool_call_id, content }: Body) => [tool_call_id, content])).toEqual([
      [ids[0], "one"],
      [ids[1], "two"],
    ]);
  });
});

describe("Bedrock", () => {
  it("gets turns as they are, but no user beside results of models that may refuse it.", async () => {
    const messages = [
      says("Hi."),
      says("There."),
      user("A"),
      user("B"),
      calls("c1"),
      result("c1"),
      user("C"),
    ];
    const rolesFor = async (model: string) =>
      rolesOf(await sentBy(Object.assign(bedrock(), { model }), messages));
    const turns = "assistant assistant user user assistant user";
    expect(await rolesFor("meta.llama3-1-70b-instruct-v1:0")).toBe(`${turns} assistant user`);
    expect(await rolesFor("us.anthropic.claude-sonnet-4-5-20250929-v1:0")).toBe(`${turns} user`);
  });

  it("gets the system messages where its API has them, each as it is.", async () => {
    const body = await sentBy(bedrock(), [system("One."), user("A"), says("B"), system("Two."), user("C")]);
    expect(body["system"]).toEqual([{ text: "One." }, { text: "Two." }]);
    expect(rolesOf(body)).toBe("user assistant user");
  });

  it("gets its own reasoning only, with the signature.", async () => {
    const reasoning = { type: "reasoning_content", reasoningText: { text: "Hm.", signature: "c2ln" } };
    const own = { model_provider: "bedrock-converse" };
    const sent = async (response_metadata: object, model: BaseChatModel) => {
      const answer = says([reasoning, { type: "text", text: "Hi." }], { response_metadata });
      return JSON.stringify(await sentBy(model, [user("A"), answer, user("B")]));
    };
    expect(await sent(own, bedrock())).toContain("c2ln");
    expect(await sent({ ...own, model_name: "amazon.nova-pro" }, bedrock())).not.toContain("c2ln");
    expect(await sent(own, openai())).not.toContain("c2ln");
    expect(await sent(own, claude("claude-sonnet-4-5"))).not.toContain("c2ln");
  });

  it("gets pictures and files by their bytes, and a description of those by address.", async () => {
    const data = "iVBORw0KGgo=";
    const messages = [
      user([
        { type: "image", mimeType: "image/png", data },
        { type: "file", mimeType: "application/pdf", data, metadata: { filename: "a_b.pdf" } },
        { type: "file", mimeType: "application/pdf", url: "https://example.com/c.pdf" },
        { type: "image", url: "https://example.com/d.png" },
        { cachePoint: { type: "default" } },
      ]),
      calls("c1"),
      result("c1", [{ type: "image", mimeType: "image/png", data }, { sky: "clear" }]),
    ];
    const body = await sentBy(bedrock(), messages);
    const kinds = (content: readonly object[]) => content.flatMap((block) => Object.keys(block));
    expect(kinds(body["messages"][0].content)).toEqual(["image", "document", "text", "text", "cachePoint"]);
    expect(body["messages"][0].content[1].document).toMatchObject({ name: "a b pdf", format: "pdf" });
    expect(kinds(body["messages"][2].content[0].toolResult.content)).toEqual(["image", "json"]);
  });
});

describe("`toModelInput`", () => {
  const thread = () => [user("A"), calls("c1"), user("B")];

  it("takes the rules and the name from the model, also from one with bound tools.", () => {
    const model = claude("claude-sonnet-4-5");
    const bound = model.bindTools([{ name: "look", input_schema: { type: "object" } }] as never);
    const wanted = toModelInput(thread(), { dialect: "anthropic", modelId: "claude-sonnet-4-5" });
    const plain = (messages: readonly BaseMessage[]) => messages.map(({ type, content }) => [type, content]);
    for (const given of [model, bound])
      expect(plain(toModelInput(thread(), { model: given }))).toEqual(plain(wanted));
  });

  it("sends everything but unpaired calls as it is stored if it knows no model.", () => {
    const messages = [says("Hi."), user("A"), user("B"), system("Be brief.")];
    expect(toModelInput(messages)).toBe(messages);
    expect(toModelInput(thread()).map(({ type }) => type)).toEqual(["human", "ai", "tool", "human"]);
  });

  it("refuses what is no model.", () => {
    expect(() => toModelInput([], { model: {} })).toThrow(/Expected `model` to be a chat model/);
    expect(() => toModelInput([], { model: "gpt-5" as never })).toThrow(
      /Expected `model` to be a chat model/,
    );
  });
});
