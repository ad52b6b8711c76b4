/** Bodies of requests as people paste them from a refusal: `explain` says what the provider's rules say. */

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { explain } from "../../src/doctor.js";
import { checkAnthropic } from "../support/strict-provider/check-anthropic.js";
import { checkOpenAI } from "../support/strict-provider/check-chat.js";
import { checkGemini } from "../support/strict-provider/check-gemini.js";
import { checkResponses } from "../support/strict-provider/check-responses.js";
import type { RequestCheck } from "../support/strict-provider/refusal.js";
import { makeFolder, run } from "./command/command-line.js";

/** A list, and the place and the rule of each reason. None: the provider accepts it. */
type Pasted = readonly [title: string, list: readonly unknown[], ...reasons: string[]];

const fn = (id: string, args = "{}", name = "look") => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
const user = (content: unknown = "Hello?") => ({ role: "user", content });
const text = (words: string) => ({ type: "text", text: words });
const asks = (...calls: unknown[]) => ({ role: "assistant", content: null, tool_calls: calls });
const tool = (id: string, content: unknown = "18") => ({ role: "tool", tool_call_id: id, content });

const picture = { type: "image_url", image_url: { url: "https://a.example/b.png" } };

const CHAT: readonly Pasted[] = [
  ["a text", [{ role: "developer", content: "Be brief." }, user()]],
  ["calls with their results", [user(), asks(fn("a"), fn("b")), tool("b"), tool("a"), user()]],
  [
    "images and a result in parts",
    [user([text("What is it?"), picture]), asks(fn("a")), tool("a", [text("A cat")])],
  ],
  ["arguments that are not JSON, with a result", [user(), asks(fn("a", '{"a": ')), tool("a")]],
  ["a call without a result", [user(), asks(fn("a")), user()], "1 missing-result"],
  ["the same with cut arguments", [user(), asks(fn("a", '{"city": "Os')), user()], "1 missing-result"],
  ["one of two results", [user(), asks(fn("a"), fn("b")), tool("a")], "1 missing-result"],
  ["a result without a call", [user(), tool("a")], "1 orphan-result"],
  ["a message between", [asks(fn("a")), user(), tool("a")], "0 missing-result", "2 orphan-result"],
  ["an empty list of calls", [user(), { role: "assistant", content: "Hi", tool_calls: [] }], "1 empty-calls"],
  ["a result that is null", [user(), asks(fn("a")), tool("a", null)], "2 content-form"],
];

const item = (id = "a") => ({ type: "function_call", call_id: id, name: "look", arguments: "{}" });
const output = (id = "a") => ({ type: "function_call_output", call_id: id, output: "18" });
const reasoning = { type: "reasoning", id: "rs_1", summary: [] };

const RESPONSES: readonly Pasted[] = [
  [
    "a result later than the next message",
    [user([{ type: "input_text", text: "Hi" }]), reasoning, { ...item(), id: "fc_1" }, user(), output()],
  ],
  ["a call without a result", [user(), item(), user()], "1 missing-result"],
  ["a result without a call", [user(), output()], "1 orphan-result"],
  ["reasoning alone", [user(), reasoning, user()], "1 reasoning-alone"],
];

const use = (id: string, input: unknown = {}) => ({ type: "tool_use", id, name: "look", input });
const returned = (id: string, content: unknown = "18") => ({ type: "tool_result", tool_use_id: id, content });
const claude = (...content: unknown[]) => ({ role: "assistant", content });
const photo = { type: "image", source: { type: "base64", media_type: "image/png", data: "aaaa" } };
const thinking = { type: "thinking", thinking: "Hm.", signature: "c2lnbmVk" };

