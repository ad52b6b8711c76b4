/** Describes a block as text for a model that cannot take the block itself. */

import { isRecord, nativeClassOf } from "../shared/values.js";

type Fields = Readonly<Record<string, unknown>>;

/** Fields that hold a picture's, a file's or a resource's own fields in some provider's form. */
const NESTED = [
  "file",
  "source",
  "resource",
  "metadata",
  "image_url",
  "input_audio",
  "inlineData",
  "fileData",
];
const NAMES = ["name", "filename", "title", "tool_name", "toolName"];
const ADDRESSES = ["uri", "url", "file_url", "fileUri", "image_url", "document_url", "file_id", "fileId"];
const TYPES = ["mimeType", "mime_type", "media_type"];
const BYTES = ["data", "file_data", "blob", "url", "image_url"];

/** A block's type and, in this order, what is known of its name, address, file type and size. */
export function describeBlock(block: Fields): string {
  const type = typeof block["type"] === "string" ? block["type"] : "block";
  const places = [block, ...NESTED.map((field) => block[field])].filter(isRecord);
  const read = (names: readonly string[], fits: (text: string) => boolean): string | undefined =>
    places
      .flatMap((place) => names.map((name) => place[name]))
      .find((value): value is string => typeof value === "string" && value !== "" && fits(value));
  const bytes = read(BYTES, (text) => !isAddress(text));
  const parts = [
    read(NAMES, () => true),
    read(ADDRESSES, isAddress),
    read(TYPES, () => true) ?? /^data:([^;,]+)/.exec(bytes ?? "")?.[1],
    bytes === undefined ? rawSizeOf(block["data"]) : sizeOf(bytes),
  ].filter((part) => part !== undefined);
  return parts.length === 0 ? `[${type}]` : `[${type}: ${parts.join(", ")}]`;
}

/** Base64 and data URLs are not addresses. A provider's file has an id. */
function isAddress(text: string): boolean {
  return !text.startsWith("data:") && (/^[a-z][a-z0-9+.-]*:/i.test(text) || /^file[-_]/.test(text));
}

const KILOBYTE = 1000;

function rawSizeOf(data: unknown): string | undefined {
  return nativeClassOf(data) === "Uint8Array"
    ? sizeText(Number(Reflect.get(Object(data), "length")))
    : undefined;
}

/** @param encoded Base64, perhaps in a data URL. */
function sizeOf(encoded: string): string {
  return sizeText(Math.floor((encoded.slice(encoded.indexOf(",") + 1).length * 3) / 4));
}

function sizeText(bytes: number): string {
  return bytes < KILOBYTE ? `${bytes} bytes` : `${Math.round(bytes / KILOBYTE)} kB`;
}
