/**
 * Responses that break, in each protocol, through the real clients, streamed or in one piece. The response is requested again
 * without streaming, no tool call of a broken response is run, and the client ends with the final text only.
 */

import type { AIMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { beforeEach, describe, expect, it } from "vitest";
import { createAgentGraph, ModelError } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { answerTo, CALL_TEXT, chainWish, createLook, playChain, readPlace } from "../support/chain-script.js";
import { clientOf } from "../support/clients.js";
import { type AnyAgent, MANNERS, openAgentThread, openThread } from "../support/open-thread.js";
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

/** What breaks the next response at this place. */
let fault: { readonly at: "call" | "answer"; readonly broken: Break } | undefined;
/** What follows a broken response. Undefined: the complete one. */
let again: Reply | undefined;
let served = 0;
const strict = stopAtEnd(
  await startStrictProvider(({ messages }) => {
    const at = readPlace(messages).cities === undefined ? "answer" : "call";
    const broken = fault?.at === at ? fault.broken : undefined;
    if (broken === undefined)
      return fault === undefined ? (again ?? playChain(messages)) : playChain(messages);
    fault = undefined;
    return { ...playChain(messages), broken };
  }),
);
beforeEach(() => {
  served = strict.requests.length;
  again = undefined;
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

const ROWS = MANNERS.flatMap((manner) =>
  BREAK_ROWS.filter(({ broken }) => manner === "listened to" || broken.body !== undefined).map((row) => ({
    ...row,
    manner,
  })),
);

it.each(ROWS)("$provider, $manner: if $at breaks $title, it is asked for again, and whole", async (row) => {
  fault = row;
  const { manner } = row;
  const thread = await createThread(row.provider);
  const { messages, events, error } = await thread.send(chainWish(CITIES), undefined, manner);
  expect(error).toBeUndefined();
  const state = await thread.read();
  expect(state.at(-1)?.text).toBe(answerTo(CITIES));
  expect(state.map(({ text }) => text)).toContain(CALL_TEXT);
  expect(shown(messages)).toEqual(shown(state));
  expect(thread.looked.sort()).toEqual(["Oslo", "Rome"]);
  expect(events.map(({ type }) => type)).toEqual(["response-broken", "run-end"]);
  const first = manner === "listened to" ? true : expect.any(Boolean);
  expect(streams()).toEqual(row.at === "call" ? [first, false, first] : [first, first, false]);
});

describe("An agent of LangChain with the middleware", () => {
  expectWarnings(OLD_PACKAGES);

  const seen = new Set<string>();
  /** Each provider and each break once; `SLOW_TESTS=1` tries each with each. */
  const rows = ROWS.filter(({ provider, title, at, manner }) => {
    const isNew = !seen.has(`${provider} ${at} ${manner}`) || !seen.has(`${title} ${manner}`);
    seen.add(`${provider} ${at} ${manner}`).add(`${title} ${manner}`);
    return isNew || process.env["SLOW_TESTS"] === "1";
  });

  it.each(rows)(
    "has a whole response if $at of $provider, $manner, breaks $title, and calls tools once",
    async (row) => {
      fault = row;
      const { look, looked } = createLook();
      const model = await clientOf(row.provider, strict);
      const checkpointer = new MemorySaver();
      const agent = createAgent({ model, tools: [look], checkpointer, middleware: [tetherMiddleware()] });
      const thread = openAgentThread(agent as unknown as AnyAgent);
      const { messages, error } = await thread.run(user(chainWish(CITIES)), { manner: row.manner });
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
  again = { text: "" };
  const thread = await createThread(provider);
  const { messages, parts, error, events } = await thread.send(chainWish([]));
  expect(error).toBeInstanceOf(ModelError);
  expect(parts.some((part) => part.type === "ai" && (part as AIMessage).text !== "")).toBe(true);
  expect(messages.filter(({ type }) => type !== "human")).toEqual([]);
  expect(events.map(({ type }) => type)).toEqual([...Array(4).fill("response-broken"), "run-end"]);
  expect(streams()).toEqual([true, false, false, false]);
  expect((await thread.read()).map(({ type }) => type)).toEqual(["human"]);
});

describe.each(MANNERS)("Gemini, %s,", (manner) => {
  const first = manner === "listened to" ? true : expect.any(Boolean);

  it("is asked again after a malformed call, and again", async () => {
    fault = { at: "call", broken: malformedCall };
    again = { broken: malformedCall };
    const thread = await createThread("gemini");
    const { error, events } = await thread.send(chainWish([["Oslo"]]), undefined, manner);
    expect(error).toBeInstanceOf(ModelError);
    const reasons = events.flatMap((event) => ("reason" in event ? [event.reason] : []));
    expect(reasons).toEqual(Array(4).fill("missing-calls"));
    expect(thread.looked).toEqual([]);
  });

  it("gives its own error for a blocked prompt, and is not asked again", async () => {
    const blocked = JSON.stringify({ promptFeedback: { blockReason: "SAFETY" } });
    fault = { at: "answer", broken: { events: () => [`data: ${blocked}\n\n`], body: () => blocked } };
    const { error } = await (await createThread("gemini")).send(chainWish([]), undefined, manner);
    expect(String(error)).toContain("withheld (`SAFETY`)");
    expect(streams()).toEqual([first]);
  });

  it("is asked again if its response ends at its beginning", async () => {
    const start = (text = "") => text.slice(0, 30);
    fault = { at: "answer", broken: { events: ([text]) => [start(text)], body: start } };
    const thread = await createThread("gemini");
    expect((await thread.send(chainWish([]), undefined, manner)).error).toBeUndefined();
    expect((await thread.read()).at(-1)?.text).toBe(answerTo([]));
  });
});
