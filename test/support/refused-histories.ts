/** Broken histories from public reports, with what the provider says about each. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import type { ProviderName } from "./strict-provider/start-strict-provider.js";

export const userMessage = (text = "go on") => new HumanMessage(text);
export const result = (id: string, content = "ok") =>
  new ToolMessage({ content, tool_call_id: id, name: "read" });
export const calls = (...ids: readonly string[]) => callsOf({ ids });

export function callsOf({ ids, name = "read", args = {}, ...fields }: CallFields): AIMessage {
  const tool_calls = ids.map((id) => ({ id, name, args, type: "tool_call" as const }));
  return new AIMessage({ content: "", ...fields, tool_calls });
}

export interface CallFields {
  readonly ids: readonly string[];
  readonly name?: string;
  readonly args?: Record<string, unknown>;
  readonly content?: AIMessage["content"];
  readonly additional_kwargs?: Record<string, unknown>;
  readonly response_metadata?: Record<string, unknown>;
}

export interface RefusedHistory {
  readonly title: string;
  readonly provider: ProviderName;
  readonly history: BaseMessage[];
  /** Where this history, or the rule that it breaks, was reported. */
  readonly report: string;
  /** Part of the provider's words. */
  readonly refusal: string;
  /** What the error of the LangChain client contains, if it does not repeat the provider's words literally. */
  readonly clientSays?: string;
  /** What `validateHistory` says, if it names another rule that the history breaks too. */
  readonly validatorSays?: string;
}

const long = `call_${"a".repeat(40)}|fc_${"b".repeat(30)}`;
const invalid = new AIMessage({
  content: "",
  invalid_tool_calls: [{ id: "c1", name: "write", args: '{"contents": "', type: "invalid_tool_call" }],
});

