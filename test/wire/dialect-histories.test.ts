/**
 * Histories that happened to somebody, from `broken-histories.md`: each is refused as it is, with the words of the
 * report, and accepted as the model input of its dialect. Then threads that change their provider.
 */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toModelInput } from "../../src/providers/to-model-input.js";
import { validateHistory } from "../../src/providers/validate-history.js";
import {
  ANSWER,
  type ProviderName,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { titled } from "../support/titled.js";
import { clientOf, PROVIDERS } from "./clients.js";

let strict: StrictProvider;
beforeAll(async () => {
  strict = await startStrictProvider();
});
afterAll(() => strict.stop());

const user = (text = "go on") => new HumanMessage(text);
const result = (id: string, content = "ok") => new ToolMessage({ content, tool_call_id: id, name: "read" });
const calls = (...ids: readonly string[]) => callsOf({ ids });

function callsOf({ ids, name = "read", args = {}, ...fields }: CallFields): AIMessage {
  const tool_calls = ids.map((id) => ({ id, name, args, type: "tool_call" as const }));
  return new AIMessage({ content: "", ...fields, tool_calls });
}

interface CallFields {
  readonly ids: readonly string[];
  readonly name?: string;
  readonly args?: Record<string, unknown>;
  readonly content?: AIMessage["content"];
  readonly additional_kwargs?: Record<string, unknown>;
  readonly response_metadata?: Record<string, unknown>;
}

async function ask(provider: ProviderName, messages: BaseMessage[]): Promise<string> {
  const client = await clientOf(provider, strict);
  return (await client.invoke(messages)).text;
}

interface Case {
  readonly title: string;
  readonly provider: ProviderName;
  readonly history: BaseMessage[];
  /** What of the provider's answer the report quotes. */
  readonly refusal: string;
  /** The client throws by itself, or keeps the provider's words to itself. */
  readonly clientSays?: string;
}

const long = `call_${"a".repeat(40)}|fc_${"b".repeat(30)}`;
const invalid = new AIMessage({
  content: "",
  invalid_tool_calls: [{ id: "c1", name: "write", args: '{"contents": "', type: "invalid_tool_call" }],
});

const CASES: readonly Case[] = [
  {
    title: "a run cancelled within a tool",
    provider: "anthropic",
    history: [user(), calls("c1"), user()],
    refusal: "`tool_use` ids were found without `tool_result` blocks immediately after: c1",
  },
  {
    title: "a run cancelled within a tool",
    provider: "deepseek",
    history: [user(), calls("c1"), user()],
    refusal: "must be followed by tool messages",
    clientSays: "(insufficient tool messages following tool_calls message)",
  },
  {
    title: "a run cancelled within a tool, natively",
    provider: "dashscope-native",
    history: [user(), calls("c1"), user()],
    refusal: 'An assistant message with "tool_calls" must be followed by tool messages',
  },
  {
    title: "one of a parallel batch is missing",
    provider: "openai",
    history: [user(), calls("c1", "c2"), result("c1"), user()],
    refusal: "did not have response messages: c2",
  },
  {
    title: "one of a parallel batch is missing",
    provider: "gemini",
    history: [user(), calls("c1", "c2"), result("c1"), user()],
    refusal: "number of function response parts is equal to the number of function call parts",
  },
  {
    title: "the tool ran twice",
    provider: "openai",
    history: [user(), calls("c1"), result("c1"), result("c1"), user()],
    refusal: "Duplicate value for 'tool_call_id' of 'c1', in messages[2] and messages[3].",
  },
  {
    title: "the tool ran twice",
    provider: "anthropic",
    history: [user(), calls("c1"), result("c1"), result("c1"), user()],
    refusal: "Too many `tool_result` blocks found: 2, expected 1",
  },
  {
    title: "a cut between call and results",
    provider: "openai-responses",
    history: [user("summary"), result("c5"), user()],
    refusal: "No tool call found for function call output with call_id c5.",
  },
  {
    title: "a list that begins with a result",
    provider: "openai",
    history: [result("c1"), user()],
    refusal: "must be a response to a preceeding message with 'tool_calls'",
  },
  {
    title: "arguments cut off, which the client leaves out",
    provider: "dashscope",
    history: [user(), invalid, result("c1", "error"), user()],
    refusal: 'messages with role "tool" must be a response to a preceeding message with "tool_calls"',
  },
  {
    title: "ids of Kimi go to Claude",
    provider: "anthropic",
    history: [user(), calls("functions.read:0"), result("functions.read:0"), user()],
    refusal: "String should match pattern '^[a-zA-Z0-9_-]+$'",
  },
  {
    title: "one id twice in a message",
    provider: "mistral",
    history: [user(), calls("abcDEF123", "abcDEF123"), result("abcDEF123"), result("abcDEF123")],
    refusal: "Duplicate tool call id abcDEF123 in assistant message",
  },
  {
    title: "long ids go to OpenAI",
    provider: "openai",
    history: [user(), calls(long), result(long), user()],
    refusal: "string too long. Expected a string with maximum length 40",
  },
  {
    title: "the reasoning of a tool turn is gone",
    provider: "deepseek",
    history: [user(), calls("c1"), result("c1"), user()],
    refusal: "The `reasoning_content` in the thinking mode must be passed back to the API.",
  },
  {
    title: "an item id of another make",
    provider: "openai-responses",
    history: [
      user(),
      callsOf({
        ids: ["c1"],
        additional_kwargs: { __openai_function_call_ids__: { c1: "call_c1" } },
        response_metadata: { model_provider: "anthropic" },
      }),
      result("c1"),
      user(),
    ],
    refusal: "'call_c1'",
    clientSays: "Expected an ID that begins with 'fc'.",
  },
  {
    title: "text behind a call",
    provider: "anthropic",
    history: [
      user(),
      callsOf({
        ids: ["c1"],
        content: [
          { type: "tool_use", id: "c1", name: "read", input: {} },
          { type: "text", text: "done" },
        ],
      }),
      result("c1"),
      user(),
    ],
    refusal: "`tool_use` ids were found without `tool_result` blocks immediately after: c1",
  },
  {
    title: "a steering message within the pair",
    provider: "openai",
    history: [user(), calls("c1"), user("stop"), result("c1"), user()],
    refusal: "did not have response messages: c1",
  },
  {
    title: "a user's message behind a result",
    provider: "mistral",
    history: [user(), calls("abcDEF123"), result("abcDEF123"), user()],
    refusal: "Unexpected role 'user' after role 'tool'",
  },
  {
    title: "the assistant's message is the last",
    provider: "mistral",
    history: [user(), new AIMessage("hm")],
    refusal: "Expected last role User or Tool",
  },
  {
    title: "a name with blanks and dots",
    provider: "openai",
    history: [user(), callsOf({ ids: ["c1"], name: "my tool.v2" }), result("c1"), user()],
    refusal: "function.name': string does not match pattern",
  },
  {
    title: "the calls of two messages in a row",
    provider: "gemini",
    history: [user(), new AIMessage("I look."), calls("c1"), result("c1")],
    refusal: "function call turn comes immediately after a user turn",
  },
  {
    title: "the user's first message is gone",
    provider: "anthropic",
    history: [new AIMessage("hi"), user()],
    refusal: 'first message must use the "user" role',
  },
  {
    title: "an empty text beside a call",
    provider: "anthropic",
    history: [user(), callsOf({ ids: ["c1"], content: [{ type: "text", text: " " }] }), result("c1"), user()],
    refusal: "text content blocks must contain non-whitespace text",
  },
];

describe.each(titled(CASES.map((one) => ({ ...one, title: `${one.provider}: ${one.title}` }))))(
  "%s",
  (_title, { provider, history, refusal, clientSays = refusal }) => {
    it("is refused as it is", async () => {
      const quoted = validateHistory(history, provider).map(({ message }) => message);
      if (clientSays === refusal) expect(quoted.join("\n")).toContain(refusal);
      await expect(streamed(provider, history)).rejects.toThrow(/./);
    });

    it("is accepted as a model input, and loses no text", async () => {
      const input = toModelInput(history, { dialect: provider });
      expect(validateHistory(input, provider)).toEqual([]);
      expect(await ask(provider, input)).toBe(ANSWER);
      const texts = input.map(({ text }) => text).join("\n");
      for (const { text } of history.filter(({ type }) => type === "human")) expect(texts).toContain(text);
    });
  },
);

async function streamed(provider: ProviderName, messages: BaseMessage[]): Promise<string> {
  const client = await clientOf(provider, strict);
  let text = "";
  for await (const chunk of await client.stream(messages)) text += chunk.text;
  return text;
}

/** A turn with a call, as a model of each provider leaves it in the thread. */
const TURNS: Readonly<Record<ProviderName, readonly BaseMessage[]>> = {
  openai: turn("call_0fypS1hVX", { response_metadata: { model_provider: "openai", model_name: "gpt-4o" } }),
  "openai-responses": turn("call_1", {
    response_metadata: {
      model_provider: "openai",
      model_name: "gpt-5-2025-08-07",
      output: [
        { type: "reasoning", id: "rs_1", summary: [] },
        { type: "function_call", id: "fc_1", call_id: "call_1", name: "read", arguments: "{}" },
      ],
    },
    additional_kwargs: {
      reasoning: { type: "reasoning", id: "rs_1", summary: [] },
      __openai_function_call_ids__: { call_1: "fc_1" },
    },
  }),
  dashscope: turn("call_qwen", { response_metadata: { model_provider: "openai", model_name: "qwen-max" } }),
  "dashscope-native": turn("call_tongyi", {
    response_metadata: { model_provider: "alibaba_tongyi", model: "qwen-max" },
    additional_kwargs: {
      tool_calls: [{ id: "call_tongyi", type: "function", function: { name: "read", arguments: "{}" } }],
    },
  }),
  deepseek: turn("call_00_deepseek", {
    response_metadata: { model_provider: "deepseek", model_name: "deepseek-chat" },
    additional_kwargs: { reasoning_content: "I must read." },
  }),
  anthropic: turn("toolu_01A09q90qw90lq917835lq9", {
    content: [
      { type: "thinking", thinking: "hm", signature: "c2lnbmVk" },
      { type: "text", text: "I look." },
      { type: "tool_use", id: "toolu_01A09q90qw90lq917835lq9", name: "read", input: {} },
    ],
    response_metadata: { model_provider: "anthropic", model: "claude-sonnet-4-5-20250929" },
  }),
  gemini: turn("0b8a4a52-5a5d-4f7c-9a35-55b1a2f5ce01", {
    content: [{ type: "functionCall", functionCall: { name: "read", args: {} } }],
    response_metadata: { model_provider: "google-genai" },
    additional_kwargs: {
      __gemini_function_call_thought_signatures__: { "0b8a4a52-5a5d-4f7c-9a35-55b1a2f5ce01": "Z2Vt" },
    },
  }),
  mistral: turn("abcDEF123", { response_metadata: { model_provider: "mistralai" } }),
};

function turn(id: string, fields: Omit<CallFields, "ids">): BaseMessage[] {
  return [user("read it"), callsOf({ ids: [id], ...fields }), result(id), new AIMessage("It says yes.")];
}

describe.each(PROVIDERS)("a thread begun with %s", (first) => {
  it.each(PROVIDERS)("goes on with %s", async (second) => {
    const history = [new SystemMessage("Be brief."), ...TURNS[first], ...TURNS[second], user("And now?")];
    const input = toModelInput(history, { dialect: second });
    expect(validateHistory(input, second)).toEqual([]);
    expect(await streamed(second, input)).toBe(ANSWER);
  });
});

describe("what only its maker can read", () => {
  it("is sent to the model that wrote it", async () => {
    const read = async (provider: ProviderName, modelId: string) => {
      await ask(provider, toModelInput([...TURNS[provider], user()], { dialect: provider, modelId }));
      return JSON.stringify(strict.lastRequest());
    };
    expect(await read("anthropic", "claude-sonnet-4-5")).toContain("c2lnbmVk");
    expect(await read("openai-responses", "gpt-5")).toContain("rs_1");
    expect(await read("gemini", "gemini-3-pro")).toContain("Z2Vt");
    expect(await read("deepseek", "deepseek-chat")).toContain("I must read.");
  });

  it("is not sent to another model of the same provider", async () => {
    const read = async (provider: ProviderName, modelId: string) => {
      await ask(provider, toModelInput([...TURNS[provider], user()], { dialect: provider, modelId }));
      return JSON.stringify(strict.lastRequest());
    };
    expect(await read("anthropic", "claude-opus-4-1")).not.toContain("c2lnbmVk");
    expect(await read("openai-responses", "gpt-5-mini")).not.toContain("rs_1");
  });
});

it("DeepSeek gets the reasoning of every round back, and an empty one where there was none.", async () => {
  const round = (id: string, reasoning: string) => [
    callsOf({
      ids: [id],
      additional_kwargs: { reasoning_content: reasoning },
      response_metadata: { model_provider: "deepseek" },
    }),
    result(id),
  ];
  const history = [
    user(),
    ...round("c1", "one"),
    ...round("c2", "two"),
    ...round("c3", "three"),
    new AIMessage("so"),
    user(),
  ];
  await streamed("deepseek", toModelInput(history, { dialect: "deepseek" }));
  const { messages } = strict.lastRequest() as {
    messages: { role: string; reasoning_content?: string; content: unknown }[];
  };
  const assistant = messages.filter(({ role }) => role === "assistant");
  expect(assistant.map(({ reasoning_content }) => reasoning_content)).toEqual(["one", "two", "three", ""]);
  expect(assistant.map(({ content }) => content)).toEqual(["", "", "", "so"]);
});
