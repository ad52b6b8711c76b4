/** The rules of OpenAI: Chat Completions and Responses. */

import { isRecord, textIn } from "../../shared/values.js";
import {
  COMMON,
  confirmed,
  type Dialect,
  EVERYWHERE,
  type Fields,
  INFERRED,
  inferred,
  isOf,
  type MediaForm,
  type MediaLimits,
  PLAIN_NAME,
  type Rules,
} from "../rule.js";
import { storedOutput } from "./stored-items.js";

/** What the dialects share that LangChain's client sends to OpenAI's Chat Completions. */
export const CHAT_CLIENT = {
  ...COMMON,
  hasHostFields: true,
  callPlaces: ["listed", "raw"],
  callId: /^[a-zA-Z0-9_-]{1,40}$/,
  ignoredBlocks: ["tool_use", "tool_call", "reasoning", "reasoning_content", "thinking"],
} as const;

export const FOLLOWED_BY_RESULTS =
  "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'.";
const WRONG_PATTERN =
  "string does not match pattern. Expected a string that matches the pattern '^[a-zA-Z0-9_-]+$'.";

const chatRules = {
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
} as const satisfies Rules;

/** Chat Completions, and most hosts with that protocol: images only. */
export const IMAGE_URL: MediaForm = {
  takes: (block) => isOf("image_url")(block) && isRecord(block["image_url"]),
  write: ({ kind, url }) =>
    kind === "image" && url !== undefined ? { type: "image_url", image_url: { url } } : undefined,
};

const chatMedia: MediaForm = {
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

/** The client sends these as they are, if a list has nothing else. It writes any other list as JSON. */
const responsesResults: MediaForm = {
  takes: isOf("input_text", "input_image", "input_file", "computer_screenshot"),
  write: (media) => {
    const { kind, id, url: image_url } = media;
    if (kind === "file") return responsesMedia.write(media);
    if (kind !== "image") return undefined;
    return { type: "input_image", detail: "auto", ...(id === undefined ? { image_url } : { file_id: id }) };
  },
  writeText: (text) => ({ type: "input_text", text }),
};

const responsesMedia: MediaForm = {
  results: responsesResults,
  takes: isOf("image_url", "input_text", "input_image", "input_file", "mcp_approval_response"),
  write: (media) => {
    const { kind, data, url, id, name: filename = "file" } = media;
    if (kind === "image" && id !== undefined) return { type: "input_image", file_id: id, detail: "auto" };
    if (kind !== "file") return IMAGE_URL.write(media);
    if (id !== undefined) return { type: "input_file", file_id: id };
    return data === undefined
      ? { type: "input_file", file_url: url }
      : { type: "input_file", filename, file_data: url };
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

/**
 * "You uploaded an unsupported image. Please make sure your image has of one the following formats: ['png', 'jpeg', 'gif',
 * 'webp']." (marketing-factory/ai-filemetadata#18)
 * The number: https://platform.openai.com/docs/guides/images-vision#image-input-requirements
 */
const mediaLimits: MediaLimits = {
  types: ["image/png", "image/jpeg", "image/gif", "image/webp"],
  mostPictures: 500,
};

export const openai = {
  ...CHAT_CLIENT,
  mediaLimits,
  // "Invalid 'messages[2].tool_calls': array too long. Expected an array with maximum length 128, but got an array with
  // length 200 instead." (openai/openai-dotnet#317)
  // "Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an array with length 2050
  // instead." (obot-platform/obot#1009)
  most: { calls: 128, messages: 2_048 },
  rules: chatRules,
  // A result's list can hold only texts.
  blocksIn: ["human", "ai", "tool"],
  media: chatMedia,
  makers: ["openai"],
} as const satisfies Dialect;

export const openaiResponses = {
  ...COMMON,
  mediaLimits,
  rules: {
    ...EVERYWHERE,
    "empty-history": chatRules["empty-history"],
    "missing-result": confirmed(
      "No tool output found for function call {id}.",
      "pydantic/pydantic-ai/issues/3461",
    ),
    "orphan-result": confirmed(
      "No tool call found for function call output with call_id {id}.",
      "continuedev/continue/issues/10092",
    ),
    "call-id": confirmed(
      "Invalid 'input[{index}].call_id': string too long. Expected a string with maximum length 64.",
      "AnswerDotAI/fastllm/issues/45",
    ),
    "tool-name": confirmed(`Invalid 'input[{index}].name': ${WRONG_PATTERN}`, "weave-os/router/pull/1190"),
    role: confirmed(
      "Invalid value: '{name}'. Supported values are: 'assistant', 'system', 'developer', and 'user'.",
      "Chevey339/kelivo/pull/281",
    ),
    "foreign-state": confirmed("Item with id '{id}' not found.", "vercel/ai/issues/7543"),
    "foreign-field": inferred("Unknown parameter: 'input[{index}].content[0].{name}'."),
    "item-id": confirmed("Duplicate item found with id {id}.", "openai/openai-agents-python/issues/1789"),
    "reasoning-alone": confirmed(
      "Item '{id}' of type 'reasoning' was provided without its required following item.",
      "openai/openai-node/issues/1567",
    ),
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
  keepsOwnFields: true,
  blocksIn: ["human", "ai", "tool"],
  media: responsesMedia,
  isCompacted: (message) =>
    storedOutput(message)?.some((item) => textIn(item, "type") === "compaction") === true,
  makers: ["openai"],
} as const satisfies Dialect;

/** Who gets this room's dialects. */
export const openaiModels = {
  clientsOfAnyHost: ["openai", "azure_openai"],
  // The regions have names such as `eu.api.openai.com`.
  hosts: [
    [/(^|\.)api\.openai\.com$|\.openai\.azure\.(com|us|cn)$|\.cognitiveservices\.azure\.com$/, "openai"],
  ],
  hostedModels: [[/^openai\/(?!gpt-oss)/i, "openai"]],
} as const;
