/**
 * Models of different providers in one turn: the first one fails, the second one goes on. Both are strict, so each
 * request must be valid for the provider that gets it.
 */

import { MemorySaver } from "@langchain/langgraph";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { type AgentGraphOptions, createAgentGraph } from "../../src/index.js";
import { answerTo, chainWish, createLook, playChain, readPlace } from "../support/chain-script.js";
import { clientOf } from "../support/clients.js";
import { openThread } from "../support/open-thread.js";
import { shown } from "../support/stream-faults.js";
import type { Respond } from "../support/strict-provider/reply.js";
import {
  type ProviderName,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import { beforeFinish, withoutReason } from "../support/strict-provider/stream-cuts.js";

/** What the first provider does with the requests of the test. */
let fault: "none" | "cut off" | "withheld" = "none";
/** Which request of the turn fails. */
let at: "call" | "answer" = "call";

const respond: Respond = ({ messages, streams }) => {
  const place = readPlace(messages).cities === undefined ? "answer" : "call";
  if (fault === "none" || place !== at) return playChain(messages);
  if (fault === "withheld") return { text: "The first half, and", finish: "content_filter" };
  const broken = (events: readonly string[]) => withoutReason(beforeFinish(events));
  return streams ? { ...playChain(messages), broken } : { text: "" };
};

let first: StrictProvider;
let second: StrictProvider;
let gone: StrictProvider;
beforeAll(async () => {
  [first, second, gone] = await Promise.all([
    startStrictProvider(respond),
    startStrictProvider(({ messages }) => playChain(messages)),
    startStrictProvider(),
  ]);
  await gone.stop();
});
beforeEach(() => {
  fault = "none";
  at = "call";
  first.failNext();
});
afterAll(() => Promise.all([first.stop(), second.stop()]));

const PAIRS = [
  ["openai", "anthropic"],
  ["anthropic", "openai"],
  ["gemini", "mistral"],
  ["mistral", "deepseek"],
  ["deepseek", "gemini"],
  ["openai-responses", "dashscope-native"],
  ["dashscope-native", "openai-responses"],
] as const satisfies readonly (readonly [ProviderName, ProviderName])[];

interface Opened {
  readonly from: ProviderName;
  readonly to: ProviderName;
  readonly server?: StrictProvider;
  readonly options?: Partial<AgentGraphOptions>;
}

async function open({ from, to, server = first, options }: Opened) {
  const { look, looked } = createLook();
  const graph = createAgentGraph({
    model: await clientOf(from, server),
    fallbackModels: [await clientOf(to, second)],
    tools: [look],
    checkpointer: new MemorySaver(),
    ...options,
  });
  const begun = { first: first.requests.length, second: second.requests.length };
  const asked = () => ({
    first: first.requests.length - begun.first,
    second: second.requests.length - begun.second,
  });
  return { ...openThread(graph), looked, asked };
}

const BUSY = { status: 503 };
const FILTERED = {
  status: 400,
  body: {
    code: "data_inspection_failed",
    message: "The input was filtered.",
    error: { code: "content_filter", message: "The input was filtered." },
  },
};

const ROUNDS = [["Oslo", "Rome"], ["Bern"]];

describe.each(PAIRS)("%s, then %s", (from, to) => {
  /** The turn is whole, the client has what is stored, and each provider accepted what it got. */
  async function expectWhole(thread: Awaited<ReturnType<typeof open>>, wish = ROUNDS) {
    const { messages, events, error } = await thread.send(chainWish(wish));
    expect(error).toBeUndefined();
    const stored = await thread.read();
    expect(stored.at(-1)?.text).toBe(answerTo(wish));
    expect(thread.looked.sort()).toEqual(wish.flat().sort());
    expect(shown(messages)).toEqual(shown(stored));
    expect([...first.requests, ...second.requests].flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
    return { events: events.map(({ type }) => type), all: events };
  }

  it("goes on after a connection that nobody accepts", async () => {
    const thread = await open({ from, to, server: gone });
    const { events, all } = await expectWhole(thread);
    expect(events).toEqual(["model-switched", "run-end"]);
    expect(all[0]).toMatchObject({ reason: expect.stringMatching(/^The model failed: /) });
    expect(thread.asked().second).toBe(3);
  });

  it.each([
    ["a 503", BUSY],
    ["a 429", { status: 429 }],
    ["a refusal of the content", FILTERED],
  ])("goes on after %s, in the middle of a turn, until the turn ends", async (_title, failure) => {
    const thread = await open({ from, to });
    first.failNext(...Array(9).fill(failure));
    const { events } = await expectWhole(thread);
    expect(events).toEqual(["model-switched", "run-end"]);
    // The failed request does not count: it was not read.
    expect(thread.asked()).toEqual({ first: 0, second: 3 });
    first.failNext();
    await thread.send(chainWish([]));
    expect(thread.asked()).toEqual({ first: 1, second: 3 });
  });

  it.each(["call", "answer"] as const)(
    "takes the first piece back if the %s is cut off, and again without streaming",
    async (place) => {
      fault = "cut off";
      at = place;
      const thread = await open({ from, to });
      const { events } = await expectWhole(thread, [["Oslo", "Rome"]]);
      expect(events).toEqual([...Array(4).fill("answer-broken"), "model-switched", "run-end"]);
    },
  );
});

describe("A text that the provider's filter ended", () => {
  it.each([
    ["openai", "anthropic"],
    ["deepseek", "openai"],
  ] as const)("of %s is taken back, and %s is asked", async (from, to) => {
    fault = "withheld";
    at = "answer";
    const thread = await open({ from, to });
    const { messages, events } = await thread.send(chainWish([["Oslo"]]));
    expect(shown(messages)).toEqual(shown(await thread.read()));
    expect((await thread.read()).at(-1)?.text).toBe(answerTo([["Oslo"]]));
    expect(events.map(({ type }) => type)).toEqual(["model-switched", "run-end"]);
    expect(events[0]).toMatchObject({ reason: expect.stringContaining("`content_filter`") });
  });

  it("is kept if no other model is left", async () => {
    fault = "withheld";
    at = "answer";
    const thread = await open({ from: "openai", to: "openai", options: { fallbackModels: [] } });
    await thread.send(chainWish([["Oslo"]]));
    expect((await thread.read()).at(-1)?.text).toBe("The first half, and");
  });
});

it("The next one is asked after two that fail, and the last error reaches the caller", async () => {
  const fallbackModels = [await clientOf("mistral", gone), await clientOf("anthropic", second)];
  const thread = await open({ from: "openai", to: "openai", server: gone, options: { fallbackModels } });
  const { events } = await thread.send(chainWish([["Oslo"]]));
  expect(events).toMatchObject([
    { type: "model-switched", from: "gpt-5", to: "mistral-large-latest" },
    { type: "model-switched", from: "mistral-large-latest", to: "claude-sonnet-4-5" },
    { type: "run-end", usedFallback: false },
  ]);
  second.failNext({ status: 500 });
  const { error } = await thread.send(chainWish([]));
  expect(error).toMatchObject({ code: "MODEL_FAILED", status: 500 });
});
