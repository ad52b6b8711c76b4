/**
 * Histories that providers refused, from public reports: each is reduced to a list of messages, with the list that
 * it is repaired to. They have only faults of pairing. The rules of single providers are tested with the dialects.
 */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { PlaceholderCause } from "../../src/history/result.js";
import { ai, human, messagesIn, placeholder, result, system } from "./make-messages.js";

export interface BrokenHistory {
  readonly title: string;
  readonly source: string;
  readonly messages: readonly BaseMessage[];
  /** Ids. For an added placeholder: the id of its call, and its cause. */
  readonly repaired: readonly string[];
}

const added = (callId: string, cause: PlaceholderCause) => `${callId}: ${cause}`;

const cutOff = (id: string, callId: string) =>
  new AIMessage({
    content: "",
    id,
    invalid_tool_calls: [{ id: callId, name: "write_file", args: '{"contents": "# Read' }],
  });

export const BROKEN_HISTORIES: readonly BrokenHistory[] = [
  {
    title: "The sandbox was lost while a tool ran, and the user wrote again",
    source: "https://github.com/langchain-ai/open-swe/pull/1604",
    messages: [human("h1"), ai("a", "c"), human("h2")],
    repaired: ["h1", "a", added("c", "superseded"), "h2"],
  },
  {
    title: "The process died while a tool ran, and nothing came after it",
    source: "https://github.com/synthetic-lab/octofriend/pull/233",
    messages: [human("h1"), ai("a", "c")],
    repaired: ["h1", "a", added("c", "unrecorded")],
  },
  {
    title: "The run was cancelled when one of two parallel calls had finished",
    source: "https://github.com/EvoScientist/EvoScientist/issues/489",
    messages: [human("h1"), ai("a", "c1", "c2"), result("t1", "c1"), human("h2")],
    repaired: ["h1", "a", "t1", added("c2", "superseded"), "h2"],
  },
  {
    title: "A human rejected one call, and its sibling without approval never ran",
    source: "https://github.com/langchain-ai/deepagentsjs/issues/150",
    messages: [human("h1"), ai("a", "asked", "free"), result("rejected", "asked"), ai("a2")],
    repaired: ["h1", "a", "rejected", added("free", "unrecorded"), "a2"],
  },
  {
    title: "The approval flow ran the tool twice",
    source: "https://github.com/langchain-ai/langgraph/issues/4397",
    messages: [human("h1"), ai("a", "c"), result("t", "c"), result("t-again", "c")],
    repaired: ["h1", "a", "t"],
  },
  {
    title: "A second approval sent the first output again",
    source: "https://github.com/openai/openai-agents-js/issues/1435",
    messages: messagesIn("a(c1) t1:c1 b(c2) t1-again:c1 t2:c2"),
    repaired: ["a", "t1", "b", "t2"],
  },
  {
    title: "A summary removed the calls and left their results",
    source: "https://github.com/langchain-ai/langchainjs/pull/9740",
    messages: [human("summary"), result("t5", "c5"), result("t6", "c6"), ai("a")],
    repaired: ["summary", "a"],
  },
  {
    title: "The trimmed list began with a result",
    source: "https://github.com/langchain-ai/langchain/issues/33245",
    messages: [result("t1", "c1"), human("h1"), ai("a"), human("h2")],
    repaired: ["h1", "a", "h2"],
  },
  {
    title: "The arguments were cut off at the token limit, and the call has no result",
    source: "https://github.com/vllm-project/vllm/issues/47761",
    messages: [human("h1"), cutOff("a", "c"), human("h2")],
    repaired: ["h1", "a", added("c", "invalid-arguments"), "h2"],
  },
  {
    title: "The arguments were cut off, and the call has an error result",
    source: "https://github.com/vllm-project/vllm/issues/47761",
    messages: [human("h1"), cutOff("a", "c"), result("error", "c"), human("h2")],
    repaired: ["h1", "a", "error", "h2"],
  },
  {
    title: "A call that could not be parsed was replayed with the text beside it",
    source: "https://github.com/langchain-ai/langchain/pull/39803",
    messages: [
      human("h1"),
      Object.assign(cutOff("a", "c"), { content: [{ type: "text", text: "I write it." }] }),
      ai("b"),
    ],
    repaired: ["h1", "a", added("c", "invalid-arguments"), "b"],
  },
  {
    title: "A tool ran beside a handoff, and only the result of the handoff was kept",
    source: "https://github.com/langchain-ai/langgraph-swarm-py/issues/69",
    messages: [human("h1"), ai("a", "add", "transfer"), result("t", "transfer"), ai("bob")],
    repaired: ["h1", "a", added("add", "unrecorded"), "t", "bob"],
  },
  {
    title: "A handoff is before the result of its sibling",
    source: "https://github.com/langchain-ai/langgraph-swarm-py/issues/26",
    messages: messagesIn("h1 a(add,transfer) t:transfer sum:add bob()"),
    repaired: ["h1", "a", "sum", "t", "bob"],
  },
  {
    title: "A user message arrived between call and result",
    source: "https://github.com/osaurus-ai/osaurus/pull/2653",
    messages: [human("h1"), ai("a", "c"), human("steer"), result("t", "c")],
    repaired: ["h1", "a", "t", "steer"],
  },
  {
    title: "A reminder was inserted before the results",
    source: "https://github.com/NousResearch/hermes-agent/pull/65369",
    messages: [ai("a", "c1", "c2"), system("reminder"), result("t1", "c1"), result("t2", "c2"), ai("b")],
    repaired: ["a", "t1", "t2", "reminder", "b"],
  },
  {
    title: "An id repeats in a later turn, and the second call has no result",
    source: "https://github.com/NousResearch/hermes-agent/pull/11722",
    messages: [ai("a", "x"), result("t", "x"), human("h"), ai("b", "x"), human("h2")],
    repaired: ["a", "t", "h", "b", added("x", "superseded"), "h2"],
  },
  {
    title: "The counter in the ids restarted, and the second call has no result",
    source: "https://github.com/can1357/oh-my-pi/issues/2055",
    messages: [
      ai("a", "functions.eval:301"),
      result("t", "functions.eval:301"),
      ai("b", "functions.eval:301"),
    ],
    repaired: ["a", "t", "b", added("functions.eval:301", "unrecorded")],
  },
  {
    title: "Two calls of one message have the same id",
    source: "https://github.com/openclaw/openclaw/pull/47136",
    messages: [human("h"), ai("a", "x", "x"), result("t1", "x"), result("t2", "x"), ai("b")],
    repaired: ["h", "a", "t1", "t2", "b"],
  },
  {
    title: "The calls of a message have no ids, and one has no result",
    source: "https://github.com/anomalyco/opencode/issues/1279",
    messages: [human("h"), ai("a", "", ""), result("t1", ""), human("h2")],
    repaired: ["h", "a", "t1", added("", "superseded"), "h2"],
  },
  {
    title: "A structured response was given as a call, which has no result",
    source: "https://github.com/langchain-ai/langchain-aws/issues/505",
    messages: [human("h1"), ai("a", "answer"), human("h2")],
    repaired: ["h1", "a", added("answer", "superseded"), "h2"],
  },
  {
    title: "A call was marked as cancelled before its result came",
    source: "https://github.com/EvoScientist/EvoScientist/issues/489",
    messages: [ai("a", "c"), placeholder("cancelled", "c"), human("h"), result("t", "c")],
    repaired: ["a", "t", "h"],
  },
];
