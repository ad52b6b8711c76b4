/** The rules of Anthropic's Messages API. */

import { COMMON, confirmed, type Dialect, PLAIN_NAME } from "./rule.js";

/** Blocks that only Anthropic's models can read, and that are sent back as they are. */
const STATE_BLOCKS = [
  "thinking",
  "redacted_thinking",
  "compaction",
  "server_tool_use",
  "web_search_tool_result",
  "tool_search_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
] as const;

const BLOCK = "messages.{index}.content.0";
const EMPTY =
  "messages.{index}: all messages must have non-empty content except for the optional final assistant message";
const MISSING =
  "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}.";

export const anthropic = {
  ...COMMON,
  rules: {
    // https://github.com/anthropics/claude-code/issues/6774
    "empty-history": confirmed("messages: at least one message is required"),
    // https://github.com/anthropics/claude-code/issues/5989
    "missing-result": confirmed(MISSING),
    // https://github.com/anthropics/claude-code/issues/18947
    "orphan-result": confirmed(`${BLOCK}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: {id}.`),
    // https://github.com/langchain-ai/langgraph/issues/4397
    "duplicate-result": confirmed("messages.{index}: Too many `tool_result` blocks found: 2, expected 1."),
    // https://github.com/anomalyco/opencode/issues/1279
    "call-id": confirmed(`${BLOCK}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`),
    // https://github.com/anomalyco/opencode/issues/1279
    "repeated-call-id": confirmed(`${BLOCK}: \`tool_use\` ids must be unique`),
    // https://github.com/home-assistant/core/issues/140005
    "tool-name": confirmed(`${BLOCK}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'`),
    // https://github.com/anthropics/claude-code/issues/6696
    arguments: confirmed(`${BLOCK}.tool_use.input: Input should be a valid dictionary`),
    // https://github.com/vllm-project/vllm/pull/44505
    role: confirmed('messages: Unexpected role "{name}".'),
    // https://github.com/anthropics/claude-code/issues/6774
    "content-form": confirmed(EMPTY),
    // https://github.com/langchain-ai/langchain/pull/39803
    "foreign-block": confirmed(
      `${BLOCK}: Input tag '{name}' found using 'type' does not match any of the expected tags`,
    ),
    // https://github.com/anthropics/claude-code/issues/6774
    "empty-assistant": confirmed(EMPTY),
    // https://github.com/anthropics/claude-code/issues/23369
    "blank-text": confirmed("messages: text content blocks must contain non-whitespace text"),
    // https://github.com/anthropics/claude-code/issues/59812
    "blank-user": confirmed("messages: text content blocks must be non-empty"),
    // https://github.com/bytedance/trae-agent/issues/230
    "blank-result": confirmed(`${BLOCK}.tool_result: content cannot be empty if \`is_error\` is true`),
    // https://github.com/anomalyco/opencode/blob/678c40589f4c75ff88c139ee824ddb840908a912/packages/llm/test/fixtures/recordings/anthropic-messages/rejects-malformed-assistant-tool-order-without-patch.json
    "text-after-call": confirmed(MISSING),
    // https://github.com/vllm-project/vllm/pull/44505
    "system-position": confirmed(
      "messages.{index}: a system message may stand only behind a user turn, with Opus 4.8 or later",
    ),
    // Refused in 2024, accepted by claude-haiku-4-5 in May 2026. Older hosts refuse it still.
    // https://github.com/lobehub/lobehub/issues/1601
    "first-user": confirmed('messages: first message must use the "user" role'),
    // https://github.com/agenticloops-ai/agentic-ai-engineering/issues/43
    "assistant-last": confirmed(
      "This model does not support assistant message prefill. The conversation must end with a user message.",
    ),
    // https://github.com/can1357/oh-my-pi/issues/6379
    "foreign-state": confirmed(`${BLOCK}: Invalid \`signature\` in \`thinking\` block`),
  },
  callPlaces: ["listed", "block"],
  callId: PLAIN_NAME,
  assistantBlocks: ["text", "tool_use", ...STATE_BLOCKS],
  ignoredBlocks: "all",
  stateBlocks: STATE_BLOCKS,
  blocksIn: ["human", "ai", "tool"],
  media: "anthropic",
  makers: ["anthropic"],
} as const satisfies Dialect;
