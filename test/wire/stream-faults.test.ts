/**
 * Streams that break, in each protocol, through the real clients. The response is requested again without streaming,
 * no tool call of a broken response is run, and the client ends with the final text only.
 */

import type { AIMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { beforeEach, describe, expect, it } from "vitest";
import { createAgentGraph, ModelError } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { answerTo, CALL_TEXT, chainWish, createLook, playChain, readPlace } from "../support/chain-script.js";
import { clientOf } from "../support/clients.js";
import { type AnyAgent, openAgentThread, openThread } from "../support/open-thread.js";
import { shown } from "../support/stream-faults.js";
import {
  type ProviderName,
  type Reply,
  startStrictProvider,
} from "../support/strict-provider/start-strict-provider.js";
import {
  BREAK_ROWS,
  BREAKING,
  type Break,
  beforeFinish,
  malformedCall,
} from "../support/strict-provider/stream-cuts.js";
import { expectWarnings, OLD_PACKAGES, stopAtEnd } from "../support/test-tools.js";
import { messagesOf, user } from "../support/thread.js";

let fault: { readonly at: "call" | "answer"; readonly broken: Break } | undefined;
/** The fault of the responses without streaming. Undefined: they are complete. */
let unstreamed: Reply | undefined;
let served = 0;
const strict = stopAtEnd(
  await startStrictProvider(({ messages, streams }) => {
    const at = readPlace(messages).cities === undefined ? "answer" : "call";
    if (!streams && unstreamed !== undefined) return unstreamed;
    return { ...playChain(messages), ...(streams && fault?.at === at && { broken: fault.broken }) };
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

const requests = () => strict.requests.slice(served);
const streams = () => requests().map(({ streams }) => streams);
const CITIES = [["Oslo", "Rome"]];

it.each(BREAK_ROWS)("$provider: if $at breaks $title, it is asked for again, and whole", async (row) => {
  fault = row;
  const thread = await createThread(row.provider);
  const { messages, events, error } = await thread.send(chainWish(CITIES));
  expect(error).toBeUndefined();
  const state = await thread.read();
  expect(state.at(-1)?.text).toBe(answerTo(CITIES));
  expect(state.map(({ text }) => text)).toContain(CALL_TEXT);
  expect(shown(messages)).toEqual(shown(state));
  expect(thread.looked.sort()).toEqual(["Oslo", "Rome"]);
  expect(events.map(({ type }) => type)).toEqual(["response-broken", "run-end"]);
  expect(streams()).toEqual(row.at === "call" ? [true, false, true] : [true, true, false]);
});

describe("An agent of LangChain with the middleware", () => {
  expectWarnings(OLD_PACKAGES);

  const seen = new Set<string>();
  /** Each provider and each break once; `SLOW_TESTS=1` tries each with each. */
  const rows = BREAK_ROWS.filter(({ provider, title, at }) => {
    const isNew = !seen.has(`${provider} ${at}`) || !seen.has(title);
    seen.add(`${provider} ${at}`).add(title);
    return isNew || process.env["SLOW_TESTS"] === "1";
  });

  it.each(rows)(
    "has a whole response if $at of $provider breaks $title, and calls tools once",
    async (row) => {
      fault = row;
      const { look, looked } = createLook();
      const model = await clientOf(row.provider, strict);
      const checkpointer = new MemorySaver();
      const agent = createAgent({ model, tools: [look], checkpointer, middleware: [tetherMiddleware()] });
      const thread = openAgentThread(agent as unknown as AnyAgent);
      const { messages, error } = await thread.run(user(chainWish(CITIES)));
      expect(error).toBeUndefined();
      const state = messagesOf((await agent.graph.getState(thread.config)).values);
      expect(state.at(-1)?.text).toBe(answerTo(CITIES));
      expect(shown(messages)).toEqual(shown(state));
      expect(looked.toSorted()).toEqual(["Oslo", "Rome"]);
      expect(requests().filter(({ refusal }) => refusal !== undefined)).toEqual([]);
    },
  );
});

it.each(BREAKING)("%s: a response that is never complete is retracted, and not stored", async (provider) => {
  fault = { at: "answer", broken: beforeFinish };
  unstreamed = { text: "" };
  const thread = await createThread(provider);
  const { messages, parts, error, events } = await thread.send(chainWish([]));
  expect(error).toBeInstanceOf(ModelError);
  expect(parts.some((part) => part.type === "ai" && (part as AIMessage).text !== "")).toBe(true);
  expect(messages.filter(({ type }) => type !== "human")).toEqual([]);
  expect(events.map(({ type }) => type)).toEqual(Array(4).fill("response-broken"));
  expect(streams()).toEqual([true, false, false, false]);
  expect((await thread.read()).map(({ type }) => type)).toEqual(["human"]);
});

describe("Gemini", () => {
  it("is asked again after a malformed call, even without streaming", async () => {
    fault = { at: "call", broken: malformedCall };
    unstreamed = { body: { candidates: [{ finishReason: "MALFORMED_FUNCTION_CALL", index: 0 }] } };
    const thread = await createThread("gemini");
    const { error, events } = await thread.send(chainWish([["Oslo"]]));
    expect(error).toBeInstanceOf(ModelError);
    expect(events.map((event) => "reason" in event && event.reason)).toEqual(Array(4).fill("missing-calls"));
    expect(thread.looked).toEqual([]);
  });

  it("gives its own error for a blocked prompt, and is not asked again", async () => {
    fault = {
      at: "answer",
      broken: () => [`data: ${JSON.stringify({ promptFeedback: { blockReason: "SAFETY" } })}\n\n`],
    };
    const { error } = await (await createThread("gemini")).send(chainWish([]));
    expect(String(error)).toContain("withheld (`SAFETY`)");
    expect(streams()).toEqual([true]);
  });

  it("is asked again if its stream ends within the first event", async () => {
    fault = { at: "answer", broken: ([first = ""]) => [first.slice(0, 30)] };
    const thread = await createThread("gemini");
    expect((await thread.send(chainWish([]))).error).toBeUndefined();
    expect((await thread.read()).at(-1)?.text).toBe(answerTo([]));
  });
});
