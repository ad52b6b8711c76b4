/** The rules of Amazon Bedrock's Converse API. */

import { asText } from "../../../shared/json.js";
import { isRecord } from "../../../shared/values.js";
import { COMMON, type Dialect, type Fields, isOf, type MediaForm } from "../../contract/dialect.js";
import { confirmed, EVERYWHERE, INFERRED, inferred } from "../../contract/rule.js";

/** Reasoning with its signature, or encrypted. The client sends it back as it is. */
const REASONING = "reasoning_content";

const EMPTY = "The content field in the Message object at messages.{index} is empty.";

/** The file types that the client knows. The API cannot read a file by its address. */
const DOCUMENTS: ReadonlySet<unknown> = new Set([
  "text/csv",
  "text/html",
  "text/markdown",
  "application/pdf",
  "application/msword",
  "application/vnd.ms-excel",
  "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
  "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
]);
const PICTURES: ReadonlySet<unknown> = new Set(["image/gif", "image/jpeg", "image/png", "image/webp"]);

const OWN_KINDS = ["image", "document", "video", "audio"] as const;

/** The API's own form. */
function isOwnMedia(block: Fields): boolean {
  return OWN_KINDS.some((kind) => block["type"] === kind && isRecord(block[kind]));
}

const userMedia: MediaForm = {
  read: ({ type, image }) => {
    if (type !== "image" || !isRecord(image) || !isRecord(image["source"])) return undefined;
    return { type: "image", mimeType: `image/${image["format"]}`, data: image["source"]["bytes"] };
  },
  // The client throws for LangChain's standard form of pictures and files.
  takes: (block) =>
    isOwnMedia(block) ||
    (isOf("image_url")(block) && isDataUrl(block["image_url"])) ||
    (isOf("video", "audio")(block) && block["data"] !== undefined) ||
    (block["source_type"] === "base64" && isKnownFile(block)),
  write: ({ kind, data, url, mimeType, name }) => {
    if (data === undefined || url === undefined) return undefined;
    if (kind === "image")
      return PICTURES.has(mimeType) ? { type: "image_url", image_url: { url } } : undefined;
    if (kind !== "file") return { type: kind, mimeType, data };
    if (!DOCUMENTS.has(mimeType)) return undefined;
    // The API allows no other characters in a name.
    const legal = name?.replace(/[^a-zA-Z0-9 ()[\]-]+/g, " ").trim() || "file";
    return { type: "file", source_type: "base64", mime_type: mimeType, data, metadata: { name: legal } };
  },
};

const media: MediaForm = { ...userMedia, results: userMedia };

function isDataUrl(image: unknown): boolean {
  return asText(isRecord(image) ? image["url"] : image).startsWith("data:image/");
}

function isKnownFile({ type, mime_type }: Fields): boolean {
  return type === "image" ? PICTURES.has(mime_type) : type === "file" && DOCUMENTS.has(mime_type);
}

export const bedrock = {
  ...COMMON,
  rules: {
    ...EVERYWHERE,
    "missing-result": confirmed(
      "Expected toolResult blocks at messages.{index}.content for the following Ids: {ids}",
      "camel-ai/camel/issues/3954",
    ),
    "orphan-result": confirmed(
      "The number of toolResult blocks at messages.{index}.content exceeds the number of toolUse blocks of previous turn.",
      "Just-Curieous/Curie/issues/16",
    ),
    "repeated-call-id": inferred("A toolUseId occurs twice: {id}.", "BerriAI/litellm/pull/20049"),
    "tool-name": confirmed(
      "toolUse.name failed to satisfy constraint: Member must satisfy regular expression pattern: [a-zA-Z0-9_-]+",
      "raphaelmansuy/edgequake-llm/issues/66",
    ),
    arguments: confirmed(
      "The format of the value at messages.{index}.content.0.toolUse.input is invalid",
      "vercel/ai/pull/19023",
    ),
    "content-form": confirmed(EMPTY, "Portkey-AI/gateway/issues/995"),
    "empty-assistant": confirmed(EMPTY, "Portkey-AI/gateway/issues/995"),
    // The client throws before it sends anything.
    "blank-user": confirmed(EMPTY, "Portkey-AI/gateway/issues/995"),
    "blank-text": confirmed(
      "messages: text content blocks must contain non-whitespace text",
      "NousResearch/hermes-agent/pull/63983",
    ),
    // Results are a user message, in which no text can stand (quarkiverse/quarkus-langchain4j#1983).
    "user-after-tool": {
      ...confirmed(
        "A conversation must alternate between user and assistant roles.",
        "microsoft/semantic-kernel/issues/10281",
      ),
      unless: /\b(?:nova|claude)-/,
    },
    // The API has one place for them, and the client moves them there.
    "system-position": INFERRED["system-position"],
    "foreign-state": inferred(
      "A signature of the reasoning is not valid.",
      "langchain-ai/langchain-aws/issues/844",
    ),
    "foreign-block": INFERRED["foreign-block"],
    role: INFERRED.role,
  },
  callPlaces: ["listed"],
  callId: /./s,
  owns: (block) =>
    isOf(REASONING, "reasoning", "resource", "resource_link")(block) ||
    isOwnMedia(block) ||
    ["cachePoint", "guardContent", "json"].some((name) => name in block),
  systemPlaces: { several: true, after: [], last: false },
  blocksIn: ["human", "ai", "tool"],
  media,
  makers: ["bedrock-converse"],
} as const satisfies Dialect;

/** Who gets the dialects of this maker. */
export const bedrockModels = {
  clients: { chat_bedrock_converse: "bedrock" },
} as const;
