/** The rules of OpenAI: Chat Completions and Responses. */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { isResult } from "../../history/result.js";
import { isRecord, textIn } from "../../shared/values.js";
import {
  COMMON,
  confirmed,
  type Dialect,
  EVERYWHERE,
  type Fields,
  INFERRED,
  isOf,
  type MediaForm,
  type MediaLimits,
  PLAIN_NAME,
  type Rules,
} from "../rule.js";

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
  // The length is confirmed. That other characters are rejected is not.
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

const responsesMedia: MediaForm = {
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
  // A list in a tool result can hold only texts, so a single text says the same.
  blocksIn: ["human", "ai"],
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
  blocksIn: ["human", "ai", "tool"],
  media: responsesMedia,
  isCompacted: (message) =>
    storedOutput(message)?.some((item) => textIn(item, "type") === "compaction") === true,
  makers: ["openai"],
} as const satisfies Dialect;

/*
 * The items of a response that OpenAI's Responses API stores, as LangChain's messages name them.
 */

const FUNCTION_ITEM_IDS = "__openai_function_call_ids__";

/** The ids of stored items that the client would send with a message. */
export function storedItemIds(message: BaseMessage): string[] {
  const own = String(message.id ?? "");
  if (isResult(message)) return own.startsWith("fc_") ? [own] : [];
  if (!isAIMessage(message)) return [];
  const output = storedOutput(message);
  if (output !== undefined) return output.flatMap((item) => textIn(item, "id") ?? []);
  const functionIds = functionItemIds(message);
  const reasoning = textIn(message.additional_kwargs?.["reasoning"], "id") ?? [];
  const calls = (message.tool_calls ?? []).flatMap(({ id }) => functionIds?.get(id) ?? []);
  return [own.startsWith("msg_") ? own : [], reasoning, calls].flat();
}

/** The items of the stored response, which are sent in place of the message. Undefined if there are none. */
export function storedOutput(message: BaseMessage): readonly unknown[] | undefined {
  const output: unknown = message.response_metadata?.["output"];
  return Array.isArray(output) && output.length > 0 ? output : undefined;
}

/** The id of reasoning that is the last of these items. The API demands the item that followed it. */
export function trailingReasoning(output: readonly unknown[] = []): string | undefined {
  const last = output.at(-1);
  return textIn(last, "type") === "reasoning" ? (textIn(last, "id") ?? "") : undefined;
}

/** The item id of each call, by the id of the call. */
export function functionItemIds(message: BaseMessage): ReadonlyMap<unknown, string> | undefined {
  const ids: unknown = message.additional_kwargs?.[FUNCTION_ITEM_IDS];
  if (!isRecord(ids)) return undefined;
  return new Map(Object.entries(ids).flatMap(([id, item]) => (typeof item === "string" ? [[id, item]] : [])));
}

/** The ids of the calls in a stored response. */
export function callIdsOfOutput(output: readonly unknown[]): string[] {
  return output
    .filter((item) => textIn(item, "type") === "function_call")
    .map((item) => textIn(item, "call_id") ?? "");
}
