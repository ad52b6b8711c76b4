/** The rules of Google's Gemini. */

import { asText } from "../../../shared/json.js";
import { isRecord, textIn } from "../../../shared/values.js";
import {
  COMMON,
  type Dialect,
  isOf,
  type MediaForm,
  type MediaLimits,
  PLAIN_NAME,
} from "../../contract/dialect.js";
import { overOpenAI } from "../../contract/openai-protocol.js";
import { confirmed, EVERYWHERE, INFERRED } from "../../contract/rule.js";

/*
 * Thought signatures, as `ChatGoogle` stores them: on entries of `tool_calls`, on content blocks, and for a plain text
 * in its own field. Only Gemini can read them.
 */

/** Google documents it for calls that Gemini did not make: https://ai.google.dev/gemini-api/docs/thought-signatures */
export const GEMINI_SENTINEL = "skip_thought_signature_validator";

const SINCE_3 = /gemini-(?:[3-9]|\d\d)/;

/** Gemini 3 and later refuse a turn whose first call has no signature. */
export function needsSignature(modelId: string): boolean {
  return SINCE_3.test(modelId);
}

/** The field of `additional_kwargs` with a plain text's block. */
export const ORIGINAL_TEXT = "originalTextContentBlock";

const SIGNATURE = "thoughtSignature";

export function signatureOf(value: unknown): string | undefined {
  return textIn(value, SIGNATURE);
}

const UNEQUAL =
  "Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.";
const MISPLACED =
  "Please ensure that function call turn comes immediately after a user turn or after a function response turn.";
const EMPTY = "contents.parts must not be empty";

const media: MediaForm = {
  read: (block) => {
    const part = block["type"] === "media" ? block : (block["inlineData"] ?? block["fileData"]);
    if (!isRecord(part)) return undefined;
    const { mimeType, data, fileUri } = part;
    const [, kind = "file"] =
      /^(image|audio|video)(?:\/|$)/.exec(typeof mimeType === "string" ? mimeType : "") ?? [];
    return { type: kind, mimeType, data, url: fileUri };
  },
  // Also files in Google's storage.
  opens: /^(https?|gs):/i,
  takes: (block) =>
    isOf("media")(block) || (isOf("image_url")(block) && /^data:/.test(asText(urlOf(block["image_url"])))),
  write: ({ data, url, id, mimeType = "image/png" }) => {
    if (id !== undefined) return undefined;
    return { type: "media", mimeType, ...(data === undefined ? { fileUri: url } : { data }) };
  },
};

/**
 * A picture that the model made. It edits the picture when it gets it back, and Gemini 3 then requires its signature:
 * https://github.com/langchain-ai/langchain-google/issues/1431. Both clients store it in Google's form. One throws for
 * this form, and the other sends its type, which Google does not know.
 */
const MADE = "media";

const urlOf = (image: unknown) => (isRecord(image) ? image["url"] : image);

/**
 * "MIME type must be image/png, image/jpeg, image/webp, image/heic, or image/heif." (EvanZhouDev/gemini-ai#3), "Unsupported
 * MIME type: image/svg+xml" (google-gemini/gemini-cli#3054). Newer models have been seen to take GIF and AVIF too
 * (google/adk-python#5694).
 */
const mediaLimits: MediaLimits = {
  types: ["image/png", "image/jpeg", "image/webp", "image/gif", "image/avif", "image/heic", "image/heif"],
};

export const gemini = {
  ...COMMON,
  mediaLimits,
  rules: {
    ...EVERYWHERE,
    "missing-result": confirmed(UNEQUAL, "microsoft/vscode/issues/299295"),
    "orphan-result": confirmed(
      "Please ensure that function response turn comes immediately after a function call turn.",
      "langchain-ai/langchain/issues/27799",
    ),
    "duplicate-result": confirmed(UNEQUAL, "microsoft/vscode/issues/299295"),
    // Up to Gemini 2.5, results are matched by position, because the client sends no ids. That this is the call order
    // is inferred.
    "tool-name": confirmed(
      "Invalid function name. Must start with a letter or an underscore. Must be alphameric (a-z, A-Z, 0-9), underscores (_), dots (.) or dashes (-)",
      "google-gemini/gemini-cli/issues/7869",
    ),
    "content-form": confirmed(EMPTY, "CopilotKit/CopilotKit/issues/1964"),
    // The client throws before it sends anything.
    "empty-assistant": {
      ...confirmed(EMPTY, "CopilotKit/CopilotKit/issues/1964"),
      unless: /gemini-(?:2\.5|[3-9]|\d\d)/,
    },
    "blank-text": { ...confirmed(EMPTY, "CopilotKit/CopilotKit/issues/1964"), unless: SINCE_3 },
    "blank-user": { ...confirmed(EMPTY, "CopilotKit/CopilotKit/issues/1964"), unless: SINCE_3 },
    "first-user": confirmed(MISPLACED, "continuedev/continue/issues/11164"),
    // Older models.
    "assistant-last": confirmed(
      "Please ensure that multiturn requests ends with a user role or a function response.",
      "songquanpeng/one-api/issues/836",
    ),
    // Older models.
    alternation: {
      ...confirmed(
        "Please ensure that multiturn requests alternate between user and model.",
        "microsoft/autogen/issues/2900",
      ),
      unless: /gemini-(?:[2-9]|\d\d)/,
    },
    "call-position": confirmed(MISPLACED, "continuedev/continue/issues/11164"),
    "foreign-state": confirmed("Corrupted thought signature.", "earendil-works/pi/issues/471"),
    "result-order": INFERRED["result-order"],
    "foreign-block": INFERRED["foreign-block"],
    role: INFERRED.role,
    // One of the clients throws for a second one.
    "system-position": INFERRED["system-position"],
  },
  // It takes white space.
  blank: /^$/,
  callPlaces: ["listed", "block"],
  callId: PLAIN_NAME,
  toolName: /^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$/,
  owns: isOf(
    ...["thinking", "executableCode", "codeExecutionResult", "functionCall", "functionResponse"],
    ...["toolCall", "toolResponse", "inlineData", "fileData", MADE],
  ),
  // Anthropic signs thoughts in blocks of this type.
  sharedBlocks: ["thinking"],
  stateFields: [
    { place: "additional_kwargs", name: "__gemini_function_call_thought_signatures__" },
    { place: "additional_kwargs", name: "signatures" },
    { place: "additional_kwargs", name: ORIGINAL_TEXT },
  ],
  blocksIn: ["human", "ai", "tool"],
  media: { ...media, responses: { ...media, takes: isOf(MADE), keeps: [SIGNATURE] } },
  makers: ["google-genai", "google", "google-vertexai"],
} as const satisfies Dialect;

const { alternation: _alternation, "system-position": _system, ...rules } = gemini.rules;

/** The endpoint takes ids of any form. It joins messages of one role, and puts system messages in front. */
export const geminiOpenAI = overOpenAI({ ...gemini, rules, callId: /./s });

/** Who gets the dialects of this maker. */
export const geminiModels = {
  clients: { googlegenerativeai: "gemini", google: "gemini" },
  hosts: [[/^generativelanguage\.googleapis\.com$/, "gemini-openai"]],
  hostedModels: [[/\bgemini\b/i, "gemini-openai"]],
} as const;
