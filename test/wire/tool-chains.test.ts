/**
 * Whole conversations over HTTP: two turns with several rounds of calls, streamed, through the graph and the real
 * clients, to providers that refuse a bad history.
 */

import { ChatAlibabaTongyi } from "@langchain/community/chat_models/alibaba_tongyi";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessageChunk } from "@langchain/core/messages";
import { ChatDeepSeek } from "@langchain/deepseek";
import { MemorySaver } from "@langchain/langgraph";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createAgentGraph, createModel } from "../../src/index.js";
import {
  answerTo,
  CALL_TEXT,
  chainWish,
  createLook,
  lookedIn,
  playChain,
  playThinkingChain,
  type Rounds,
} from "../support/chain-script.js";
import { openThread } from "../support/open-thread.js";
import { shown } from "../support/stream-faults.js";
import {
  type ProviderName,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { clientOf, PROVIDERS } from "./clients.js";

const FIRST: Rounds = [["Oslo", "Rome"], ["Bergen"]];
const SECOND: Rounds = [["Turin"], ["Oslo", "Milan", "Rome"], ["Naples"]];

let strict: StrictProvider;
let served = 0;
beforeAll(async () => {
  strict = await startStrictProvider(({ messages }) => {
    const thinks = strict.requests.at(-1)?.host === "deepseek";
    return thinks ? playThinkingChain(messages) : playChain(messages);
  });
});
beforeEach(() => {
  served = strict.requests.length;
});
afterAll(() => strict.stop());

const deepseekURL = () => `${strict.url("deepseek")}/v1`;
const tongyiURL = () => strict.url("dashscope-native");

interface Row {
  readonly title: string;
  readonly provider: ProviderName;
  readonly model: () => BaseChatModel | Promise<BaseChatModel>;
}

const ROWS: readonly Row[] = [
  {
    title: "`deepseek:` by name",
    provider: "deepseek",
    model: () =>
      createModel("deepseek:deepseek-chat", {
        environment: { DEEPSEEK_API_KEY: "test-key", DEEPSEEK_BASE_URL: deepseekURL() },
      }),
  },
  {
    title: "a user's own `ChatDeepSeek`",
    provider: "deepseek",
    model: () =>
      new ChatDeepSeek({ model: "deepseek-chat", apiKey: "x", configuration: { baseURL: deepseekURL() } }),
  },
  {
    title: "`tongyi:` by name",
    provider: "dashscope-native",
    model: () =>
      createModel("tongyi:qwen-max", {
        environment: { ALIBABA_API_KEY: "test-key", DASHSCOPE_API_URL: tongyiURL() },
      }),
  },
  {
    title: "a user's own `ChatAlibabaTongyi`",
    provider: "dashscope-native",
    model: () => new ChatAlibabaTongyi({ model: "qwen-max", alibabaApiKey: "x", apiUrl: tongyiURL() }),
  },
  ...PROVIDERS.filter((provider) => provider !== "deepseek" && provider !== "dashscope-native").map(
    (provider) => ({
      title: `the client of ${provider}`,
      provider,
      model: () => clientOf(provider, strict),
    }),
  ),
];

describe.each(ROWS)("$title", ({ provider, model }) => {
  it("does two turns of parallel and repeated calls, and is never refused", async () => {
    const { look, looked } = createLook();
    const graph = createAgentGraph({
      model: await model(),
      tools: [look],
      checkpointer: new MemorySaver(),
      maxTokensBeforeSummary: 0,
    });
    const thread = openThread(graph);
    let known = 0;
    for (const rounds of [FIRST, SECOND]) {
      const { messages, events, error } = await thread.send(chainWish(rounds));
      expect(error).toBeUndefined();
      const state = await thread.read();
      const turn = state.slice(known);
      known = state.length;
      expect(turn.at(-1)?.text).toBe(answerTo(rounds));
      expect(shown(messages)).toEqual(shown(turn));
      expect(lookedIn(turn)).toEqual({ calls: rounds.flat(), results: rounds.flat() });
      expect(turn.filter(({ text }) => text === CALL_TEXT)).toHaveLength(rounds.length);
      expect(events).toMatchObject([{ type: "run-end", usedFallback: false }]);
    }
    const requests = strict.requests.slice(served);
    expect(requests.map(({ host, streams, refusal }) => ({ host, streams, refusal }))).toEqual(
      Array(FIRST.length + SECOND.length + 2).fill({ host: provider, streams: true, refusal: undefined }),
    );
    expect(looked.sort()).toEqual([...FIRST, ...SECOND].flat().sort());
  });
});

it("A call's arguments come to the client in pieces, and whole to the tool.", async () => {
  const { look, looked } = createLook();
  const model = new ChatAlibabaTongyi({ model: "qwen-max", alibabaApiKey: "x", apiUrl: tongyiURL() });
  const graph = createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver() });
  const { parts } = await openThread(graph).send(chainWish([["Ouagadougou", "Antananarivo"]]));
  const pieces = parts.flatMap((part) => (part as AIMessageChunk).tool_call_chunks ?? []);
  for (const [index, city] of looked.entries()) {
    const own = pieces.filter((piece) => piece.index === index).map(({ args }) => args);
    expect(own.length).toBeGreaterThan(3);
    expect(own.join("")).toBe(JSON.stringify({ city }));
  }
  expect(looked).toEqual(["Ouagadougou", "Antananarivo"]);
});
