/**
 * Foreign hosts with OpenAI's Chat Completions protocol, such as gateways and model servers, and unknown clients with
 * their own protocol.
 */

import { isRecord } from "../../../shared/values.js";
import { COMMON, type Dialect, type Fields, isOf, type MediaForm } from "../../contract/dialect.js";
import { IMAGE_URL, openaiCompatible } from "../../contract/openai-protocol.js";
import { confirmed, EVERYWHERE, inferred, type StatedRules } from "../../contract/rule.js";

const NO_ELEMENT = "Each message must have at least one content element.";

const anyMedia: MediaForm = {
  takes: (block) => !isForeignPicture(block),
  write: IMAGE_URL.write,
  opens: /^/,
};

/**
 * An unknown client, such as Ollama's, Cerebras's and Cohere's. A sound history is sent as it is stored: each call has
 * its result, each value is JSON, and nothing else changes. If the client throws or its provider refuses it, `strict`
 * is tried. Only pictures change: they become `image_url`, which most clients take.
 */
export const asStored = {
  ...COMMON,
  rules: {
    ...EVERYWHERE,
    "missing-result": openaiCompatible.rules["missing-result"],
    "orphan-result": openaiCompatible.rules["orphan-result"],
  },
  callPlaces: ["listed"],
  callId: /./s,
  toolName: /./s,
  owns: () => true,
  ignoredBlocks: "all",
  hasHostFields: true,
  blocksIn: ["human", "ai", "tool"],
  media: { ...anyMedia, results: anyMedia },
  makers: [],
} as const satisfies Dialect;

/** A picture in the form of LangChain, OpenAI's Responses API, Anthropic or Gemini. Bedrock's has `image` in it. */
function isForeignPicture(block: Fields): boolean {
  return (
    (isOf("image")(block) && !isRecord(block["image"])) || isOf("input_image", "media", "inlineData")(block)
  );
}

/*
 * Hosts of one maker that refuse what others accept.
 */

/** Hosts with OpenAI's protocol that have these rules too. */
function alsoRefusing(rules: StatedRules): Dialect {
  return { ...openaiCompatible, rules: { ...openaiCompatible.rules, ...rules } };
}

/** Grok at xAI. Beside calls, it accepts an empty text. */
export const xai = alsoRefusing({
  "empty-assistant": confirmed(NO_ELEMENT, "AstrBotDevs/AstrBot/issues/6447"),
  "blank-user": confirmed(NO_ELEMENT, "n8n-io/n8n/issues/14797"),
  "blank-result": inferred(NO_ELEMENT),
});

/** Its models repeat ids by design: `functions.weather:0`. Its own endpoint and others refuse repeated ids. */
export const kimi = alsoRefusing({
  "repeated-call-id": inferred("A tool call id occurs twice: {id}.", "openclaw/openclaw/issues/84730"),
  "empty-assistant": confirmed(
    "Invalid request: the message at position {index} with role 'assistant' must not be empty",
    "AstrBotDevs/AstrBot/issues/7200",
  ),
});

/** Its one error for all faults. */
const GLM_ERROR = "1214 The messages parameter is illegal. Please check the documentation.";

/** It also refuses a request without any user message, which is rare. Then `strict` helps. */
export const glm = alsoRefusing({
  "empty-assistant": confirmed(GLM_ERROR, "songquanpeng/one-api/issues/1153"),
});

export const minimax: Dialect = {
  ...alsoRefusing({
    "repeated-call-id": confirmed(
      "invalid params, duplicate tool_call id: {id}",
      "VicBilibily/GCMP/pull/120",
    ),
    arguments: confirmed(
      "invalid params, invalid function arguments json string, tool_call_id: {id} (2013)",
      "earendil-works/pi/issues/5468",
    ),
    "system-position": confirmed(
      "invalid params, invalid chat setting (2013)",
      "MiniMax-AI/MiniMax-M2/issues/51",
    ),
  }),
  // One, anywhere.
  systemPlaces: { several: false, after: ["human", "ai", "tool"], last: true },
};

/** Who gets the dialects of this maker. */
export const compatibleModels = {
  hosts: [
    [/^api\.x\.ai$/, "xai"],
    [/(^|\.)moonshot\.(ai|cn)$/, "kimi"],
    [/^open\.bigmodel\.cn$|(^|\.)z\.ai$/, "glm"],
    [/(^|\.)minimaxi?\.(io|com|chat)$/, "minimax"],
  ],
  // Servers of open models take what GLM's and MiniMax's own hosts refuse.
  hostedModels: [
    [/\bgrok\b/i, "xai"],
    [/\bkimi\b/i, "kimi"],
  ],
  clientsOfAnyHost: ["openrouter", "groq", "xai", "fireworks", "togetherai", "novita"],
} as const;
