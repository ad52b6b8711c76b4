/** How each client accepts a user's images, sounds and files. */

import { isRecord } from "../../../shared/is-record.js";
import type { MediaFormName } from "../rule.js";
import type { Block, Media, Source } from "./read-media.js";

type Fields = Readonly<Record<string, unknown>>;

export interface MediaForm {
  /** Whether a block can be sent unchanged. Text always can. */
  readonly takes: (block: Fields) => boolean;
  /** Undefined for media that the provider does not accept. A text description replaces them. */
  readonly write: (media: Media) => Block | undefined;
}

const isOf =
  (...types: readonly unknown[]) =>
  ({ type }: Fields): boolean =>
    types.includes(type);

/** Chat Completions, and most hosts with that protocol: images only. */
const imageUrl: MediaForm = {
  takes: (block) => isOf("image_url")(block) && isRecord(block["image_url"]),
  write: ({ kind, url }) =>
    kind === "image" && url !== undefined ? { type: "image_url", image_url: { url } } : undefined,
};

export const MEDIA_FORMS = {
  "image-url": imageUrl,
  openai: {
    takes: (block) =>
      imageUrl.takes(block) || isOf("input_audio")(block) || (isOf("file")(block) && isRecord(block["file"])),
    write: (media) => {
      const { kind, data, url, id, mimeType = "", name: filename = "file" } = media;
      const format = kind === "audio" && data !== undefined ? audioFormat(mimeType) : undefined;
      if (format !== undefined) return { type: "input_audio", input_audio: { data, format } };
      if (kind !== "file") return imageUrl.write(media);
      if (id !== undefined) return { type: "file", file: { file_id: id } };
      return data === undefined ? undefined : { type: "file", file: { filename, file_data: url } };
    },
  },
  "openai-responses": {
    takes: isOf("image_url", "input_text", "input_image", "input_file", "mcp_approval_response"),
    write: (media) => {
      const { kind, data, url, id, name: filename = "file" } = media;
      if (kind === "image" && id !== undefined) return { type: "input_image", file_id: id, detail: "auto" };
      if (kind !== "file") return imageUrl.write(media);
      if (id !== undefined) return { type: "input_file", file_id: id };
      return data === undefined
        ? { type: "input_file", file_url: url }
        : { type: "input_file", filename, file_data: url };
    },
  },
  anthropic: {
    // The client leaves out images that the provider's own form names by id, and sends images in LangChain's older
    // form twice.
    takes: (block) =>
      isOf("image_url", "search_result", "container_upload")(block) ||
      (isOf("document")(block) && isRecord(block["source"])) ||
      (isOf("image")(block) && (isStandard(block) || hasOpenSource(block))),
    write: (media) => {
      const { kind, data, id, mimeType, name: title } = media;
      if (kind === "image")
        return id === undefined
          ? { type: "image", source: anthropicSource(media) }
          : { type: "image", fileId: id };
      // Apart from text, it reads only PDF files.
      const isRead = data === undefined || mimeType === "application/pdf";
      if (kind !== "file" || !isRead) return undefined;
      return { type: "document", source: anthropicSource(media), ...(title && { title }) };
    },
  },
  gemini: {
    takes: (block) =>
      isOf("media")(block) ||
      (isOf("image_url")(block) && /^data:/.test(String(toFields(block["image_url"])["url"]))),
    write: ({ data, url, id, mimeType = "image/png" }) => {
      if (id !== undefined) return undefined;
      return { type: "media", mimeType, ...(data === undefined ? { fileUri: url } : { data }) };
    },
  },
  none: { takes: () => false, write: () => undefined },
} as const satisfies Readonly<Record<MediaFormName, MediaForm>>;

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

function anthropicSource({ data, url, id, mimeType }: Source): object {
  if (id !== undefined) return { type: "file", file_id: id };
  return data === undefined ? { type: "url", url } : { type: "base64", media_type: mimeType, data };
}

function toFields(value: unknown): Fields {
  return isRecord(value) ? value : { url: value };
}
