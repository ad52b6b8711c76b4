/**
 * OpenAI's Chat Completions protocol, which many hosts have: what LangChain's clients send of it, the rules of its
 * inventor, and how a maker's own rules look in it.
 */

import { isRecord } from "../../shared/values.js";
import { COMMON, type Dialect, type Fields, isOf, type MediaForm } from "./dialect.js";
import { confirmed, EVERYWHERE, INFERRED, inferred, type StatedRules } from "./rule.js";

/** What the dialects share that LangChain's client sends to OpenAI's Chat Completions. */
export const CHAT_CLIENT = {
  ...COMMON,
  hasHostFields: true,
  callPlaces: ["listed", "raw"],
  callId: /^[a-zA-Z0-9_-]{1,40}$/,
  owns: isOf("image_url", "input_audio", "file", "refusal"),
  ignoredBlocks: ["tool_use", "tool_call", "reasoning", "reasoning_content", "thinking"],
} as const;

export const FOLLOWED_BY_RESULTS =
  "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.";
export const WRONG_PATTERN =
  "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.";

export const CHAT_RULES = {
  ...EVERYWHERE,
  "empty-history": confirmed(
    "Invalid 'messages': empty array. Expected an array with minimum length 1",
    "CopilotKit/CopilotKit/issues/529",
  ),
  "missing-result": confirmed(
    `${FOLLOWED_BY_RESULTS} The following tool_call_ids did not have response messages: {ids}`,
    "sdcb/chats/pull/132",
  ),
  "orphan-result": confirmed(
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    "sdcb/chats/pull/132",
  ),
  "duplicate-result": confirmed(
    "Invalid parameter: Duplicate value for 'tool_call_id' of '{id}', in messages[{index}] and messages[{next}].",
    "agno-agi/agno/issues/5116",
  ),
  // Seen with a result for each call.
  "duplicate-call-id": confirmed(
    "Invalid parameter: Duplicate value for 'tool_call_id' of '{id}'",
    "agno-agi/agno/issues/5116",
  ),
  // The length is confirmed, but not that other characters are rejected.
  "call-id": confirmed(
    "Invalid 'messages[{index}].tool_calls[0].id': string too long. Expected a string with maximum length 40.",
    "BerriAI/litellm/issues/17343",
  ),
  "tool-name": confirmed(
    `Invalid 'messages[{index}].tool_calls[0].function.name': ${WRONG_PATTERN}`,
    "mcp-use/mcp-use/pull/94",
  ),
  "message-name": confirmed(
    `Invalid 'messages[{index}].name': ${WRONG_PATTERN}`,
    "jekalmin/extended_openai_conversation/issues/251",
  ),
  "empty-calls": confirmed(
    "Invalid 'messages[{index}].tool_calls': empty array. Expected an array with minimum length 1",
    "chatboxai/chatbox/issues/2079",
  ),
  "content-form": confirmed(
    "Invalid value for 'content': expected a string, got null.",
    "run-llama/llama_index/issues/17555",
  ),
  "foreign-block": INFERRED["foreign-block"],
  "foreign-field": inferred("Unknown parameter: 'messages[{index}].content[0].{name}'."),
} as const satisfies StatedRules;

/** Chat Completions, and most hosts with that protocol: images only. */
export const IMAGE_URL: MediaForm = {
  takes: (block) => isOf("image_url")(block) && isRecord(block["image_url"]),
  write: ({ kind, url }) =>
    kind === "image" && url !== undefined ? { type: "image_url", image_url: { url } } : undefined,
};

export const CHAT_MEDIA: MediaForm = {
  read: readBlock,
  takes: (block) =>
    IMAGE_URL.takes(block) || isOf("input_audio")(block) || (isOf("file")(block) && isRecord(block["file"])),
  write: (media) => {
    const { kind, data, url, id, mimeType = "", name: filename = "file" } = media;
    const format = kind === "audio" && data !== undefined ? audioFormat(mimeType) : undefined;
    if (format !== undefined) return { type: "input_audio", input_audio: { data, format } };
    if (kind !== "file") return IMAGE_URL.write(media);
    if (id !== undefined) return { type: "file", file: { file_id: id } };
    return data === undefined ? undefined : { type: "file", file: { filename, file_data: url } };
  },
};

/** A bare URL, `file_data`, and the blocks of the Responses API. */
function readBlock(block: Fields): Fields | undefined {
  const { type, image_url, file } = block;
  if ((type === "image_url" || type === "input_image") && typeof image_url === "string")
    return { type: "image", url: image_url };
  if (type === "input_image") return { type: "image", fileId: block["file_id"] };
  const written = type === "input_file" ? block : type === "file" && isRecord(file) ? file : undefined;
  if (written === undefined) return undefined;
  const { file_data, file_url, file_id } = written;
  return { type: "file", url: file_data ?? file_url, fileId: file_id };
}

function audioFormat(mimeType: string): "wav" | "mp3" | undefined {
  if (/^audio\/(x-|vnd\.)?wave?$/.test(mimeType)) return "wav";
  return mimeType === "audio/mpeg" || mimeType === "audio/mp3" ? "mp3" : undefined;
}

const {
  "call-id": _,
  "foreign-field": __,
  "tool-name": ___,
  "message-name": ____,
  ...commonRules
} = CHAT_RULES;

/**
 * An unknown host. A sound history is sent as it is stored. Such hosts write ids of any form and length: Kimi's have
 * dots and colons, and LiteLLM puts signatures into them. Like Gemini, they take tool names with dots. What only some
 * hosts refuse is in `strict`, which a host gets after it has refused a request.
 */
export const openaiCompatible = {
  ...CHAT_CLIENT,
  rules: commonRules,
  callId: /./s,
  toolName: /./s,
  blocksIn: ["human", "ai", "tool"],
  media: CHAT_MEDIA,
  makers: [],
} as const satisfies Dialect;

type OwnRules = Pick<Dialect, "rules" | "callId" | "toolName" | "systemPlaces" | "most">;

/** A provider's rules for requests in OpenAI's form, which its own endpoint or a gateway translates. */
export function overOpenAI({ rules, callId, toolName, systemPlaces, most }: OwnRules) {
  // Nobody has said what the translation does with other roles.
  const { role: _, ...ownRules } = rules;
  return {
    ...openaiCompatible,
    rules: ownRules,
    callId,
    toolName,
    ...(systemPlaces && { systemPlaces }),
    ...(most && { most }),
  } satisfies Dialect;
}
