/** Threads that change their provider, with state that only the model that wrote it can read. */

import { AIMessage, type BaseMessage, SystemMessage } from "@langchain/core/messages";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { toModelInput } from "../../src/providers/input/to-model-input.js";
import { validateHistory } from "../../src/providers/validate-history.js";
import {
  ANSWER,
  type ProviderName,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { clientOf, PROVIDERS } from "./clients.js";
import { type CallFields, callsOf, result, userMessage } from "./wire-messages.js";

let strict: StrictProvider;
beforeAll(async () => {
  strict = await startStrictProvider();
});
afterAll(() => strict.stop());

async function streamed(provider: ProviderName, messages: BaseMessage[]): Promise<string> {
  const client = await clientOf(provider, strict);
  let text = "";
  for await (const chunk of await client.stream(messages)) text += chunk.text;
  return text;
}

/** A turn with a tool call, as a model of each provider leaves it in the thread. */
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
  return [
    userMessage("read it"),
    callsOf({ ids: [id], ...fields }),
    result(id),
    new AIMessage("It says yes."),
  ];
}

describe.each(PROVIDERS)("a thread begun with %s", (first) => {
  it.each(PROVIDERS)("goes on with %s", async (second) => {
    const history = [
      new SystemMessage("Be brief."),
      ...TURNS[first],
      ...TURNS[second],
      userMessage("And now?"),
    ];
    const input = toModelInput(history, { dialect: second });
    expect(validateHistory(input, second)).toEqual([]);
    expect(await streamed(second, input)).toBe(ANSWER);
  });
});

describe("state that only its author can read", () => {
  it("is sent to the model that wrote it", async () => {
    const read = async (provider: ProviderName, modelId: string) => {
      await streamed(
        provider,
        toModelInput([...TURNS[provider], userMessage()], { dialect: provider, modelId }),
      );
      return JSON.stringify(strict.lastRequest());
    };
    expect(await read("anthropic", "claude-sonnet-4-5")).toContain("c2lnbmVk");
    expect(await read("openai-responses", "gpt-5")).toContain("rs_1");
    expect(await read("gemini", "gemini-3-pro")).toContain("Z2Vt");
    expect(await read("deepseek", "deepseek-chat")).toContain("I must read.");
  });

  it("is not sent to another model of the same provider", async () => {
    const read = async (provider: ProviderName, modelId: string) => {
      await streamed(
        provider,
        toModelInput([...TURNS[provider], userMessage()], { dialect: provider, modelId }),
      );
      return JSON.stringify(strict.lastRequest());
    };
    expect(await read("anthropic", "claude-opus-4-1")).not.toContain("c2lnbmVk");
    expect(await read("openai-responses", "gpt-5-mini")).not.toContain("rs_1");
  });
});