const ANTHROPIC: readonly Pasted[] = [
  ["a text", [user()]],
  [
    "calls with their results, a text after them, and an image",
    [
      user([text("What is it?"), photo]),
      claude(thinking, text("I look."), use("a"), use("b")),
      user([returned("b"), returned("a", [text("A cat")]), text("And?")]),
    ],
  ],
  [
    "an error that says nothing",
    [user(), claude(use("a")), user([{ ...returned("a", ""), is_error: true }])],
    "2 blank-result",
  ],
  ["a call without a result", [user(), claude(use("a")), user("And?")], "1 missing-result"],
  ["one of two results", [user(), claude(use("a"), use("b")), user([returned("a")])], "1 missing-result"],
  ["a result without a call", [user([returned("a")])], "0 orphan-result"],
  [
    "a text before the result",
    [user(), claude(use("a")), user([text("Here:"), returned("a")])],
    "1 missing-result",
    "2 orphan-result",
  ],
  [
    "two results of one call",
    [user(), claude(use("a")), user([returned("a"), returned("a")])],
    "2 duplicate-result",
  ],
  ["an id with a dot", [user(), claude(use("a.b")), user([returned("a.b")])], "1 call-id", "2 call-id"],
  ["input that is a text", [user(), claude(use("a", "{}")), user([returned("a")])], "1 arguments"],
  ["a blank text", [user([text("  ")]), claude(use("a")), user([returned("a")])], "0 blank-user"],
];

const model = (...parts: unknown[]) => ({ role: "model", parts });
const asked = (...parts: unknown[]) => ({
  role: "user",
  parts: parts.length === 0 ? [{ text: "Hello?" }] : parts,
});
const call = (name = "look") => ({ functionCall: { name, args: {} } });
const answer = (name = "look") => ({ functionResponse: { name, response: { output: "18" } } });
const inline = { inlineData: { mimeType: "image/png", data: "aaaa" } };

const GEMINI: readonly Pasted[] = [
  ["a text and an image", [asked({ text: "What is it?" }, inline)]],
  [
    "calls with their results",
    [asked(), model({ text: "I look." }, call(), call("read")), asked(answer(), answer("read"))],
  ],
  [
    "the same, each result in its own turn",
    [asked(), model(call(), call("read")), asked(answer()), asked(answer("read"))],
  ],
  ["a call without a result", [asked(), model(call()), asked()], "1 missing-result"],
  ["one of two results", [asked(), model(call(), call()), asked(answer())], "1 missing-result"],
  ["a result without a call", [asked(), model({ text: "Hi." }), asked(answer())], "2 orphan-result"],
  [
    "a late result",
    [asked(), model(call()), asked(), asked(answer())],
    "1 missing-result",
    "3 orphan-result",
  ],
  ["a turn without parts", [asked(), model(), asked()], "1 empty-assistant"],
  ["a call at the beginning", [model(call()), asked(answer())], "0 first-user"],
];

const LONG = "a".repeat(41);
const inChat = (messages: unknown, model = "gpt-5") => ({ model, messages });
const inResponses = (input: unknown) => ({ model: "gpt-5", input });
const inGemini = (contents: unknown) => ({ contents });
const CLAUDE = { model: "claude-opus-4-5", max_tokens: 100, system: "Be brief." };
const inAnthropic = (messages: unknown) => ({ ...CLAUDE, messages });

/** The host of our wire tests checks a request. */
type Form = [string, (list: readonly unknown[]) => object, RequestCheck, readonly Pasted[]];
const FORMS: readonly Form[] = [
  ["openai", inChat, checkOpenAI, CHAT],
  ["openai-responses", inResponses, checkResponses, RESPONSES],
  ["anthropic", inAnthropic, checkAnthropic, ANTHROPIC],
  ["gemini", inGemini, checkGemini, GEMINI],
];

/** The dialect, and the place and the rule of each reason. */
function explained(body: object): string[] {
  const { dialect, reasons } = explain(body);
  return [dialect, ...reasons.map(({ index, rule }) => `${index} ${rule}`)];
}

