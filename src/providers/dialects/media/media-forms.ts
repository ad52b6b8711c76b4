/** How each client accepts a user's images, sounds and files. */

import { isRecord } from "../../../shared/is-record.js";
import type { MediaFormName } from "../rule.js";
import type { Block, Media, Source } from "./read-media.js";

type Fields = Readonly<Record<string, unknown>>;

export interface MediaForm {
  /** Whether a block can be sent unchanged. Text always can. */
  readonly takes: (block: Fields) => boolean;
  /** Undefined for media that the provider does not accept. A text description replaces them. */
  readonly write: (media: Exclude<Media, { kind: "text" }>) => Block | undefined;
}

const isOf =
  (...types: readonly unknown[]) =>
  ({ type }: Fields): boolean =>
    types.includes(type);

/** Chat Completions, and most hosts with that protocol: images only. */
const imageUrl: MediaForm = {
  takes: (block) => isOf("image_url")(block) && isRecord(block["image_url"]),
  write: ({ kind, source }) => {
    const url = kind === "image" ? toUrl(source) : undefined;
    return url === undefined ? undefined : { type: "image_url", image_url: { url } };
  },
};

export const MEDIA_FORMS = {
  "image-url": imageUrl,
  openai: {
    takes: (block) =>
      imageUrl.takes(block) || isOf("input_audio")(block) || (isOf("file")(block) && isRecord(block["file"])),
    write: (media) => {
      const { kind, source, name: filename = "file" } = media;
      const format = kind === "audio" && source.kind === "data" ? audioFormat(source.mimeType) : undefined;
      if (format !== undefined && source.kind === "data")
        return { type: "input_audio", input_audio: { data: source.data, format } };
      if (kind !== "file") return imageUrl.write(media);
      if (source.kind === "id") return { type: "file", file: { file_id: source.id } };
      return source.kind === "data"
        ? { type: "file", file: { filename, file_data: toUrl(source) } }
        : undefined;
    },
  },
  "openai-responses": {
    takes: isOf("image_url", "input_text", "input_image", "input_file", "mcp_approval_response"),
    write: (media) => {
      const { kind, source, name: filename = "file" } = media;
      if (kind === "image" && source.kind === "id")
        return { type: "input_image", file_id: source.id, detail: "auto" };
      if (kind !== "file") return imageUrl.write(media);
      if (source.kind === "id") return { type: "input_file", file_id: source.id };
      if (source.kind === "url") return { type: "input_file", file_url: source.url };
      return { type: "input_file", filename, file_data: toUrl(source) };
    },
  },
  anthropic: {
    // The client leaves out images that the provider's own form names by id, and sends images in LangChain's older
    // form twice.
    takes: (block) =>
      isOf("image_url", "search_result", "container_upload")(block) ||
      (isOf("document")(block) && isRecord(block["source"])) ||
      (isOf("image")(block) && (isStandard(block) || hasOpenSource(block))),
    write: ({ kind, source, name: title }) => {
      if (kind === "image")
        return source.kind === "id"
          ? { type: "image", fileId: source.id }
          : { type: "image", source: anthropicSource(source) };
      // Apart from text, it reads only PDF files.
      const isRead = source.kind !== "data" || source.mimeType === "application/pdf";
      if (kind !== "file" || !isRead) return undefined;
      return { type: "document", source: anthropicSource(source), ...(title && { title }) };
    },
  },
  gemini: {
    takes: (block) =>
      isOf("media")(block) ||
      (isOf("image_url")(block) && /^data:/.test(String(toFields(block["image_url"])["url"]))),
    write: ({ source }) => {
      if (source.kind === "id") return undefined;
      const { mimeType = "image/png" } = source;
      return source.kind === "data"
        ? { type: "media", mimeType, data: source.data }
        : { type: "media", mimeType, fileUri: source.url };
    },
  },
  none: { takes: () => false, write: () => undefined },
} as const satisfies Readonly<Record<MediaFormName, MediaForm>>;

function toUrl(source: Source): string | undefined {
  if (source.kind === "id") return undefined;
  return source.kind === "url" ? source.url : `data:${source.mimeType};base64,${source.data}`;
}

function audioFormat(mimeType: string): "wav" | "mp3" | undefined {
  if (/^audio\/(x-|vnd\.)?wave?$/.test(mimeType)) return "wav";
  return mimeType === "audio/mpeg" || mimeType === "audio/mp3" ? "mp3" : undefined;
}

function isStandard(block: Fields): boolean {
  return !("source_type" in block) && ["data", "url", "fileId"].some((field) => block[field] !== undefined);
}

function hasOpenSource({ source }: Fields): boolean {
  return isRecord(source) && (source["type"] === "base64" || source["type"] === "url");
}

function anthropicSource(source: Source): object {
  if (source.kind === "id") return { type: "file", file_id: source.id };
  if (source.kind === "url") return { type: "url", url: source.url };
  return { type: "base64", media_type: source.mimeType, data: source.data };
}

function toFields(value: unknown): Fields {
  return isRecord(value) ? value : { url: value };
}
