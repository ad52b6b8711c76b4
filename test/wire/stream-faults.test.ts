/**
 * Streams that break, in each protocol, through the real clients and the graph. The response is requested again
 * without streaming, no tool call of a broken response is run, and the client ends with the final text only.
 */

import type { AIMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { beforeEach, describe, expect, it } from "vitest";
import { createAgentGraph, ModelError } from "../../src/index.js";
import { answerTo, CALL_TEXT, chainWish, createLook, playChain, readPlace } from "../support/chain-script.js";
import { clientOf } from "../support/clients.js";
import { openThread } from "../support/open-thread.js";
import { stopAtEnd } from "../support/stop-at-end.js";
import { shown } from "../support/stream-faults.js";
import type { Reply } from "../support/strict-provider/reply.js";
import { type ProviderName, startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { type Break, beforeFinish, malformedCall } from "../support/strict-provider/stream-cuts.js";
import { BREAK_ROWS, CALL_BREAKS } from "./stream-breaks.js";

let fault: { readonly at: "call" | "answer"; readonly broken: Break } | undefined;
/** The fault of the responses without streaming. Undefined: they are complete. */
let unstreamed: Reply | undefined;
let served = 0;
const strict = stopAtEnd(
  await startStrictProvider(({ messages, streams }) => {
    const at = readPlace(messages).cities === undefined ? "answer" : "call";
    if (!streams && unstreamed !== undefined) return unstreamed;
    const isFaulty = streams && fault?.at === at;
    return { ...playChain(messages), ...(isFaulty && { broken: fault?.broken }) } as Reply;
  }),
);
beforeEach(() => {
  served = strict.requests.length;
  unstreamed = undefined;
});

async function createThread(provider: ProviderName) {
  const { look, looked } = createLook();
  const model = await clientOf(provider, strict);
  const graph = createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver() });
  return { ...openThread(graph), looked };
}

const streams = () => strict.requests.slice(served).map(({ streams }) => streams);

describe.each(BREAK_ROWS)("$provider: $at breaks $title", ({ provider, at, broken }) => {
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

describe.each(Object.keys(CALL_BREAKS) as ProviderName[])(
  "%s: a response that is never complete",
  (provider) => {
    it("is retracted from the client, and the history stays unchanged", async () => {
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
  },
);

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

  it("gives its own error for a blocked prompt, and is not asked again", async () => {
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