describe.each(FORMS)("%s", (dialect, bodyOf, check, pasted) => {
  for (const [title, list, ...reasons] of pasted)
    it(title, () => {
      const body = JSON.parse(JSON.stringify(bodyOf(list)));
      expect(explained(body)).toEqual([dialect, ...reasons]);
      const refusal = check(body, new Set(["rs_1", "fc_1"]));
      expect(refusal !== undefined).toBe(reasons.length > 0);
    });

  it("a list without its body is read too, if its form is clear", () => {
    const clear = pasted.filter(([, , ...reasons]) =>
      reasons.some((reason) => reason.endsWith("missing-result")),
    );
    expect(clear.length).toBeGreaterThan(0);
    for (const [, list, ...reasons] of clear) expect(explained(list)).toEqual([dialect, ...reasons]);
  });
});

it("each result of an entry is named in the reason that is about it", () => {
  const list = [user(), claude(use("a")), user([returned("a"), text("And:"), returned("b"), returned("c")])];
  expect(explain(inAnthropic(list)).reasons.map(({ rule, callIds }) => `${rule} ${callIds}`)).toEqual([
    "orphan-result b",
    "orphan-result c",
  ]);
});

const custom = { type: "custom_tool_call", call_id: "a", name: "look", input: "x" };
const customOutput = { type: "custom_tool_call_output", call_id: "a", output: "1" };
const customChat = { id: "a", type: "custom", custom: { name: "look", input: "x" } };
const referred = (id: string) => ({ type: "item_reference", id });
const system = { role: "system", content: "Be brief." };
const said = (fields: object) => ({ role: "assistant", ...fields });
const snake = [asked(), model({ function_call: { name: "look", args: {} } })];
const snakeResult = asked({ function_response: { name: "look", response: {} } });
const nothingSaid = [user(), claude(use("a")), user([returned("a", "")])];
const systemInside = [system, user(), claude(use("a")), user()];
const wrongRole = [user(), claude(use("a")), { role: "tool", content: [returned("a")] }];
const objectArguments = { ...fn("a"), function: { name: "look", arguments: {} } };
const withoutContent = [
  ...[user(), said({ tool_calls: [fn("a")] }), tool("a"), said({ content: null, refusal: "No." })],
  ...[user(), said({ audio: { id: "audio_1" } }), user()],
];
const olderCall = [
  ...[user(), said({ content: null, function_call: { name: "look", arguments: "{}" } })],
  { role: "function", name: "look", content: "18" },
];

/** Bodies with another form than those that the host of our wire tests judges, and what they are explained as. */
it.each<[title: string, body: object, dialect: string, ...reasons: string[]]>([
  ["a result that says nothing and is no error", inAnthropic(nothingSaid), "anthropic"],
  ["a system message in the list", inAnthropic(systemInside), "anthropic", "0 role", "2 missing-result"],
  ["results under the role of chat completions", inAnthropic(wrongRole), "anthropic", "2 role"],
  ["chat completions with a system message", inChat([system, user()], "claude-opus-4-5"), "openai"],
  ["snake case, without a result", inGemini([...snake, asked()]), "gemini", "1 missing-result"],
  ["snake case, with its result", inGemini([...snake, snakeResult]), "gemini"],
  ["a lone custom call", inResponses([user(), custom, user()]), "openai-responses", "1 missing-result"],
  ["a lone custom result", inResponses([user(), customOutput]), "openai-responses", "1 orphan-result"],
  ["a custom call and its result", inResponses([user(), custom, customOutput]), "openai-responses"],
  ["a value that is not an item", inResponses(["Hello?", user()]), "openai-responses", "0 null"],
  ["a text", inResponses("Hello?"), "openai-responses"],
  [
    "arguments that are an object",
    inChat([user(), asks(objectArguments), tool("a")]),
    "openai",
    "1 arguments",
  ],
  [
    "messages without content",
    inChat([{ role: "user" }, said({}), user()]),
    "openai",
    "0 content-form",
    "1 content-form",
  ],
  ["a custom call in chat and its result", inChat([user(), asks(customChat), tool("a")]), "openai"],
  [
    "a lone custom call in chat",
    inChat([user(), asks(customChat, fn("b")), tool("b")]),
    "openai",
    "1 missing-result",
  ],
  [
    "a reference to stored reasoning",
    inResponses([user(), referred("rs_1"), item(), output()]),
    "openai-responses",
  ],
  ["responses that need no content", inChat(withoutContent), "openai"],
  ["a role of LangChain", inChat([{ role: "human", content: "Hello?" }]), "openai", "0 role"],
  ["the older form of a call, with its result", inChat(olderCall), "openai"],
  ["no messages for OpenAI", inChat([]), "openai", "0 empty-history"],
  ["no items for OpenAI", inResponses([]), "openai-responses", "0 empty-history"],
  ["no messages for Anthropic", inAnthropic([]), "anthropic", "0 empty-history"],
  ["no contents for Gemini", inGemini([]), "gemini", "0 empty-history"],
])("reads %s", (_, body, ...reasons) => {
  expect(explained(body)).toEqual(reasons);
});

