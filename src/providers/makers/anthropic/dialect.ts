/** The rules of Anthropic's Messages API. */

import { serverResultId } from "../../../history/server-tools.js";
import { asText } from "../../../shared/json.js";
import { isRecord } from "../../../shared/values.js";
import {
  COMMON,
  type Dialect,
  type Fields,
  isOf,
  type MediaForm,
  type MediaLimits,
  PLAIN_NAME,
  type Source,
} from "../../contract/dialect.js";
import { overOpenAI } from "../../contract/openai-protocol.js";
import { confirmed } from "../../contract/rule.js";

/**
 * Blocks that only Anthropic's models can read, and that LangChain's client sends back as they are. It leaves out
 * results of `code_execution`, `web_fetch`, `advisor` and MCP servers.
 */
const STATE_BLOCKS = [
  "thinking",
  "redacted_thinking",
  "compaction",
  "server_tool_use",
  "web_search_tool_result",
  "tool_search_tool_result",
  "tool_search_tool_bm25_tool_result",
  "tool_search_tool_regex_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
] as const;

const BLOCK = "messages.{index}.content.0";
const EMPTY =
  "messages.{index}: all messages must have non-empty content except for the optional final assistant message";
const MISSING =
  "messages.{index}: `tool_use` ids were found without `tool_result` blocks immediately after: {ids}.";

const userMedia: MediaForm = {
  // The client leaves out images that Anthropic's own form names by id, and sends images in LangChain's older form
  // twice.
  takes: (block) =>
    (isOf("image_url")(block) && isReadable(block["image_url"])) ||
    (isOf("document")(block) && isRecord(block["source"])) ||
    (isOf("image")(block) && (isStandard(block) || hasOpenSource(block))),
  write: (written) => {
    const { kind, data, id, mimeType } = written;
    if (kind === "image")
      return id === undefined ? { type: "image", source: sourceOf(written) } : { type: "image", fileId: id };
    // Apart from text, it reads only PDF files.
    const isRead = data === undefined || mimeType === "application/pdf";
    if (kind !== "file" || !isRead) return undefined;
    return { type: "document", source: sourceOf(written) };
  },
};

const media: MediaForm = { ...userMedia, results: userMedia };

/** The client throws for other data URLs. */
function isReadable(image: unknown): boolean {
  const url = asText(isRecord(image) ? image["url"] : image);
  return !url.startsWith("data:") || /^data:\w{1,100}\/\w{1,100};base64,[A-Za-z\d+/]+=*$/.test(url);
}

function isStandard(block: Fields): boolean {
  return !("source_type" in block) && ["data", "url", "fileId"].some((field) => block[field] !== undefined);
}

function hasOpenSource({ source }: Fields): boolean {
  return isRecord(source) && (source["type"] === "base64" || source["type"] === "url");
}

function sourceOf({ data, url, id, mimeType }: Source): object {
  if (id !== undefined) return { type: "file", file_id: id };
  return data === undefined ? { type: "url", url } : { type: "base64", media_type: mimeType, data };
}

/**
 * - "image.source.base64.media_type: Input should be 'image/jpeg', 'image/png', 'image/gif' or 'image/webp'"
 *   (anomalyco/opencode#5704)
 * - "image exceeds 5 MB maximum: 17699328 bytes > 5242880 bytes" for a file of 12.7 MB: the base64 is measured
 *   (anthropics/claude-code#8227)
 * - "At least one of the image dimensions exceed max allowed size: 8000 pixels" (anthropics/claude-code#4778), "... for
 *   many-image requests: 2000 pixels" (anthropics/claude-code#9375), which are those with more than 20:
 *   https://platform.claude.com/docs/en/build-with-claude/vision, as is the number of 100.
 */
const mediaLimits: MediaLimits = {
  types: ["image/png", "image/jpeg", "image/gif", "image/webp"],
  mostCharacters: 5 * 1_024 * 1_024,
  mostPixels: 8_000,
  manyPictures: { count: 20, mostPixels: 2_000 },
  mostPictures: 100,
};

