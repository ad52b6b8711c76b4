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

interface Pasted {
  readonly title: string;
  readonly list: readonly unknown[];
  /** The place and the rule of each reason. Empty: the provider accepts it. */
  readonly reasons: readonly string[];
}

interface Form {
  readonly dialect: string;
  readonly bodyOf: (list: readonly unknown[]) => object;
  readonly check: RequestCheck;
  readonly pasted: readonly Pasted[];
}

const fn = (id: string, args = "{}", name = "look") => ({
  id,
  type: "function",
  function: { name, arguments: args },
});
const user = (content: unknown = "Hello?") => ({ role: "user", content });
const asks = (...calls: unknown[]) => ({ role: "assistant", content: null, tool_calls: calls });
const tool = (id: string, content: unknown = "18") => ({ role: "tool", tool_call_id: id, content });

const CHAT: readonly Pasted[] = [
  { title: "a text", list: [{ role: "developer", content: "Be brief." }, user()], reasons: [] },
  {
    title: "calls with their results",
    list: [user(), asks(fn("a"), fn("b")), tool("b"), tool("a"), user()],
    reasons: [],
  },
  {
    title: "images and a result in parts",
    list: [
      user([
        { type: "text", text: "What is it?" },
        { type: "image_url", image_url: { url: "https://a.example/b.png" } },
      ]),
      asks(fn("a")),
      tool("a", [{ type: "text", text: "A cat" }]),
    ],
    reasons: [],
  },
  {
    title: "arguments that are not JSON, with a result",
    list: [user(), asks(fn("a", '{"a": ')), tool("a")],
    reasons: [],
  },
  { title: "a call without a result", list: [user(), asks(fn("a")), user()], reasons: ["1 missing-result"] },
  {
    title: "the same with arguments that are cut off",
    list: [user(), asks(fn("a", '{"city": "Os')), user()],
    reasons: ["1 missing-result"],
  },
  {
    title: "one of two results",
    list: [user(), asks(fn("a"), fn("b")), tool("a")],
    reasons: ["1 missing-result"],
  },
  { title: "a result without a call", list: [user(), tool("a")], reasons: ["1 orphan-result"] },
  {
    title: "a message between",
    list: [asks(fn("a")), user(), tool("a")],
    reasons: ["0 missing-result", "2 orphan-result"],
  },
  {
    title: "an empty list of calls",
    list: [user(), { role: "assistant", content: "Hi", tool_calls: [] }],
    reasons: ["1 empty-calls"],
  },
  {
    title: "a result that is null",
    list: [user(), asks(fn("a")), tool("a", null)],
    reasons: ["2 content-form"],
  },
];

const RESPONSES: readonly Pasted[] = [
  {
    title: "a result later than the next message",
    list: [
      user([{ type: "input_text", text: "Hi" }]),
      { type: "reasoning", id: "rs_1", summary: [] },
      { type: "function_call", id: "fc_1", call_id: "a", name: "look", arguments: "{}" },
      user(),
      { type: "function_call_output", call_id: "a", output: "18" },
    ],
    reasons: [],
  },
  {
    title: "a call without a result",
    list: [user(), { type: "function_call", call_id: "a", name: "look", arguments: "{}" }, user()],
    reasons: ["1 missing-result"],
  },
  {
    title: "a result without a call",
    list: [user(), { type: "function_call_output", call_id: "a", output: "1" }],
    reasons: ["1 orphan-result"],
  },
  {
    title: "reasoning alone",
    list: [user(), { type: "reasoning", id: "rs_1", summary: [] }, user()],
    reasons: ["1 reasoning-alone"],
  },
];

const use = (id: string, input: unknown = {}) => ({ type: "tool_use", id, name: "look", input });
const returned = (id: string, content: unknown = "18") => ({ type: "tool_result", tool_use_id: id, content });
const text = (words: string) => ({ type: "text", text: words });
const claude = (...content: unknown[]) => ({ role: "assistant", content });

