/**
 * Broken histories from real bug reports. Each is rejected unchanged, and accepted as the model input of its dialect.
 */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { validateHistory } from "../../src/providers/dialects/validate-history.js";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import {
  ANSWER,
  type ProviderName,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { titled } from "../support/titled.js";
import { clientOf } from "./clients.js";
import { calls, callsOf, result, user } from "./wire-messages.js";

let strict: StrictProvider;
beforeAll(async () => {
  strict = await startStrictProvider();
});
afterAll(() => strict.stop());

interface Case {
  readonly title: string;
  readonly provider: ProviderName;
  readonly history: BaseMessage[];
  /** The part of the provider's error that the report quotes. */
  readonly refusal: string;
  /** Set if the client throws its own error, or hides the provider's text. */
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
    title: "a run cancelled within a tool, native protocol",
    provider: "dashscope-native",
    history: [user(), calls("c1"), user()],
    refusal: 'An assistant message with "tool_calls" must be followed by tool messages',
  },
  {
    title: "one result of a parallel batch is missing",
    provider: "openai",
    history: [user(), calls("c1", "c2"), result("c1"), user()],
    refusal: "did not have response messages: c2",
  },
  {
    title: "one result of a parallel batch is missing",
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
    title: "Kimi's ids are sent to Claude",
    provider: "anthropic",
    history: [user(), calls("functions.read:0"), result("functions.read:0"), user()],
    refusal: "String should match pattern '^[a-zA-Z0-9_-]+$'",
  },
  {
    title: "a message with the same id twice",
    provider: "mistral",
    history: [user(), calls("abcDEF123", "abcDEF123"), result("abcDEF123"), result("abcDEF123")],
    refusal: "Duplicate tool call id abcDEF123 in assistant message",
  },
  {
    title: "long ids are sent to OpenAI",
    provider: "openai",
    history: [user(), calls(long), result(long), user()],
    refusal: "string too long. Expected a string with maximum length 40",
  },
  {
    title: "the reasoning of a tool turn is missing",
    provider: "deepseek",
    history: [user(), calls("c1"), result("c1"), user()],
    refusal: "The `reasoning_content` in the thinking mode must be passed back to the API.",
  },
  {
    title: "the item id of another provider",
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
    title: "text after a call",
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
    title: "a user message after a result",
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
    title: "a name with spaces and dots",
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
    title: "the user's first message is missing",
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
    it("is rejected unchanged", async () => {
      const quoted = validateHistory(history, provider).map(({ message }) => message);
      if (clientSays === refusal) expect(quoted.join("\n")).toContain(refusal);
      await expect(streamed(provider, history)).rejects.toThrow(/./);
    });

    it("is accepted as a model input, and loses no text", async () => {
      const input = toModelInput(history, { dialect: provider });
      expect(validateHistory(input, provider)).toEqual([]);
      expect(await streamed(provider, input)).toBe(ANSWER);
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
