/** When a thread whose run has ended early is whole, for the kit's suites of such runs. */

import { AIMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { expect, it } from "vitest";
import { judge, startedTwice } from "../../conformance/suites/ended-run.js";

type Judged = Parameters<typeof judge>[0];

const result = new ToolMessage({ content: "fast done 1", tool_call_id: "c" });
const messages = [new HumanMessage("Go."), new AIMessage(""), result, new HumanMessage("hello")];
const sent = [
  { role: "user", content: "Go." },
  { role: "assistant", content: "" },
  { role: "tool", content: "fast done 1" },
  { role: "user", content: [{ type: "text", text: "hello" }] },
];
const request = { body: { messages: sent }, refusal: undefined };

const thread = (stored: typeof messages, requests: readonly object[] = [request]): Judged => ({
  read: async () => ({ messages: stored }),
  requests: () => requests as ReturnType<Judged["requests"]>,
});
const expected = { said: ["Go.", "hello"], finished: ["fast 1"] };

it("A thread passes that has each message of the user and each result once, as its last request.", async () => {
  expect(await judge(thread(messages), expected)).toEqual({ kind: "pass" });
});

it.each<readonly [title: string, judged: Judged, reason: string]>([
  ["a message of the user is lost", thread(messages.slice(1)), 'the user\'s "Go." 0 times'],
  ["a message of the user is there twice", thread([...messages, new HumanMessage("Go.")]), "2 times"],
  ["the request lacks one", thread(messages, [{ body: { messages: sent.slice(1) } }]), "does not see"],
  ["a result is lost", thread(messages.filter((one) => one !== result)), "thread has the result of fast 0"],
  ["a result is there twice", thread([...messages, result]), "thread has the result of fast 2 times"],
  [
    "the request lacks the result",
    thread(messages, [{ body: { messages: sent.filter(({ role }) => role !== "tool") } }]),
    "request has the result of fast 0",
  ],
  [
    "an earlier request was refused",
    thread(messages, [{ ...request, refusal: { error: "bad history" } }, request]),
    "bad history",
  ],
])("It is a fault if %s.", async (_title, judged, reason) => {
  expect(await judge(judged, expected)).toMatchObject({
    kind: "fault",
    reason: expect.stringContaining(reason),
  });
});

it("A call that has begun twice is a fault, unless its tool asks.", () => {
  const begun = ["ask 1", "fast 2", "ask 1"];
  expect(startedTwice({ begun })).toMatchObject({ kind: "fault", reason: expect.stringContaining("ask 1") });
  expect(startedTwice({ begun }, "ask")).toBeUndefined();
});
