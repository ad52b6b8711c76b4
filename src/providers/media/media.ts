/** Images, sounds and files in a user's content, in the form of any provider. */

import { HumanMessage } from "@langchain/core/messages";
import { asText, decodeBase64Text, encodeBase64 } from "../../shared/json.js";
import { isRecord, nativeClassOf, pickFields, textIn } from "../../shared/values.js";
import type { Block, Dialect, Fields, Media, MediaForm, MediaKind, Source } from "../contract/dialect.js";
import { DIALECTS } from "../table/dialects.js";

/** The block as it can be sent: itself, or in the provider's form. Undefined if it must be described. */
export function sendableBlock(block: unknown, form: MediaForm): Block | undefined {
  if (!isRecord(block)) return undefined;
  if (isSendable(block, form)) return block as Block;
  const media = readMedia(block);
  if (media === undefined) return undefined;
  if (media.kind === "text") return { type: "text", text: media.text };
  const written = opens(media, form) ? form.write(media) : undefined;
  // What claims to be base64 may not be.
  if (written === undefined || !isSendable(written, form)) return undefined;
  return { ...pickFields(block, (name) => form.keeps?.includes(name) ?? false), ...written };
}

/**
 * Whether a block can be sent unchanged. A client throws for an address that it does not know, or its provider cannot
 * open it.
 */
export function isSendable(block: Fields, form: MediaForm): boolean {
  if (!form.takes(block)) return false;
  const media = readMedia(block);
  return media === undefined || media.kind === "text" || opens(media, form);
}

const WEB = /^https?:/i;

function opens({ data, url }: Media, { opens = WEB }: MediaForm): boolean {
  return data !== undefined || url === undefined || opens.test(url);
}

/** A file of plain text. */
interface PlainText {
  readonly kind: "text";
  readonly text: string;
}

/** Undefined for a block that is not an image, sound or file, or has an unknown form. */
export function readMedia(block: unknown): Media | PlainText | undefined {
  if (!isRecord(block)) return undefined;
  const text = readPlainText(block);
  if (text !== undefined) return { kind: "text", text };
  const standard = toStandard(resourceIn(block) ?? block);
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

/** A file in an MCP server's resource. */
function resourceIn({ type, resource }: Fields): Fields | undefined {
  if (type !== "resource" || !isRecord(resource) || typeof resource["blob"] !== "string") return undefined;
  const { mimeType = "", blob, uri } = resource;
  const [, kind = "file"] = /^(image|audio|video)\//.exec(asText(mimeType)) ?? [];
  return { type: kind, mimeType, data: blob, metadata: { name: uri } };
}

const READERS = new Set(Object.values<Dialect>(DIALECTS).flatMap(({ media }) => media.read ?? []));

/** LangChain's standard form. LangChain converts its own older form and most forms of OpenAI and Anthropic. */
function toStandard(block: Fields): Fields {
  for (const read of READERS) {
    const own = read(block);
    if (own !== undefined) return own;
  }
  const [standard] = new HumanMessage({ content: [block as Block] }).contentBlocks;
  return isRecord(standard) ? standard : block;
}

const DEFAULT_TYPES: Readonly<Record<MediaKind, string>> = {
  image: "image/png",
  audio: "audio/wav",
  video: "video/mp4",
  file: "application/pdf",
};

function readSource(block: Fields, kind: MediaKind): Source | undefined {
  const mimeType = readString(block, "mimeType");
  const { data } = block;
  const encoded = isBytes(data) ? encodeBase64(data) : data;
  if (typeof encoded === "string") return dataSource(mimeType ?? DEFAULT_TYPES[kind], encoded);
  const url = readString(block, "url");
  if (url !== undefined) {
    const [head = "", type] = DATA_URL.exec(url) ?? [];
    const encodedData = url.slice(head.length);
    const isData = type !== undefined && BASE64.test(encodedData);
    return isData ? dataSource(type.toLowerCase(), encodedData) : { url, mimeType };
  }
  const id = readString(block, "fileId");
  return id === undefined ? undefined : { id };
}

const DATA_URL = /^data:([\w.+-]{1,100}\/[\w.+-]{1,100})(?:;[\w=.+-]{1,100})?;base64,/i;
const BASE64 = /^[\w+/-]+=*$/;

/** @param encoded Base64. Its URL-safe form is rewritten, because not all clients read it. */
function dataSource(mimeType: string, encoded: string): Source {
  const data = encoded.replaceAll("-", "+").replaceAll("_", "/");
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

function readKind(value: unknown): MediaKind | undefined {
  return value === "image" || value === "audio" || value === "video" || value === "file" ? value : undefined;
}

function readString(fields: Fields, name: string): string | undefined {
  return textIn(fields, name) || undefined;
}
