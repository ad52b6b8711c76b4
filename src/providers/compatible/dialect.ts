/**
 * Hosts with the protocol of OpenAI's Chat Completions that belong to somebody else, such as gateways and servers of
 * models, and clients with a protocol of their own that nobody here knows.
 */

import { isRecord } from "../../shared/values.js";
import { CHAT_CLIENT, IMAGE_URL, openai } from "../openai/dialect.js";
import { COMMON, type Dialect, EVERYWHERE, type Fields, isOf, type MediaForm } from "../rule.js";

const { "call-id": _, ...rules } = openai.rules;

/**
 * A host that nobody knows. A sound history is sent as it is stored. Such hosts write ids of any form and length: those
 * of Kimi have dots and colons, and LiteLLM puts signatures into them. What only some hosts refuse stands in
 * `strict`, which a host gets after it has refused a request.
 */
export const openaiCompatible = {
  ...CHAT_CLIENT,
  rules,
  callId: /./s,
  blocksIn: openai.blocksIn,
  media: openai.media,
  makers: [],
} as const satisfies Dialect;

const anyMedia: MediaForm = {
  takes: (block) => !isForeignPicture(block),
  write: IMAGE_URL.write,
  opens: /^/,
};

/**
 * A client that nobody knows, such as those of Bedrock, Ollama, Cerebras and Cohere. A sound history is sent as it is
 * stored: each call has its result, each value is JSON, and nothing else is changed. If the client throws for it or its
 * provider refuses it, `strict` is tried. Only pictures in another form than `image_url` get that form, which most clients
 * take.
 */
export const asStored = {
  ...COMMON,
  rules: {
    ...EVERYWHERE,
    "missing-result": rules["missing-result"],
    "orphan-result": rules["orphan-result"],
  },
  callPlaces: ["listed"],
  callId: /./s,
  toolName: /./s,
  assistantBlocks: "all",
  ignoredBlocks: "all",
  hasHostFields: true,
  blocksIn: ["human", "ai", "tool"],
  media: { ...anyMedia, results: anyMedia },
  makers: [],
} as const satisfies Dialect;

/** A picture of LangChain's, OpenAI's Responses API, Anthropic's or Gemini's. Bedrock's has `image` in it. */
function isForeignPicture(block: Fields): boolean {
  return (
    (isOf("image")(block) && !isRecord(block["image"])) || isOf("input_image", "media", "inlineData")(block)
  );
}

/** The rules of a provider for requests in OpenAI's form, which its own endpoint or a gateway translates. */
export function overOpenAI({ rules, callId, toolName }: Pick<Dialect, "rules" | "callId" | "toolName">) {
  return { ...openaiCompatible, rules, callId, toolName } satisfies Dialect;
}
