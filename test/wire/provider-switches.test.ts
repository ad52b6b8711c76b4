/** Threads that change their provider, with state that only the model that wrote it can read. */

import { AIMessage, type BaseMessage, SystemMessage } from "@langchain/core/messages";
import { ChatDeepSeek } from "@langchain/deepseek";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { planRepair } from "../../src/doctor.js";
import { repairHistory } from "../../src/history.js";
import { toModelInput, validateHistory } from "../../src/index.js";
import { COMMON } from "../../src/providers/contract/dialect.js";
import { clientOf, PROVIDERS } from "../support/clients.js";
import { buildForeign, foreignHistories, hasUnknown } from "../support/dialect-arbitraries.js";
import { DIALECTS, threadOfList } from "../support/internals.js";
import {
  type CallFields,
  callsOf,
  REFUSED_HISTORIES,
  result,
  userMessage,
} from "../support/refused-histories.js";
import { acceptedLists } from "../support/scattered-calls.js";
import {
  ANSWER,
  type ProviderName,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { expectWarnings, OLD_PACKAGES, runs, stopAtEnd, titled } from "../support/test-tools.js";

const strict = stopAtEnd(await startStrictProvider());

async function streamed(
  provider: ProviderName,
  messages: BaseMessage[],
  open: typeof clientOf = clientOf,
): Promise<string> {
  const client = await open(provider, strict);
  let text = "";
  for await (const chunk of await client.stream(messages)) text += chunk.text;
  return text;
}

/** The client alone. That of DeepSeek is otherwise a view, which sends the reasoning that it leaves out. */
const plainClientOf: typeof clientOf = async (provider, server) =>
  provider === "deepseek"
    ? new ChatDeepSeek({
        model: "deepseek-chat",
        apiKey: "x",
        maxRetries: 0,
        configuration: { baseURL: `${server.url("deepseek")}/v1` },
      })
    : clientOf(provider, server);

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
  it.each<readonly [ProviderName, modelId: string, state: string, isSent: boolean]>([
    ["anthropic", "claude-sonnet-4-5", "c2lnbmVk", true],
    ["openai-responses", "gpt-5", "rs_1", true],
    ["gemini", "gemini-3-pro", "Z2Vt", true],
    ["deepseek", "deepseek-chat", "I must read.", true],
    ["anthropic", "claude-opus-4-1", "c2lnbmVk", false],
    ["openai-responses", "gpt-5-mini", "rs_1", false],
  ])("of %s, for %s: %s is sent: %s", async (dialect, modelId, state, isSent) => {
    await streamed(dialect, toModelInput([...TURNS[dialect], userMessage()], { dialect, modelId }));
    expect(JSON.stringify(strict.lastRequest()).includes(state)).toBe(isSent);
  });
});

// Broken histories from public reports. Each is refused as it is, in the words that the report quotes, and accepted as
// the model input of its dialect.

describe.each(
  titled(
    REFUSED_HISTORIES.map((one) => ({ ...one, title: `${one.provider}: ${one.title} (${one.report})` })),
  ),
)("%s", (_title, { provider, history, refusal, clientSays = refusal, validatorSays = refusal }) => {
  it("is refused as it is, in the words of the report", async () => {
    const before = strict.requests.length;
    const open = String(clientSays).includes("reasoning_content") ? plainClientOf : clientOf;
    await expect(streamed(provider, history, open)).rejects.toThrow(clientSays);
    const [request, ...others] = strict.requests.slice(before);
    expect(others).toEqual([]);
    expect(strict.statuses.at(-1)).toBe(400);
    expect(wordsOf(request?.refusal)).toContain(refusal);
  });

  it("is found by `validateHistory`, without a request", () => {
    expect(
      validateHistory(history, provider)
        .map(({ message }) => message)
        .join("\n"),
    ).toContain(validatorSays);
  });

  it("is accepted as a model input, and loses no text", async () => {
    const input = toModelInput(history, { dialect: provider });
    expect(validateHistory(input, provider)).toEqual([]);
    expect(await streamed(provider, input)).toBe(ANSWER);
    const texts = input.map(({ text }) => text).join("\n");
    for (const { text } of history.filter(({ type }) => type === "human")) expect(texts).toContain(text);
  });
});

/** The message of a provider's refusal, wherever it has it. */
function wordsOf(refusal: object = {}): unknown {
  return Reflect.get(Object(Reflect.get(refusal, "error") ?? refusal), "message");
}

// Generated histories with every fault, over HTTP through the real clients, to providers that reject an invalid
// history.

const RAW_RUNS = 60;

/** At least this many raw histories must be rejected. Otherwise the check proves nothing. */
const REFUSED_AT_LEAST = 0.6;

/** At least this many lists with calls in every place must be accepted before their repair. */
const ACCEPTED_AT_LEAST = 0.05;

/** Some clients send an unknown role and warn about it. */
const UNKNOWN_ROLE = /^(?:Unknown message role|Unsupported role found .*): critic$/;

expectWarnings(UNKNOWN_ROLE, OLD_PACKAGES);

describe.each(PROVIDERS)("%s", (provider) => {
  it("never rejects a model input of its dialect", async () => {
    await fc.assert(
      fc.asyncProperty(foreignHistories(), async (foreign) => {
        fc.pre(!hasUnknown(foreign));
        const input = toModelInput(buildForeign(foreign), { dialect: provider });
        expect(await streamed(provider, input)).toBe(ANSWER);
      }),
      runs(45),
    );
  });

  it("never rejects a strict model input", async () => {
    await fc.assert(
      fc.asyncProperty(foreignHistories(), async (foreign) => {
        const input = toModelInput(buildForeign(foreign), { dialect: "strict" });
        // Images are excluded. Most hosts accept them, and a host without images is known by its client.
        fc.pre(
          DIALECTS[provider].media !== COMMON.media ||
            input.every(({ content }) => typeof content === "string"),
        );
        expect(await streamed(provider, input)).toBe(ANSWER);
      }),
      runs(20),
    );
  });

  it("never rejects a repaired list that it accepted before, wherever its calls stand", async () => {
    const lists = fc.sample(acceptedLists(provider), { ...runs(80), seed: 7 });
    let accepted = 0;
    for (const list of lists) {
      // Clients throw for blocks of other providers. Such a list is not accepted.
      const before = await streamed(provider, list).catch(() => "");
      if (before !== ANSWER) continue;
      accepted += 1;
      const plan = planRepair(threadOfList(list), { closeOpenCalls: true });
      const stored = plan.kind === "write" ? (plan.after as BaseMessage[]) : list;
      expect(await streamed(provider, stored)).toBe(ANSWER);
      expect(await streamed(provider, repairHistory(list).messages)).toBe(ANSWER);
    }
    expect(accepted / lists.length).toBeGreaterThan(ACCEPTED_AT_LEAST);
  });

  it("often rejects the same histories unchanged", async () => {
    const histories = fc.sample(foreignHistories(), { numRuns: RAW_RUNS, seed: 7 }).map(buildForeign);
    const answers = await Promise.allSettled(histories.map((history) => streamed(provider, history)));
    const refused = answers.filter(({ status }) => status === "rejected").length;
    expect(refused / RAW_RUNS).toBeGreaterThan(REFUSED_AT_LEAST);
  });
});