const tooLong: [string, unknown] = ["call-id", expect.stringContaining("string too long")];
const versioned = { anthropic_version: "2023-06-01", messages: [system, user()] };
const noOutput = "No tool output found for custom tool call a.";

it.each<[title: string, body: object, ...reasons: [rule: string, providerSays: unknown][]]>([
  ["not for an empty id", inChat([user(), asks(fn("")), tool("")]), ["call-id", null], ["call-id", null]],
  ["for an id that is too long", inChat([user(), asks(fn(LONG)), tool(LONG)]), tooLong, tooLong],
  ["not for content that is missing", inChat([{ role: "user" }]), ["content-form", null]],
  ["for a role", versioned, ["role", 'messages: Unexpected role "system".']],
  ["for a custom call", inResponses([custom, user()]), ["missing-result", noOutput]],
  ["not for a lone custom result", inResponses([user(), customOutput]), ["orphan-result", null]],
])("quotes the provider's error %s", (_, body, ...reasons) => {
  expect(explain(body).reasons.map(({ rule, providerSays }) => [rule, providerSays])).toEqual(reasons);
});

it("quotes another dialect, with the place in the body, and says that a call has no id", () => {
  const nulls = inChat([user(), asks(fn("a")), tool("a", null)], "qwen");
  expect(explain(nulls, { dialect: "dashscope" }).reasons).toMatchObject([
    { rule: "content-form", providerSays: "Input error. Field required: input.messages.2.content" },
  ]);
  expect(explain(inChat([user(), tool("")])).text).toContain("Calls: (no id).");
});

describe("the command", () => {
  const ran = async (value: unknown, ...args: string[]) => {
    const folder = makeFolder();
    writeFileSync(join(folder, "body.json"), JSON.stringify(value));
    return run(["explain", "body.json", ...args], { folder });
  };

  it("names the entry of the body, and the provider's words", async () => {
    const named = "gemini refuses these 3 messages:\n\ncontents[1]  pairing/dangling-call";
    const output = expect.stringContaining(named);
    expect(await ran({ contents: GEMINI[3]?.[1] })).toMatchObject({ code: 1, output });
    const dangling = { model: "deepseek-chat", messages: CHAT[4]?.[1] };
    const asked = await ran(dangling, "--dialect", "deepseek", "--no-redact");
    expect(asked.output).toContain("deepseek refuses these 3 messages:");
    expect((await ran(CHAT[1]?.[1])).code).toBe(0);
  });

  it.each([
    [
      { model: "gpt-5", previous_response_id: "resp_1", input: RESPONSES[2]?.[1] },
      "messages that OpenAI has stored",
    ],
    [{ model: "gpt-5", input: [referred("fc_1"), output()] }, "messages that OpenAI has stored"],
    [{ prompt: "Hello" }, "or the body of a request to OpenAI, Anthropic or Gemini"],
  ])("says so if it cannot judge a body: %j", async (body, errors) => {
    expect(await ran(body)).toMatchObject({ code: 2, errors: expect.stringContaining(errors) });
  });
});