const ANTHROPIC: readonly Pasted[] = [
  { title: "a text", list: [user()], reasons: [] },
  {
    title: "calls with their results, a text after them, and an image",
    list: [
      user([
        text("What is it?"),
        { type: "image", source: { type: "base64", media_type: "image/png", data: "aaaa" } },
      ]),
      claude(
        { type: "thinking", thinking: "Hm.", signature: "c2lnbmVk" },
        text("I look."),
        use("a"),
        use("b"),
      ),
      user([returned("b"), returned("a", [text("A cat")]), text("And?")]),
    ],
    reasons: [],
  },
  {
    title: "an error that says nothing",
    list: [user(), claude(use("a")), user([{ ...returned("a", ""), is_error: true }])],
    reasons: ["2 blank-result"],
  },
  {
    title: "a call without a result",
    list: [user(), claude(use("a")), user("And?")],
    reasons: ["1 missing-result"],
  },
  {
    title: "one of two results",
    list: [user(), claude(use("a"), use("b")), user([returned("a")])],
    reasons: ["1 missing-result"],
  },
  { title: "a result without a call", list: [user([returned("a")])], reasons: ["0 orphan-result"] },
  {
    title: "a text before the result",
    list: [user(), claude(use("a")), user([text("Here:"), returned("a")])],
    reasons: ["1 missing-result", "2 orphan-result"],
  },
  {
    title: "two results of one call",
    list: [user(), claude(use("a")), user([returned("a"), returned("a")])],
    reasons: ["2 duplicate-result"],
  },
  {
    title: "an id with a dot",
    list: [user(), claude(use("a.b")), user([returned("a.b")])],
    reasons: ["1 call-id", "2 call-id"],
  },
  {
    title: "input that is a text",
    list: [user(), claude(use("a", "{}")), user([returned("a")])],
    reasons: ["1 arguments"],
  },
  {
    title: "a blank text",
    list: [user([text("  ")]), claude(use("a")), user([returned("a")])],
    reasons: ["0 blank-user"],
  },
];

const model = (...parts: unknown[]) => ({ role: "model", parts });
const asked = (...parts: unknown[]) => ({
  role: "user",
  parts: parts.length === 0 ? [{ text: "Hello?" }] : parts,
});
const call = (name = "look") => ({ functionCall: { name, args: {} } });
const answer = (name = "look") => ({ functionResponse: { name, response: { output: "18" } } });

const GEMINI: readonly Pasted[] = [
  {
    title: "a text and an image",
    list: [asked({ text: "What is it?" }, { inlineData: { mimeType: "image/png", data: "aaaa" } })],
    reasons: [],
  },
  {
    title: "calls with their results",
    list: [asked(), model({ text: "I look." }, call(), call("read")), asked(answer(), answer("read"))],
    reasons: [],
  },
  {
    title: "the same, each result in its own turn",
    list: [asked(), model(call(), call("read")), asked(answer()), asked(answer("read"))],
    reasons: [],
  },
  {
    title: "a call without a result",
    list: [asked(), model(call()), asked()],
    reasons: ["1 missing-result"],
  },
  {
    title: "one of two results",
    list: [asked(), model(call(), call()), asked(answer())],
    reasons: ["1 missing-result"],
  },
  {
    title: "a result without a call",
    list: [asked(), model({ text: "Hi." }), asked(answer())],
    reasons: ["2 orphan-result"],
  },
  {
    title: "a late result",
    list: [asked(), model(call()), asked(), asked(answer())],
    reasons: ["1 missing-result", "3 orphan-result"],
  },
  {
    title: "a turn without parts",
    list: [asked(), { role: "model", parts: [] }, asked()],
    reasons: ["1 empty-assistant"],
  },
  { title: "a call at the beginning", list: [model(call()), asked(answer())], reasons: ["0 first-user"] },
];

const FORMS: Readonly<Record<string, Form>> = {
  "chat completions of OpenAI": {
    dialect: "openai",
    bodyOf: (messages) => ({ model: "gpt-5", messages }),
    check: checkOpenAI,
    pasted: CHAT,
  },
  "Responses of OpenAI": {
    dialect: "openai-responses",
    bodyOf: (input) => ({ model: "gpt-5", input }),
    check: checkResponses,
    pasted: RESPONSES,
  },
  Anthropic: {
    dialect: "anthropic",
    bodyOf: (messages) => ({ model: "claude-opus-4-5", max_tokens: 100, system: "Be brief.", messages }),
    check: checkAnthropic,
    pasted: ANTHROPIC,
  },
  Gemini: { dialect: "gemini", bodyOf: (contents) => ({ contents }), check: checkGemini, pasted: GEMINI },
};

describe.each(Object.entries(FORMS))("%s", (_, { dialect, bodyOf, check, pasted }) => {
  it.each(pasted)("$title", ({ list, reasons }) => {
    const body = JSON.parse(JSON.stringify(bodyOf(list)));
    const found = explain(body);
    expect([found.dialect, found.reasons.map(({ index, rule }) => `${index} ${rule}`)]).toEqual([
      dialect,
      reasons,
    ]);
    // The host of our wire tests judges the same.
    const refusal = check(body, new Set(["rs_1", "fc_1"]));
    expect(found.refused).toBe(refusal !== undefined);
  });
});

