/**
 * Histories that providers refused, from public reports: each is reduced to a list of messages, with the list that
 * it is repaired to. They have only faults of pairing. The rules of single providers are tested with the dialects.
 */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { ai, human, messagesIn, result } from "./make-messages.js";

export interface BrokenHistory {
  readonly title: string;
  readonly source: string;
  readonly messages: readonly BaseMessage[];
  /** Ids. For an added placeholder: the id of its call, and its cause. */
  readonly repaired: readonly string[];
}

/** By title: the page of the report, `history => ids`. `c=cause` is a placeholder that is added for the call `c`. */
const IN_LINES: Readonly<Record<string, string>> = {
  "The sandbox was lost while a tool ran, and the user wrote again":
    "langchain-ai/open-swe/pull/1604, h1 a(c) h2 => h1 a c=superseded h2",
  "The process died while a tool ran, and nothing came after it":
    "synthetic-lab/octofriend/pull/233, h1 a(c) => h1 a c=unrecorded",
  "The run was cancelled when one of two parallel calls had finished":
    "EvoScientist/EvoScientist/issues/489, h1 a(c1,c2) t1:c1 h2 => h1 a t1 c2=superseded h2",
  "A human rejected one call, and its sibling without approval never ran":
    "langchain-ai/deepagentsjs/issues/150, h1 a(asked,free) rejected:asked a2() => h1 a rejected free=unrecorded a2",
  "The approval flow ran the tool twice":
    "langchain-ai/langgraph/issues/4397, h1 a(c) t:c t-again:c => h1 a t",
  "A second approval sent the first output again":
    "openai/openai-agents-js/issues/1435, a(c1) t1:c1 b(c2) t1-again:c1 t2:c2 => a t1 b t2",
  "A summary removed the calls and left their results":
    "langchain-ai/langchainjs/pull/9740, summary t5:c5 t6:c6 a() => summary a",
  "The trimmed list began with a result": "langchain-ai/langchain/issues/33245, t1:c1 h1 a() h2 => h1 a h2",
  "A tool ran beside a handoff, and only the result of the handoff was kept":
    "langchain-ai/langgraph-swarm-py/issues/69, h1 a(add,transfer) t:transfer bob() => h1 a add=unrecorded t bob",
  "A handoff is before the result of its sibling":
    "langchain-ai/langgraph-swarm-py/issues/26, h1 a(add,transfer) t:transfer sum:add bob() => h1 a sum t bob",
  "A user message arrived between call and result":
    "osaurus-ai/osaurus/pull/2653, h1 a(c) steer t:c => h1 a t steer",
  "A reminder was inserted before the results":
    "NousResearch/hermes-agent/pull/65369, a(c1,c2) reminder! t1:c1 t2:c2 b() => a t1 t2 reminder b",
  "An id repeats in a later turn, and the second call has no result":
    "NousResearch/hermes-agent/pull/11722, a(x) t:x h b(x) h2 => a t h b x=superseded h2",
  "The counter in the ids restarted, and the second call has no result":
    "can1357/oh-my-pi/issues/2055, a(functions.eval:301) t:functions.eval:301 b(functions.eval:301) => a t b functions.eval:301=unrecorded",
  "Two calls of one message have the same id":
    "openclaw/openclaw/pull/47136, h a(x,x) t1:x t2:x b() => h a t1 t2 b",
  "A structured response was given as a call, which has no result":
    "langchain-ai/langchain-aws/issues/505, h1 a(answer) h2 => h1 a answer=superseded h2",
  "A call was marked as cancelled before its result came":
    "EvoScientist/EvoScientist/issues/489, a(c) cancelled?c h t:c => a t h",
};

const cutOff = (content: AIMessage["content"] = "") =>
  new AIMessage({
    content,
    id: "a",
    invalid_tool_calls: [{ id: "c", name: "write_file", args: '{"contents": "# Read' }],
  });
const VLLM = "vllm-project/vllm/issues/47761";

/** Those with calls that cannot be read, and with ids that no line can write. */
const OTHERS: readonly (readonly [title: string, page: string, messages: BaseMessage[], repaired: string])[] =
  [
    [
      "The arguments were cut off at the token limit, and the call has no result",
      VLLM,
      [human("h1"), cutOff(), human("h2")],
      "h1 a c=invalid-arguments h2",
    ],
    [
      "The arguments were cut off, and the call has an error result",
      VLLM,
      [human("h1"), cutOff(), result("error", "c"), human("h2")],
      "h1 a error h2",
    ],
    [
      "A call that could not be parsed was replayed with the text beside it",
      "langchain-ai/langchain/pull/39803",
      [human("h1"), cutOff([{ type: "text", text: "I write it." }]), ai("b")],
      "h1 a c=invalid-arguments b",
    ],
    [
      "The calls of a message have no ids, and one has no result",
      "anomalyco/opencode/issues/1279",
      [human("h"), ai("a", "", ""), result("t1", ""), human("h2")],
      "h a t1 =superseded h2",
    ],
  ];

export const BROKEN_HISTORIES: readonly BrokenHistory[] = [
  ...Object.entries(IN_LINES).map(([title, text]) => {
    const [page = "", history = "", repaired = ""] = text.split(/, | => /);
    return [title, page, messagesIn(history), repaired] as const;
  }),
  ...OTHERS,
].map(([title, page, messages, repaired]) => ({
  title,
  source: `https://github.com/${page}`,
  messages,
  repaired: repaired.split(" ").map((id) => id.replace("=", ": ")),
}));
