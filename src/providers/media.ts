/** Images, sounds and files in a user's content, in the form of any provider. */

import { HumanMessage, type MessageContent, parseBase64DataUrl } from "@langchain/core/messages";
import { decodeBase64Text, encodeBase64 } from "../shared/json.js";
import { isRecord, nativeClassOf } from "../shared/values.js";
import type { MediaFormName } from "./rule.js";

export type Block = Exclude<MessageContent, string>[number];

type Kind = "image" | "audio" | "video" | "file";

/** Where the bytes are: in `data`, at `url`, or with a provider under its own `id`. */
interface Source {
  /** Base64. */
  readonly data?: string | undefined;
  /** With `data`, the data URL. */
  readonly url?: string | undefined;
  readonly id?: string | undefined;
  /** Known if there is `data`. */
  readonly mimeType?: string | undefined;
}

interface Media extends Source {
  readonly kind: Kind;
  readonly name: string | undefined;
}

/** A file of plain text. */
interface PlainText {
  readonly kind: "text";
  readonly text: string;
}

type Fields = Readonly<Record<string, unknown>>;

/** Undefined for a block that is not an image, sound or file, or has an unknown form. */
export function readMedia(block: unknown): Media | PlainText | undefined {
  if (!isRecord(block)) return undefined;
  const text = readPlainText(block);
  if (text !== undefined) return { kind: "text", text };
  const standard = toStandard(block);
  const kind = readKind(standard["type"]);
  const source = readSource(standard, kind ?? "file");
  if (kind === undefined || source === undefined) return undefined;
  if (source.data !== undefined && source.mimeType?.startsWith("text/"))
    return { kind: "text", text: decodeBase64Text(source.data) };
  return { kind, ...source, name: readName(block) ?? readName(standard) };
}

/** LangChain's `text-plain` and its older `source_type: "text"`, and Anthropic's text documents. */
function readPlainText({ type, source_type, text, source }: Fields): string | undefined {
  const isPlain = type === "text-plain" || (type === "file" && source_type === "text");
  if (isPlain && typeof text === "string") return text;
  if (type !== "document" || !isRecord(source) || source["type"] !== "text") return undefined;
  return readString(source, "data");
}

/** LangChain's standard form. LangChain converts its own older form and most forms of OpenAI and Anthropic. */
function toStandard(block: Fields): Fields {
  const own = readOpenAI(block) ?? readGemini(block);
  if (own !== undefined) return own;
  const [standard] = new HumanMessage({ content: [block as Block] }).contentBlocks;
  return isRecord(standard) ? standard : block;
}

/** Forms that LangChain leaves unchanged: a bare URL, `file_data`, and the blocks of the Responses API. */
function readOpenAI(block: Fields): Fields | undefined {
  const { type, image_url, file } = block;
  if ((type === "image_url" || type === "input_image") && typeof image_url === "string")
    return { type: "image", url: image_url };
  if (type === "input_image") return { type: "image", fileId: block["file_id"] };
  const written = type === "input_file" ? block : type === "file" && isRecord(file) ? file : undefined;
  if (written === undefined) return undefined;
  const { file_data, file_url, file_id } = written;
  return { type: "file", url: file_data ?? file_url, fileId: file_id };
}

function readGemini(block: Fields): Fields | undefined {
  const part = block["type"] === "media" ? block : (block["inlineData"] ?? block["fileData"]);
  if (!isRecord(part)) return undefined;
  const { mimeType, data, fileUri } = part;
  const [kind] = typeof mimeType === "string" ? mimeType.split("/") : [];
  return { type: readKind(kind) ?? "file", mimeType, data, url: fileUri };
}

const DEFAULT_TYPES: Readonly<Record<Kind, string>> = {
  image: "image/png",
  audio: "audio/wav",
  video: "video/mp4",
  file: "application/pdf",
};

function readSource(block: Fields, kind: Kind): Source | undefined {
  const mimeType = readString(block, "mimeType");
  const { data } = block;
  const encoded = isBytes(data) ? encodeBase64(data) : data;
  if (typeof encoded === "string") return dataSource(mimeType ?? DEFAULT_TYPES[kind], encoded);
  const url = readString(block, "url");
  if (url !== undefined) {
    const parsed = parseBase64DataUrl({ dataUrl: url });
    return parsed === undefined ? { url, mimeType } : dataSource(parsed.mime_type, parsed.data);
  }
  const id = readString(block, "fileId");
  return id === undefined ? undefined : { id };
}

function dataSource(mimeType: string, data: string): Source {
  return { mimeType, data, url: `data:${mimeType};base64,${data}` };
}

function isBytes(value: unknown): value is Uint8Array {
  return nativeClassOf(value) === "Uint8Array";
}

function readName({ file, metadata, ...block }: Fields): string | undefined {
  const places = [block, file, metadata].filter(isRecord);
  return places
    .flatMap((place) => ["filename", "title", "name"].map((field) => readString(place, field)))
    .find((name) => name !== undefined);
}

function readKind(value: unknown): Kind | undefined {
  return value === "image" || value === "audio" || value === "video" || value === "file" ? value : undefined;
}

function readString(fields: Fields, name: string): string | undefined {
  const value = fields[name];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/*
 * How each client accepts a user's images, sounds and files.
 */

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