it("Anthropic takes a result that says nothing, if it is no error", () => {
  const list = [user(), claude(use("a")), user([returned("a", "")])];
  expect(explain(FORMS["Anthropic"]?.bodyOf(list) ?? {}).refused).toBe(false);
});

it("a list without its body is read too, if its form is clear", () => {
  for (const { dialect, pasted } of Object.values(FORMS)) {
    const lists = pasted.filter(({ reasons }) => reasons.some((reason) => reason.endsWith("missing-result")));
    expect(lists.length).toBeGreaterThan(0);
    for (const { list, reasons } of lists) {
      const found = explain(list);
      expect([found.dialect, found.reasons.map(({ index, rule }) => `${index} ${rule}`)]).toEqual([
        dialect,
        reasons,
      ]);
    }
  }
});

it("each result of an entry is named in the reason that is about it", () => {
  const list = [user(), claude(use("a")), user([returned("a"), text("And:"), returned("b"), returned("c")])];
  const { reasons } = explain(FORMS["Anthropic"]?.bodyOf(list) ?? {});
  expect(reasons.map(({ rule, callIds }) => `${rule} ${callIds}`)).toEqual([
    "orphan-result b",
    "orphan-result c",
  ]);
});

/** Bodies with another form than those that the host of our wire tests judges. */
const OTHERS: readonly {
  readonly title: string;
  readonly body: object;
  /** The dialect, and the place and the rule of each reason. */
  readonly reasons: readonly string[];
}[] = [
  {
    title: "Anthropic, with a system message in the list",
    body: {
      model: "claude-opus-4-5",
      messages: [{ role: "system", content: "Be brief." }, user(), claude(use("a")), user()],
    },
    reasons: ["anthropic", "0 role", "2 missing-result"],
  },
  {
    title: "Anthropic, with results under the role of chat completions",
    body: {
      model: "claude-opus-4-5",
      messages: [user(), claude(use("a")), { role: "tool", content: [returned("a")] }],
    },
    reasons: ["anthropic", "2 role"],
  },
  {
    title: "chat completions with a system message for Claude",
    body: { model: "claude-opus-4-5", messages: [{ role: "system", content: "Be brief." }, user()] },
    reasons: ["openai"],
  },
  {
    title: "Gemini in snake case, without a result",
    body: { contents: [asked(), model({ function_call: { name: "look", args: {} } }), asked()] },
    reasons: ["gemini", "1 missing-result"],
  },
  {
    title: "Gemini in snake case, with its result",
    body: {
      contents: [
        asked(),
        model({ function_call: { name: "look", args: {} } }),
        asked({ function_response: { name: "look", response: {} } }),
      ],
    },
    reasons: ["gemini"],
  },
  {
    title: "Responses, with a custom call without a result",
    body: {
      model: "gpt-5",
      input: [user(), { type: "custom_tool_call", call_id: "a", name: "look", input: "x" }, user()],
    },
    reasons: ["openai-responses", "1 missing-result"],
  },
  {
    title: "Responses, with a result without a custom call",
    body: { model: "gpt-5", input: [user(), { type: "custom_tool_call_output", call_id: "a", output: "1" }] },
    reasons: ["openai-responses", "1 orphan-result"],
  },
  {
    title: "Responses, with a custom call and its result",
    body: {
      model: "gpt-5",
      input: [
        user(),
        { type: "custom_tool_call", call_id: "a", name: "look", input: "x" },
        { type: "custom_tool_call_output", call_id: "a", output: "1" },
      ],
    },
    reasons: ["openai-responses"],
  },
  {
    title: "arguments that are an object",
    body: {
      model: "gpt-5",
      messages: [
        user(),
        asks({ id: "a", type: "function", function: { name: "look", arguments: {} } }),
        tool("a"),
      ],
    },
    reasons: ["openai", "1 arguments"],
  },
  {
    title: "messages without content",
    body: { model: "gpt-5", messages: [{ role: "user" }, { role: "assistant" }, user()] },
    reasons: ["openai", "0 content-form", "1 content-form"],
  },
  {
    title: "responses that need no content",
    body: {
      model: "gpt-5",
      messages: [
        user(),
        { role: "assistant", tool_calls: [fn("a")] },
        tool("a"),
        { role: "assistant", content: null, refusal: "No." },
        user(),
        { role: "assistant", audio: { id: "audio_1" } },
        user(),
      ],
    },
    reasons: ["openai"],
  },
  {
    title: "a role of LangChain",
    body: { model: "gpt-5", messages: [{ role: "human", content: "Hello?" }] },
    reasons: ["openai", "0 role"],
  },
  {
    title: "the older form of a call, with its result",
    body: {
      model: "gpt-4",
      messages: [
        user(),
        { role: "assistant", content: null, function_call: { name: "look", arguments: "{}" } },
        { role: "function", name: "look", content: "18" },
      ],
    },
    reasons: ["openai"],
  },
  {
    title: "no messages for OpenAI",
    body: { model: "gpt-5", messages: [] },
    reasons: ["openai", "0 empty-history"],
  },
  {
    title: "no items for OpenAI",
    body: { model: "gpt-5", input: [] },
    reasons: ["openai-responses", "0 empty-history"],
  },
  {
    title: "no messages for Anthropic",
    body: { model: "claude-opus-4-5", messages: [] },
    reasons: ["anthropic", "0 empty-history"],
  },
  { title: "no contents for Gemini", body: { contents: [] }, reasons: ["gemini", "0 empty-history"] },
];

