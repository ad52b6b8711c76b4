/** Agents of LangChain with the middleware, through the real clients: streams that break, in each protocol. */

import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { expect, it } from "vitest";
import { tetherMiddleware } from "../../src/langchain.js";
import { answerTo, chainWish, createLook, playChain, readPlace } from "../support/chain-script.js";
import { clientOf } from "../support/clients.js";
import { expectWarnings, OLD_PACKAGES } from "../support/expect-warnings.js";
import { type AnyAgent, openAgentThread } from "../support/open-agent-thread.js";
import { stopAtEnd } from "../support/stop-at-end.js";
import { shown } from "../support/stream-faults.js";
import type { Reply } from "../support/strict-provider/reply.js";
import { startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { user } from "../support/thread.js";
import { BREAK_ROWS } from "./stream-breaks.js";

expectWarnings(OLD_PACKAGES);

const seen = new Set<string>();

/** Each provider and each break once; `SLOW_TESTS=1` tries each with each. */
const ROWS = BREAK_ROWS.filter(({ provider, title, at }) => {
  const isNew = !seen.has(`${provider} ${at}`) || !seen.has(title);
  seen.add(`${provider} ${at}`).add(title);
  return isNew || process.env["SLOW_TESTS"] === "1";
});

let fault: (typeof ROWS)[number] | undefined;

const strict = stopAtEnd(
  await startStrictProvider(({ messages, streams }) => {
    const at = readPlace(messages).cities === undefined ? "answer" : "call";
    return { ...playChain(messages), ...(streams && fault?.at === at && { broken: fault.broken }) } as Reply;
  }),
);

it.each(ROWS)("$provider: $at breaks $title: the response is whole, and each call runs once", async (row) => {
  fault = row;
  const before = strict.requests.length;
  const { look, looked } = createLook();
  const model = await clientOf(row.provider, strict);
  const checkpointer = new MemorySaver();
  const agent = createAgent({ model, tools: [look], checkpointer, middleware: [tetherMiddleware()] });
  const thread = openAgentThread(agent as unknown as AnyAgent);
  const { messages, error } = await thread.run(user(chainWish([["Oslo", "Rome"]])));
  expect(error).toBeUndefined();
  const state = (await agent.graph.getState(thread.config)).values.messages;
  expect(state.at(-1)?.text).toBe(answerTo([["Oslo", "Rome"]]));
  expect(shown(messages)).toEqual(shown(state));
  expect(looked.toSorted()).toEqual(["Oslo", "Rome"]);
  expect(strict.requests.slice(before).filter(({ refusal }) => refusal !== undefined)).toEqual([]);
});