export const REFUSED_HISTORIES: readonly RefusedHistory[] = [
  {
    title: "a run cancelled during a tool call",
    report: "https://github.com/langchain-ai/open-swe/pull/1604",
    provider: "anthropic",
    history: [userMessage(), calls("c1"), userMessage()],
    refusal: "`tool_use` ids were found without `tool_result` blocks immediately after: c1",
  },
  {
    title: "a run cancelled during a tool call",
    report: "https://github.com/langchain-ai/open-swe/pull/1604",
    provider: "deepseek",
    history: [
      userMessage(),
      callsOf({ ids: ["c1"], additional_kwargs: { reasoning_content: "hm" } }),
      userMessage(),
    ],
    refusal: "insufficient tool messages following tool_calls message",
    validatorSays: "must be followed by tool messages responding to each 'tool_call_id'",
  },
  {
    title: "a run cancelled during a tool call",
    report: "https://github.com/langchain-ai/open-swe/pull/1604",
    provider: "dashscope-native",
    history: [userMessage(), calls("c1"), userMessage()],
    refusal: 'An assistant message with "tool_calls" must be followed by tool messages',
    clientSays: "status code 400",
  },
  {
    title: "one result of a parallel batch is missing",
    report: "https://github.com/EvoScientist/EvoScientist/issues/489",
    provider: "openai",
    history: [userMessage(), calls("c1", "c2"), result("c1"), userMessage()],
    refusal: "did not have response messages: c2",
  },
  {
    title: "one result of a parallel batch is missing",
    report: "https://github.com/EvoScientist/EvoScientist/issues/489",
    provider: "gemini",
    history: [userMessage(), calls("c1", "c2"), result("c1"), userMessage()],
    refusal: "number of function response parts is equal to the number of function call parts",
  },
  {
    title: "one tool call has two results",
    report: "https://github.com/langchain-ai/langgraph/issues/4397",
    provider: "openai",
    history: [userMessage(), calls("c1"), result("c1"), result("c1"), userMessage()],
    refusal: "Duplicate value for 'tool_call_id' of 'c1', in messages[2] and messages[3].",
  },
  {
    title: "one tool call has two results",
    report: "https://github.com/langchain-ai/langgraph/issues/4397",
    provider: "anthropic",
    history: [userMessage(), calls("c1"), result("c1"), result("c1"), userMessage()],
    refusal: "Too many `tool_result` blocks found: 2, expected 1",
  },
  {
    title: "a summary cut between a call and its result",
    report: "https://github.com/langchain-ai/langchainjs/pull/9740",
    provider: "openai-responses",
    history: [userMessage("summary"), result("c5"), userMessage()],
    refusal: "No tool call found for function call output with call_id c5.",
  },
  {
    title: "the list begins with a result",
    report: "https://github.com/langchain-ai/langchain/issues/33245",
    provider: "openai",
    history: [result("c1"), userMessage()],
    refusal: "must be a response to a preceeding message with 'tool_calls'",
  },
  {
    title: "a call with truncated arguments, which the client leaves out",
    report: "https://github.com/vllm-project/vllm/issues/47761",
    provider: "dashscope",
    history: [userMessage(), invalid, result("c1", "error"), userMessage()],
    refusal: 'messages with role "tool" must be a response to a preceeding message with "tool_calls"',
  },
  {
    title: "a tool has cut its output in the middle of an emoji",
    report: "https://github.com/anthropics/claude-code/issues/60394",
    provider: "anthropic",
    history: [userMessage(), calls("c1"), result("c1", "Sunny \ud83d"), userMessage()],
    refusal: "The request body is not valid JSON: no low surrogate in string",
  },
  {
    title: "a tool has cut its output in the middle of an emoji",
    report: "https://github.com/JohnnyZ93/oai-compatible-copilot/pull/271",
    provider: "deepseek",
    history: [
      userMessage(),
      callsOf({ ids: ["c1"], additional_kwargs: { reasoning_content: "hm" } }),
      result("c1", "Sunny \ud83d"),
      userMessage(),
    ],
    refusal: "lone leading surrogate in hex escape",
  },
  {
    title: "a call id from Kimi is sent to Claude",
    report: "https://github.com/anomalyco/opencode/issues/1279",
    provider: "anthropic",
    history: [userMessage(), calls("functions.read:0"), result("functions.read:0"), userMessage()],
    refusal: "String should match pattern '^[a-zA-Z0-9_-]+$'",
  },
  {
    title: "one message has two calls with the same id",
    report: "https://github.com/openclaw/openclaw/pull/47136",
    provider: "mistral",
    history: [userMessage(), calls("abcDEF123", "abcDEF123"), result("abcDEF123"), result("abcDEF123")],
    refusal: "Duplicate tool call id abcDEF123 in assistant message",
  },
  {
    title: "a call id is longer than 40 characters",
    report: "https://github.com/openclaw/openclaw/pull/875",
    provider: "openai",
    history: [userMessage(), calls(long), result(long), userMessage()],
    refusal: "string too long. Expected a string with maximum length 40",
  },
  {
    title: "the reasoning of a tool turn is missing",
    report: "https://github.com/earendil-works/pi/issues/3636",
    provider: "deepseek",
    history: [
      userMessage(),
      callsOf({ ids: ["c0"], additional_kwargs: { reasoning_content: "hm" } }),
      result("c0"),
      calls("c1"),
      result("c1"),
      userMessage(),
    ],
    refusal: "The `reasoning_content` in the thinking mode must be passed back to the API.",
  },
  {
    title: "an item id comes from another provider",
    report: "https://github.com/oracle/wayflow/pull/100",
    provider: "openai-responses",
    history: [
      userMessage(),
      callsOf({
        ids: ["c1"],
        additional_kwargs: { __openai_function_call_ids__: { c1: "call_c1" } },
        response_metadata: { model_provider: "anthropic" },
      }),
      result("c1"),
      userMessage(),
    ],
    refusal: "Expected an ID that begins with 'fc'.",
    validatorSays: "Item with id",
  },
  {
    title: "text after a tool call",
    report: "https://github.com/NousResearch/hermes-agent/pull/65369",
    provider: "anthropic",
    history: [
      userMessage(),
      callsOf({
        ids: ["c1"],
        content: [
          { type: "tool_use", id: "c1", name: "read", input: {} },
          { type: "text", text: "done" },
        ],
      }),
      result("c1"),
      userMessage(),
    ],
    refusal: "`tool_use` ids were found without `tool_result` blocks immediately after: c1",
  },
  {
    title: "a user message between a call and its result",
    report: "https://github.com/osaurus-ai/osaurus/pull/2653",
    provider: "openai",
    history: [userMessage(), calls("c1"), userMessage("stop"), result("c1"), userMessage()],
    refusal: "did not have response messages: c1",
  },
  {
    title: "the last message is the assistant's",
    report: "https://github.com/0xPlaygrounds/rig/pull/1130",
    provider: "mistral",
    history: [userMessage(), new AIMessage("hm")],
    refusal: "Expected last role User or Tool",
  },
  {
    title: "a tool name with spaces and dots",
    report: "https://github.com/weave-os/router/pull/1190",
    provider: "openai",
    history: [userMessage(), callsOf({ ids: ["c1"], name: "my tool.v2" }), result("c1"), userMessage()],
    refusal: "function.name': string does not match pattern",
  },
  {
    title: "text and calls in two assistant messages in a row",
    report: "https://github.com/continuedev/continue/issues/11164",
    provider: "gemini",
    history: [userMessage(), new AIMessage("I look."), calls("c1"), result("c1")],
    refusal: "function call turn comes immediately after a user turn",
  },
  {
    title: "a blank text beside a call",
    report: "https://github.com/anthropics/claude-code/issues/23369",
    provider: "anthropic",
    history: [
      userMessage(),
      callsOf({ ids: ["c1"], content: [{ type: "text", text: " " }] }),
      result("c1"),
      userMessage(),
    ],
    refusal: "text content blocks must contain non-whitespace text",
  },
];