it.each(OTHERS)("reads $title", ({ body, reasons }) => {
  const found = explain(body);
  expect([found.dialect, ...found.reasons.map(({ index, rule }) => `${index} ${rule}`)]).toEqual(reasons);
});

it("an error is quoted only if it is the one that the provider gives", () => {
  const wordsFor = (body: object, dialect?: "dashscope") =>
    explain(body, { dialect }).reasons.map(({ rule, providerSays }) => [rule, providerSays]);
  const noId = { model: "gpt-5", messages: [user(), asks(fn("")), tool("")] };
  expect(wordsFor(noId)).toEqual([
    ["call-id", null],
    ["call-id", null],
  ]);
  const long = "a".repeat(41);
  expect(wordsFor({ model: "gpt-5", messages: [user(), asks(fn(long)), tool(long)] })).toEqual([
    ["call-id", expect.stringContaining("string too long")],
    ["call-id", expect.stringContaining("string too long")],
  ]);
  expect(wordsFor({ model: "gpt-5", messages: [{ role: "user" }] })).toEqual([["content-form", null]]);
  const system = { role: "system", content: "Be brief." };
  expect(wordsFor({ anthropic_version: "2023-06-01", messages: [system, user()] })).toEqual([
    ["role", 'messages: Unexpected role "system".'],
  ]);
  const nulls = { model: "qwen", messages: [user(), asks(fn("a")), tool("a", null)] };
  expect(wordsFor(nulls, "dashscope")).toEqual([
    ["content-form", "Input error. Field required: input.messages.2.content"],
  ]);
  expect(
    wordsFor({ model: "gpt-5", input: [{ type: "custom_tool_call", call_id: "a" }, user()] }),
  ).toContainEqual(["missing-result", "No tool output found for custom tool call a."]);
  const orphan = { type: "custom_tool_call_output", call_id: "a", output: "1" };
  expect(wordsFor({ model: "gpt-5", input: [user(), orphan] })).toEqual([["orphan-result", null]]);
  expect(explain({ model: "gpt-5", messages: [user(), tool("")] }).text).toContain("Calls: (no id).");
});

describe("the command", () => {
  const ran = async (value: unknown, ...args: string[]) => {
    const folder = makeFolder();
    writeFileSync(join(folder, "body.json"), JSON.stringify(value));
    return run(["explain", "body.json", ...args], { folder });
  };

  it("names the entry of the body, and the provider's words", async () => {
    const { code, output } = await ran({ contents: GEMINI[3]?.list });
    expect([code, output]).toEqual([
      1,
      expect.stringContaining("gemini refuses these 3 messages:\n\ncontents[1]  pairing/dangling-call"),
    ]);
    const asked = await ran(
      { model: "deepseek-chat", messages: CHAT[4]?.list },
      "--dialect",
      "deepseek",
      "--no-redact",
    );
    expect(asked.output).toContain("deepseek refuses these 3 messages:");
    expect((await ran(CHAT[1]?.list)).code).toBe(0);
  });

  it("says so if it cannot judge a body", async () => {
    const goesOn = await ran({ model: "gpt-5", previous_response_id: "resp_1", input: RESPONSES[2]?.list });
    expect([goesOn.code, goesOn.errors]).toEqual([
      2,
      expect.stringContaining("messages that OpenAI has stored"),
    ]);
    const other = await ran({ prompt: "Hello" });
    expect([other.code, other.errors]).toEqual([
      2,
      expect.stringContaining("or the body of a request to OpenAI, Anthropic or Gemini"),
    ]);
  });
});
