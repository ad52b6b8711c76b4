/**
 * Streams that break in each protocol, through the real clients and the graph: the answer is asked for again without
 * streaming, no call of a broken answer is run, and the client has the final text and no other.
 */

import type { AIMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createAgentGraph, ModelError } from "../../src/index.js";
import { answerTo, CALL_TEXT, chainWish, createLook, playChain, readPlace } from "../support/chain-script.js";
import { openThread } from "../support/open-thread.js";
import { shown } from "../support/stream-faults.js";
import type { Reply } from "../support/strict-provider/reply.js";
import {
  type ProviderName,
  type StrictProvider,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import {
  atLimit,
  type Break,
  beforeFinish,
  inArguments,
  inEvent,
  malformedCall,
  mistralAtLimit,
  wholeAtLimit,
  withoutReason,
} from "../support/strict-provider/stream-cuts.js";
import { clientOf } from "./clients.js";

const IN_PIECES = {
  "before the finish reason": beforeFinish,
  "in the middle of the arguments": inArguments,
  "within an event": inEvent,
  "at the token limit, in a call": atLimit,
} as const satisfies Record<string, Break>;

/** How the calls of each protocol's streams break. */
const CALL_BREAKS: Readonly<Partial<Record<ProviderName, Readonly<Record<string, Break>>>>> = {
  anthropic: IN_PIECES,
  "openai-responses": IN_PIECES,
  deepseek: IN_PIECES,
  "dashscope-native": IN_PIECES,
  dashscope: IN_PIECES,
  mistral: {
    "before the finish reason": beforeFinish,
    "without a finish reason": withoutReason,
    "within an event": inEvent,
    "at the token limit, in a call": mistralAtLimit,
    "at the token limit, behind a call": wholeAtLimit,
  },
  gemini: {
    "before the finish reason": beforeFinish,
    "without a finish reason": withoutReason,
    "within an event": inEvent,
    "at the token limit, behind a call": wholeAtLimit,
    "with a malformed call": malformedCall,
  },
};

const ROWS = Object.entries(CALL_BREAKS).flatMap(([provider, breaks]) =>
  Object.entries(breaks ?? {}).flatMap(([title, broken]) =>
    (["call", "answer"] as const)
      .filter((at) => at === "call" || broken === beforeFinish || broken === inEvent)
      .map((at) => ({ provider: provider as ProviderName, title, broken, at })),
  ),
);

let strict: StrictProvider;
let fault: { readonly at: "call" | "answer"; readonly broken: Break } | undefined;
/** Of the answers that come without streaming; undefined: they are whole. */
let unstreamed: Reply | undefined;
let served = 0;
beforeAll(async () => {
  strict = await startStrictProvider(({ messages, streams }) => {
    const at = readPlace(messages).cities === undefined ? "answer" : "call";
    if (!streams && unstreamed !== undefined) return unstreamed;
    const isFaulty = streams && fault?.at === at;
    return { ...playChain(messages), ...(isFaulty && { broken: fault?.broken }) } as Reply;
  });
});
beforeEach(() => {
  served = strict.requests.length;
  unstreamed = undefined;
});
afterAll(() => strict.stop());

async function createThread(provider: ProviderName) {
  const { look, looked } = createLook();
  const model = await clientOf(provider, strict);
  const graph = createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver() });
  return { ...openThread(graph), looked };
}

const streams = () => strict.requests.slice(served).map(({ streams }) => streams);

describe.each(ROWS)("$provider: $at breaks $title", ({ provider, at, broken }) => {
  it("is asked for again, and the response is whole", async () => {
    fault = { at, broken };
    const thread = await createThread(provider);
    const { messages, events, error } = await thread.send(chainWish([["Oslo", "Rome"]]));
    expect(error).toBeUndefined();
    const state = await thread.read();
    expect(state.at(-1)?.text).toBe(answerTo([["Oslo", "Rome"]]));
    expect(state.map(({ text }) => text)).toContain(CALL_TEXT);
    expect(shown(messages)).toEqual(shown(state));
    expect(thread.looked.sort()).toEqual(["Oslo", "Rome"]);
    expect(events.map(({ type }) => type)).toEqual(["answer-broken", "run-end"]);
    expect(streams()).toEqual(at === "call" ? [true, false, true] : [true, true, false]);
  });
});

describe.each(Object.keys(CALL_BREAKS) as ProviderName[])("%s: what never comes whole", (provider) => {
  it("is taken back from the client in the end, and leaves the history as it was", async () => {
    fault = { at: "answer", broken: beforeFinish };
    unstreamed = { text: "" };
    const thread = await createThread(provider);
    const { messages, parts, error, events } = await thread.send(chainWish([]));
    expect(error).toBeInstanceOf(ModelError);
    expect(parts.some((part) => part.type === "ai" && (part as AIMessage).text !== "")).toBe(true);
    expect(messages.filter(({ type }) => type !== "human")).toEqual([]);
    expect(events.map(({ type }) => type)).toEqual(Array(4).fill("answer-broken"));
    expect(streams()).toEqual([true, false, false, false]);
    expect((await thread.read()).map(({ type }) => type)).toEqual(["human"]);
  });
});

describe("Gemini", () => {
  it("is asked again after a malformed call, even without streaming", async () => {
    fault = { at: "call", broken: malformedCall };
    unstreamed = { body: { candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL", index: 0 }] } };
    const thread = await createThread("gemini");
    const { error, events } = await thread.send(chainWish([["Oslo"]]));
    expect(error).toBeInstanceOf(ModelError);
    expect(events.map((event) => "reason" in event && event.reason)).toEqual([
      "no-finish-reason",
      ...Array(3).fill("empty"),
    ]);
    expect(thread.looked).toEqual([]);
  });

  it("has its own error for a prompt that it blocks, and is not asked again", async () => {
    fault = { at: "answer", broken: () => [] };
    unstreamed = { body: { promptFeedback: { blockReason: "SAFETY" } } };
    const { error } = await (await createThread("gemini")).send(chainWish([]));
    expect(String(error)).toContain("SAFETY");
    expect(streams()).toEqual([true, false]);
  });

  it("is asked again if its stream ends within the first event", async () => {
    fault = { at: "answer", broken: ([first = ""]) => [first.slice(0, 30)] };
    const thread = await createThread("gemini");
    const { error } = await thread.send(chainWish([]));
    expect(error).toBeUndefined();
    expect((await thread.read()).at(-1)?.text).toBe(answerTo([]));
  });
});