export const anthropic = {
  ...COMMON,
  mediaLimits,
  rules: {
    "empty-history": confirmed(
      "messages: at least one message is required",
      "anthropics/claude-code/issues/6774",
    ),
    "missing-result": confirmed(MISSING, "anthropics/claude-code/issues/5989"),
    "orphan-result": confirmed(
      `${BLOCK}: unexpected \`tool_use_id\` found in \`tool_result\` blocks: {id}.`,
      "anthropics/claude-code/issues/18947",
    ),
    "duplicate-result": confirmed(
      "messages.{index}: Too many `tool_result` blocks found: 2, expected 1.",
      "langchain-ai/langgraph/issues/4397",
    ),
    "server-call-without-result": confirmed(
      "`{name}` tool use with id `{id}` was found without a corresponding `{name}_tool_result` block",
      "vercel/ai/issues/13040",
    ),
    "server-result-without-call": confirmed(
      `${BLOCK}: unexpected \`tool_use_id\` found in \`{name}\` blocks: {id}.`,
      "anthropics/claude-code/issues/64383",
    ),
    "call-id": confirmed(
      `${BLOCK}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'`,
      "anomalyco/opencode/issues/1279",
    ),
    "duplicate-call-id": confirmed(
      `${BLOCK}: \`tool_use\` ids must be unique`,
      "anomalyco/opencode/issues/1279",
    ),
    "tool-name": confirmed(
      `${BLOCK}.tool_use.name: String should match pattern '^[a-zA-Z0-9_-]{1,64}$'`,
      "home-assistant/core/issues/140005",
    ),
    arguments: confirmed(
      `${BLOCK}.tool_use.input: Input should be a valid dictionary`,
      "anthropics/claude-code/issues/6696",
    ),
    role: confirmed('messages: Unexpected role "{name}".', "vllm-project/vllm/pull/44505"),
    "unpaired-surrogate": confirmed(
      "The request body is not valid JSON: no low surrogate in string",
      "anthropics/claude-code/issues/60394",
    ),
    "content-form": confirmed(EMPTY, "anthropics/claude-code/issues/6774"),
    "foreign-block": confirmed(
      `${BLOCK}: Input tag '{name}' found using 'type' does not match any of the expected tags`,
      "langchain-ai/langchain/pull/39803",
    ),
    "empty-assistant": confirmed(EMPTY, "anthropics/claude-code/issues/6774"),
    "blank-text": confirmed(
      "messages: text content blocks must contain non-whitespace text",
      "anthropics/claude-code/issues/23369",
    ),
    "blank-user": confirmed(
      "messages: text content blocks must be non-empty",
      "anthropics/claude-code/issues/59812",
    ),
    "blank-result": confirmed(
      `${BLOCK}.tool_result: content cannot be empty if \`is_error\` is true`,
      "bytedance/trae-agent/issues/230",
    ),
    // System prompt, tools and messages together. A later mark also covers what earlier ones cover.
    "cache-marks": confirmed(
      "A maximum of 4 blocks with cache_control may be provided. Found {name}.",
      "continuedev/continue/pull/6937",
    ),
    "text-after-call": confirmed(
      MISSING,
      "anomalyco/opencode/blob/678c40589f4c75ff88c139ee824ddb840908a912/packages/llm/test/fixtures/recordings/anthropic-messages/rejects-malformed-assistant-tool-order-without-patch.json",
    ),
    "system-position": confirmed(
      "messages.{index}: a system message may stand only behind a user turn, with Opus 4.8 or later",
      "vllm-project/vllm/pull/44505",
    ),
    // Since Claude 4.6.
    "assistant-last": {
      ...confirmed(
        "This model does not support assistant message prefill. The conversation must end with a user message.",
        "agenticloops-ai/agentic-ai-engineering/issues/43",
      ),
      unless: /\bclaude-(?:[123]|\w{1,20}-4(?:[-.][0-5](?!\d)|-\d{8}|$))/,
    },
    "foreign-state": confirmed(
      `${BLOCK}: Invalid \`signature\` in \`thinking\` block`,
      "can1357/oh-my-pi/issues/6379",
    ),
  },
  callPlaces: ["listed", "block"],
  callId: PLAIN_NAME,
  owns: (block) =>
    isOf(
      ...STATE_BLOCKS,
      "tool_use",
      "mcp_tool_use",
      "search_result",
      "container_upload",
      "document",
    )(block) || serverResultId(block) !== undefined,
  sentServerBlocks: STATE_BLOCKS,
  ignoredBlocks: "all",
  ignoredResults: ["tool_reference"],
  // The client joins those in front, and sends the others in place. These tell which models take one there, and before
  // what: https://github.com/anomalyco/opencode/pull/43180, https://github.com/0xPlaygrounds/rig/pull/1862
  systemPlaces: {
    several: true,
    after: ["human", "tool", "system"],
    before: ["ai", "system"],
    last: true,
    models: /\bclaude-(?:opus-4-(?:[89]|\d\d)|(?:opus|sonnet|haiku|fable|mythos)-(?:[5-9]|\d\d))(?!\d)/,
  },
  most: { marks: 4 },
  blocksIn: ["human", "ai", "tool"],
  media,
  // A failed compaction has no content.
  isCompacted: ({ content }) =>
    Array.isArray(content) &&
    content.some((block) => block["type"] === "compaction" && typeof block["content"] === "string"),
  makers: ["anthropic"],
} as const satisfies Dialect;

const { "system-position": _, "blank-result": ___, ...rulesOverOpenAI } = anthropic.rules;

/**
 * The endpoints move system messages to the front themselves. OpenAI's form has no error results, and only those must
 * not be empty.
 */
export const anthropicOpenAI = overOpenAI({ ...anthropic, rules: rulesOverOpenAI });

/** Who gets the dialects of this maker. */
export const anthropicModels = {
  clients: { anthropic: "anthropic" },
  hosts: [[/^api\.anthropic\.com$/, "anthropic-openai"]],
  hostedModels: [[/\bclaude\b/i, "anthropic-openai"]],
} as const;
