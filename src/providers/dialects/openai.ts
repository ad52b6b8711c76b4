/** The rules of OpenAI: Chat Completions and Responses. */

import { COMMON, confirmed, type Dialect, inferred, PLAIN_NAME, type Rules } from "./rule.js";

/** What the dialects have in common that LangChain's client of OpenAI's Chat Completions sends. */
export const CHAT_CLIENT = {
  ...COMMON,
  callPlaces: ["listed", "raw"],
  callId: /^[a-zA-Z0-9_-]{1,40}$/,
  ignoredBlocks: ["tool_use", "tool_call", "reasoning", "reasoning_content", "thinking"],
} as const;

export const FOLLOWED_BY_RESULTS =
  "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.";
const WRONG_PATTERN =
  "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.";

const chatRules = {
  // https://github.com/CopilotKit/CopilotKit/issues/529
  "empty-history": confirmed("Invalid 'messages': empty array. Expected an array with minimum length 1"),
  // https://github.com/sdcb/chats/pull/132
  "missing-result": confirmed(
    `${FOLLOWED_BY_RESULTS} The following tool_call_ids did not have response messages: {ids}`,
  ),
  // https://github.com/sdcb/chats/pull/132
  "orphan-result": confirmed(
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
  ),
  // https://github.com/agno-agi/agno/issues/5116
  "duplicate-result": confirmed(
    "Invalid parameter: Duplicate value for 'tool_call_id' of '{id}', in messages[{index}] and messages[{next}].",
  ),
  // The length is confirmed. That other characters are rejected is not.
  // https://github.com/BerriAI/litellm/issues/17343
  "call-id": confirmed(
    "Invalid 'messages[{index}].tool_calls[0].id': string too long. Expected a string with maximum length 40.",
  ),
  // https://github.com/mcp-use/mcp-use/pull/94
  "tool-name": confirmed(`Invalid 'messages[{index}].tool_calls[0].function.name': ${WRONG_PATTERN}`),
  // https://github.com/jekalmin/extended_openai_conversation/issues/251
  "message-name": confirmed(`Invalid 'messages[{index}].name': ${WRONG_PATTERN}`),
  // https://github.com/chatboxai/chatbox/issues/2079
  "empty-calls": confirmed(
    "Invalid 'messages[{index}].tool_calls': empty array. Expected an array with minimum length 1",
  ),
  // https://github.com/run-llama/llama_index/issues/17555
  "content-form": confirmed("Invalid value for 'content': expected a string, got null."),
  ...inferred("repeated-call-id", "arguments", "role", "foreign-block"),
} as const satisfies Rules;

export const openai = {
  ...CHAT_CLIENT,
  rules: chatRules,
  // A list in a tool result can hold only texts, so a single text says the same.
  blocksIn: ["human", "ai"],
  media: "openai",
  makers: ["openai"],
} as const satisfies Dialect;

export const openaiResponses = {
  ...COMMON,
  rules: {
    "empty-history": chatRules["empty-history"],
    // https://github.com/pydantic/pydantic-ai/issues/3461
    "missing-result": confirmed("No tool output found for function call {id}."),
    // https://github.com/continuedev/continue/issues/10092
    "orphan-result": confirmed("No tool call found for function call output with call_id {id}."),
    // https://github.com/AnswerDotAI/fastllm/issues/45
    "call-id": confirmed(
      "Invalid 'input[{index}].call_id': string too long. Expected a string with maximum length 64.",
    ),
    // https://github.com/weave-os/router/pull/1190
    "tool-name": confirmed(`Invalid 'input[{index}].name': ${WRONG_PATTERN}`),
    // https://github.com/Chevey339/kelivo/pull/281
    role: confirmed(
      "Invalid value: '{name}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
    ),
    // https://github.com/vercel/ai/issues/7543
    "foreign-state": confirmed("Item with id '{id}' not found."),
    // https://github.com/openai/openai-agents-python/issues/1789
    "item-id": confirmed("Duplicate item found with id {id}."),
    ...inferred("duplicate-result", "repeated-call-id", "arguments", "content-form"),
  },
  callPlaces: ["output", "listed", "raw"],
  callId: PLAIN_NAME,
  assistantBlocks: ["text", "output_text", "refusal"],
  ignoredBlocks: "all",
  stateFields: [
    { place: "additional_kwargs", name: "reasoning" },
    { place: "additional_kwargs", name: "tool_outputs" },
    { place: "additional_kwargs", name: "__openai_function_call_ids__" },
    { place: "additional_kwargs", name: "__openai_custom_tool_call_ids__" },
    { place: "response_metadata", name: "output" },
  ],
  blocksIn: ["human", "ai", "tool"],
  media: "openai-responses",
  makers: ["openai"],
} as const satisfies Dialect;
