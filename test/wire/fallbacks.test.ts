/**
 * Models of different providers in one turn: the first one fails, the second one goes on. Both are strict, so each
 * request must be valid for the provider that gets it.
 */

import { MemorySaver } from "@langchain/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { type AgentGraphOptions, createAgentGraph } from "../../src/index.js";
import { answerTo, chainWish, createLook, playChain, readPlace } from "../support/chain-script.js";
import { clientOf } from "../support/clients.js";
import { openThread } from "../support/open-thread.js";
import { shown } from "../support/stream-faults.js";
import { type ProviderName, startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { type Break, beforeFinish, withoutReason } from "../support/strict-provider/stream-cuts.js";
import { stopAtEnd } from "../support/test-tools.js";

/** What the first provider does with a request of the test, and with which one of the turn. */
let fault: readonly ["cut off" | "withheld", "call" | "answer"] | undefined;

const broken: Break = { events: (events) => withoutReason.events(beforeFinish.events(events)) };
const first = stopAtEnd(
  await startStrictProvider(({ messages, streams }) => {
    const place = readPlace(messages).cities === undefined ? "answer" : "call";
    if (fault?.[1] !== place) return playChain(messages);
    if (fault[0] === "withheld") return { text: "The first half, and", finish: "content_filter" };
    return streams ? { ...playChain(messages), broken } : { text: "" };
  }),
);
const second = stopAtEnd(await startStrictProvider(({ messages }) => playChain(messages)));
const gone = await startStrictProvider();
await gone.stop();
beforeEach(() => {
  fault = undefined;
  first.failNext();
});

const PAIRS = [
  ["openai", "anthropic"],
  ["anthropic", "openai"],
  ["gemini", "mistral"],
  ["mistral", "deepseek"],
  ["deepseek", "gemini"],
  ["openai-responses", "dashscope-native"],
  ["dashscope-native", "openai-responses"],
] as const satisfies readonly (readonly [ProviderName, ProviderName])[];

async function open(
  from: ProviderName,
  to: ProviderName,
  server = first,
  options: Partial<AgentGraphOptions> = {},
) {
  const { look, looked } = createLook();
  const graph = createAgentGraph({
    model: await clientOf(from, server),
    fallbackModels: [await clientOf(to, second)],
    tools: [look],
    checkpointer: new MemorySaver(),
    ...options,
  });
  const [before, after] = [first.requests.length, second.requests.length];
  /** How many requests each of the two has read. */
  const asked = () => [first.requests.length - before, second.requests.length - after];
  return { ...openThread(graph), looked, asked };
}

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
  async function expectWhole(thread: Awaited<ReturnType<typeof open>>, ...types: string[]) {
    const { messages, events, error } = await thread.send(chainWish(ROUNDS));
    expect(error).toBeUndefined();
    const stored = await thread.read();
    expect(stored.at(-1)?.text).toBe(answerTo(ROUNDS));
    expect(thread.looked.sort()).toEqual(ROUNDS.flat().sort());
    expect(shown(messages)).toEqual(shown(stored));
    expect([...first.requests, ...second.requests].flatMap(({ refusal }) => refusal ?? [])).toEqual([]);
    expect(events.map(({ type }) => type)).toEqual(types);
    return events;
  }

  it("goes on after a connection that nobody accepts", async () => {
    const thread = await open(from, to, gone);
    const [switched] = await expectWhole(thread, "model-switched", "run-end");
    expect(switched).toMatchObject({ reason: expect.stringMatching(/^The model failed: /) });
    expect(thread.asked()[1]).toBe(3);
  });

  it.each([
    ["a 503", { status: 503 }],
    ["a 429", { status: 429 }],
    ["a refusal of the content", FILTERED],
  ])("goes on after %s, in the middle of a turn, until the turn ends", async (_title, failure) => {
    const thread = await open(from, to);
    first.failNext(...Array(9).fill(failure));
    await expectWhole(thread, "model-switched", "run-end");
    // The failed request does not count: it was not read.
    expect(thread.asked()).toEqual([0, 3]);
    first.failNext();
    await thread.send(chainWish([]));
    expect(thread.asked()).toEqual([1, 3]);
  });

  it.each(["call", "answer"] as const)(
    "takes the first piece back if the %s is cut off, and again without streaming",
    async (place) => {
      fault = ["cut off", place];
      await expectWhole(
        await open(from, to),
        ...Array(4).fill("response-broken"),
        "model-switched",
        "run-end",
      );
    },
  );
});

describe("A text that the provider's filter ended", () => {
  it.each([
    ["openai", "anthropic"],
    ["deepseek", "openai"],
  ] as const)("of %s is taken back, and %s is asked", async (from, to) => {
    fault = ["withheld", "answer"];
    const thread = await open(from, to);
    const { messages, events } = await thread.send(chainWish([["Oslo"]]));
    expect(shown(messages)).toEqual(shown(await thread.read()));
    expect((await thread.read()).at(-1)?.text).toBe(answerTo([["Oslo"]]));
    expect(events).toMatchObject([
      { type: "response-withheld", reason: "content_filter" },
      { type: "model-switched", reason: expect.stringContaining("`content_filter`") },
      { type: "run-end" },
    ]);
  });

  it("is kept if no other model is left", async () => {
    fault = ["withheld", "answer"];
    const thread = await open("openai", "openai", first, { fallbackModels: [] });
    await thread.send(chainWish([["Oslo"]]));
    expect((await thread.read()).at(-1)?.text).toBe("The first half, and");
  });
});

it("The next one is asked after two that fail, and the last error reaches the caller", async () => {
  const fallbackModels = [await clientOf("mistral", gone), await clientOf("anthropic", second)];
  const thread = await open("openai", "openai", gone, { fallbackModels });
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
