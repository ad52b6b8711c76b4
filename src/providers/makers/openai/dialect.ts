/** The rules of OpenAI: Chat Completions and Responses. */

import { textIn } from "../../../shared/values.js";
import {
  COMMON,
  type Dialect,
  isOf,
  type MediaForm,
  type MediaLimits,
  PLAIN_NAME,
} from "../../contract/dialect.js";
import {
  CHAT_CLIENT,
  CHAT_MEDIA,
  CHAT_RULES,
  IMAGE_URL,
  WRONG_PATTERN,
} from "../../contract/openai-protocol.js";
import { confirmed, EVERYWHERE, inferred } from "../../contract/rule.js";
import { storedOutput } from "../../contract/stored-items.js";

/** The client sends these as they are, if a list has nothing else. It writes any other list as JSON. */
const responsesResults: MediaForm = {
  takes: isOf("input_image", "input_file"),
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
  takes: isOf("image_url", "input_image", "input_file"),
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
  rules: CHAT_RULES,
  // Those of Anthropic, and of its own other protocol.
  refusedFields: ["cache_control", "citations", "annotations", "phase"],
  // A result's list can hold only texts.
  blocksIn: ["human", "ai", "tool"],
  media: CHAT_MEDIA,
  makers: ["openai"],
} as const satisfies Dialect;

export const openaiResponses = {
  ...COMMON,
  mediaLimits,
  rules: {
    ...EVERYWHERE,
    "empty-history": CHAT_RULES["empty-history"],
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
  otherRoles: /^developer$/,
  callPlaces: ["output", "listed", "raw"],
  callId: PLAIN_NAME,
  owns: isOf(
    ...["output_text", "refusal", "input_text", "input_image", "input_file", "computer_screenshot"],
    "mcp_approval_response",
  ),
  ignoredBlocks: "all",
  stateFields: [
    { place: "additional_kwargs", name: "reasoning" },
    { place: "additional_kwargs", name: "tool_outputs" },
    { place: "additional_kwargs", name: "__openai_function_call_ids__" },
    { place: "additional_kwargs", name: "__openai_custom_tool_call_ids__" },
    { place: "response_metadata", name: "output" },
  ],
  refusedFields: ["cache_control", "citations"],
  blocksIn: ["human", "ai", "tool"],
  media: responsesMedia,
  isCompacted: (message) =>
    storedOutput(message)?.some((item) => textIn(item, "type") === "compaction") === true,
  makers: ["openai"],
} as const satisfies Dialect;

const { "missing-result": missing, "orphan-result": orphan, "empty-history": empty } = openaiResponses.rules;

/**
 * Another host with the Responses API. It gets its items as they are stored: xAI gives two items one id and takes them
 * back, and others have ids of any length, or none. Only the items' calls must be the message's.
 */
export const responsesCompatible = {
  ...openaiResponses,
  mediaLimits: {},
  rules: { ...EVERYWHERE, "missing-result": missing, "orphan-result": orphan, "empty-history": empty },
  callId: /./s,
  toolName: /./s,
  refusedFields: [],
} as const satisfies Dialect;

/** Who gets the dialects of this maker. */
export const openaiModels = {
  clientsOfAnyHost: ["openai", "azure_openai"],
  // The regions have names such as `eu.api.openai.com`.
  hosts: [
    [/(^|\.)api\.openai\.com$|\.openai\.azure\.(com|us|cn)$|\.cognitiveservices\.azure\.com$/, "openai"],
  ],
  hostedModels: [[/^openai\/(?!gpt-oss)/i, "openai"]],
} as const;
