/**
 * What providers accept of pictures and files: which types, how large, how many. Only headers are decoded, so no
 * picture library is needed.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { decodeBase64, hashText } from "../../shared/json.js";
import { isRecord } from "../../shared/values.js";
import type { Media, MediaLimits } from "../contract/dialect.js";
import { readMedia } from "./media.js";

/** A picture, sound or file in a message, as far as it can be told without decoding it. */
export interface ShownMedia {
  readonly media: Media;
  /** The same for the same picture, in whatever form and message it is. */
  readonly fingerprint: string;
  /** What the first bytes say. Undefined if they say nothing. */
  readonly found: Found | undefined;
}

interface Found {
  readonly mimeType: string;
  readonly width?: number | undefined;
  readonly height?: number | undefined;
}

const shownMedia = new WeakMap<object, ShownMedia | "none">();

/** Undefined for a block that is not a picture, sound or file. Each block is read once. */
export function shownIn(block: unknown): ShownMedia | undefined {
  if (!isRecord(block) || block["type"] === "text") return undefined;
  const known = shownMedia.get(block);
  if (known !== undefined) return known === "none" ? undefined : known;
  const media = readMedia(block);
  const shown = media === undefined || media.kind === "text" ? undefined : showMedia(media);
  shownMedia.set(block, shown ?? "none");
  return shown;
}

function showMedia(media: Media): ShownMedia {
  const { data, url, id } = media;
  const said = data ?? url ?? id ?? "";
  return {
    media,
    fingerprint: fingerprintOf(said),
    found: data === undefined ? undefined : readHeader(data),
  };
}

const LONGEST_WHOLE = 4_096;

/** For long data: its length and some of its parts. */
function fingerprintOf(data: string): string {
  if (data.length <= LONGEST_WHOLE) return hashText(data, 16);
  const middle = Math.floor(data.length / 2);
  const parts = [data.slice(0, 1_024), data.slice(middle, middle + 1_024), data.slice(-1_024)];
  return hashText(`${data.length} ${parts.join(" ")}`, 16);
}

/** The user's and the tools' pictures, sounds and files, with their messages. */
export function mediaOf(
  messages: readonly BaseMessage[],
): readonly { readonly message: BaseMessage; readonly index: number; readonly shown: ShownMedia }[] {
  return messages.flatMap((message, index) => {
    const { type, content } = message;
    if ((type !== "human" && type !== "tool") || !Array.isArray(content)) return [];
    return content.flatMap((block) => {
      const shown = shownIn(block);
      return shown === undefined ? [] : [{ message, index, shown }];
    });
  });
}

/** Clients' and programs' names for the JPEG type. Providers know only one. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  "image/jpg": "image/jpeg",
  "image/pjpeg": "image/jpeg",
  "image/x-png": "image/png",
};

/** The type under which something can be sent: its bytes' type, which providers compare with the stated one. */
export function typeOf({ media, found }: ShownMedia): string | undefined {
  const said = media.mimeType?.toLowerCase().split(";")[0]?.trim();
  return found?.mimeType ?? (said === undefined ? undefined : (OTHER_NAMES[said] ?? said));
}

/** Why a provider with these limits does not accept it, as the end of a sentence. Undefined: it may. */
export function faultOfMedia(shown: ShownMedia, limits: MediaLimits): string | undefined {
  const { media, found } = shown;
  if (media.data === "") return "it is empty";
  if (media.kind !== "image" || media.data === undefined) return undefined;
  const type = typeOf(shown);
  if (limits.types !== undefined && type !== undefined && !limits.types.includes(type))
    return "the provider of the model does not read this type";
  if (limits.mostCharacters !== undefined && media.data.length > limits.mostCharacters)
    return `the provider of the model accepts at most ${sizeText(limits.mostCharacters * BYTES_PER_CHARACTER)}`;
  const { width = 0, height = 0 } = found ?? {};
  if (width === 0 || height === 0) return undefined;
  const [least, most] = [Math.min(width, height), Math.max(width, height)];
  if (limits.mostPixels !== undefined && most > limits.mostPixels)
    return `the provider of the model accepts at most ${limits.mostPixels} pixels on a side`;
  if (limits.leastPixels !== undefined && least < limits.leastPixels)
    return `the provider of the model wants at least ${limits.leastPixels} pixels on a side`;
  return undefined;
}

/**
 * The fingerprints of the pictures that do not fit into one request: the oldest of too many, and the large ones of
 * many. Pictures that are already described do not count.
 *
 * The oldest are left out in blocks of a quarter, so that the request's beginning stays the same for several turns.
 */
export function surplusPictures(
  all: readonly ShownMedia[],
  limits: MediaLimits,
  isDescribed: (shown: ShownMedia) => boolean,
): readonly string[] {
  const { mostPictures, manyPictures } = limits;
  if (mostPictures === undefined && manyPictures === undefined) return [];
  const pictures = all.filter((shown) => !isDescribed(shown));
  const surplus = mostPictures === undefined ? [] : oldestOf(pictures, mostPictures);
  if (manyPictures === undefined || pictures.length - surplus.length <= manyPictures.count)
    return surplus.map(({ fingerprint }) => fingerprint);
  const large = pictures.filter(({ found }) => {
    return Math.max(found?.width ?? 0, found?.height ?? 0) > manyPictures.mostPixels;
  });
  // With this many fewer, the request does not have many.
  const left = pictures.length - surplus.length;
  const oldest = oldestOf(large, Math.max(large.length - (left - manyPictures.count), 0), manyPictures.count);
  return [...surplus, ...oldest].map(({ fingerprint }) => fingerprint);
}

const SHARE_OF_BLOCK = 0.25;

function oldestOf(pictures: readonly ShownMedia[], most: number, limit = most): readonly ShownMedia[] {
  const excess = pictures.length - most;
  if (excess <= 0) return [];
  const block = Math.max(Math.floor(limit * SHARE_OF_BLOCK), 1);
  return pictures.slice(0, Math.ceil(excess / block) * block);
}

const KINDS = { image: "picture", audio: "sound", video: "video", file: "file" } as const;

/** A sentence that replaces a picture or file. */
export function describeMedia(shown: ShownMedia, why: string): string {
  const { media } = shown;
  const { kind, data, url, id } = media;
  const name = media.name ?? (data === undefined ? (id ?? url) : undefined);
  const { width, height } = shown.found ?? {};
  const facts = [
    typeOf(shown),
    data === undefined ? undefined : sizeText(digitsIn(data) * BYTES_PER_CHARACTER),
    width !== undefined && height !== undefined ? `${width} × ${height} pixels` : undefined,
  ].filter((fact) => fact !== undefined);
  const about = facts.length === 0 ? "" : ` (${facts.join(", ")})`;
  return `[The ${KINDS[kind]}${name === undefined ? "" : ` ${name}`}${about} is not shown, because ${why}.]`;
}

const BYTES_PER_CHARACTER = 0.75;

/** Base64 ends with at most two signs that say nothing. */
function digitsIn(data: string): number {
  const fillers = data.endsWith("==") ? 2 : Number(data.endsWith("="));
  return data.length - fillers;
}

function sizeText(bytes: number): string {
  if (bytes < 1_024) return `${Math.floor(bytes)} bytes`;
  const kilobytes = bytes / 1_024;
  return kilobytes < 1_024 ? `${Math.round(kilobytes)} KB` : `${(kilobytes / 1_024).toFixed(1)} MB`;
}

/*
 * Reads a picture's or file's header: its type, and the sides of a PNG, JPEG, GIF or WebP.
 */

/** A JPEG can have a preview and camera data before its sides. */
const LONGEST_HEADER = 256 * 1_024;

function readHeader(data: string): Found | undefined {
  const bytes = decodeBase64(data.slice(0, Math.ceil((LONGEST_HEADER * 4) / 3)));
  const beginning = textAt(bytes, 0, 1_024);
  const mimeType = TYPES.find(([, isBeginning]) => isBeginning.test(beginning))?.[0];
  if (mimeType !== undefined) return { mimeType, ...SIDES[mimeType]?.(bytes) };
  return isSvg(beginning) ? { mimeType: "image/svg+xml" } : undefined;
}

/** The first bytes of files, each as the character with its code. `\cA` is 1. */
const TYPES: readonly (readonly [mimeType: string, beginning: RegExp])[] = [
  ["image/png", /^\x89PNG/],
  ["image/jpeg", /^\xff\xd8\xff/],
  ["image/gif", /^GIF8[79]a/],
  ["image/webp", /^RIFF.{4}WEBP/s],
  ["image/avif", /^.{4}ftypavi[fs]/s],
  ["image/heic", /^.{4}ftyp(?:hei[cx]|hevc)/s],
  ["image/heif", /^.{4}ftyp(?:mif1|msf1)/s],
  ["image/tiff", /^(?:II\*\0|MM\0\*)/],
  // Two letters say little, but the header that follows has one of these lengths: 12, 40, 108, 124.
  ["image/bmp", /^BM.{12}[\f(l|]\0{3}/s],
  ["image/x-icon", /^\0\0\cA\0[^\0]\0/],
  ["application/pdf", /^%PDF-/],
];

const textAt = (bytes: Uint8Array, start: number, length: number): string =>
  String.fromCharCode(...bytes.subarray(start, start + length));
const byteAt = (bytes: Uint8Array, place: number): number => bytes[place] ?? 0;
const big = (bytes: Uint8Array, place: number): number =>
  byteAt(bytes, place) * 256 + byteAt(bytes, place + 1);
const small = (bytes: Uint8Array, place: number): number =>
  byteAt(bytes, place) + byteAt(bytes, place + 1) * 256;

type Sides = Omit<Found, "mimeType">;

const SIDES: Readonly<Record<string, (bytes: Uint8Array) => Sides | undefined>> = {
  "image/png": (bytes) => ({
    width: big(bytes, 16) * 65_536 + big(bytes, 18),
    height: big(bytes, 20) * 65_536 + big(bytes, 22),
  }),
  "image/gif": (bytes) => ({ width: small(bytes, 6), height: small(bytes, 8) }),
  "image/jpeg": sidesOfJpeg,
  "image/webp": sidesOfWebp,
};

function sidesOfJpeg(bytes: Uint8Array): Sides | undefined {
  for (let place = 2; place + 9 < bytes.length && bytes[place] === 0xff; ) {
    const marker = byteAt(bytes, place + 1);
    // The frame, with any compression. The others in this range are tables.
    if (marker >= 0xc0 && marker <= 0xcf && ![0xc4, 0xc8, 0xcc].includes(marker))
      return { height: big(bytes, place + 5), width: big(bytes, place + 7) };
    place += 2 + big(bytes, place + 2);
  }
  return undefined;
}

function sidesOfWebp(bytes: Uint8Array): Sides | undefined {
  const kind = textAt(bytes, 12, 4);
  if (kind === "VP8X")
    return {
      width: 1 + small(bytes, 24) + byteAt(bytes, 26) * 65_536,
      height: 1 + small(bytes, 27) + byteAt(bytes, 29) * 65_536,
    };
  if (kind === "VP8 ") return { width: small(bytes, 26) % 16_384, height: small(bytes, 28) % 16_384 };
  if (kind !== "VP8L") return undefined;
  const packed = small(bytes, 21) + small(bytes, 23) * 65_536;
  return { width: 1 + (packed % 16_384), height: 1 + (Math.floor(packed / 16_384) % 16_384) };
}

/** What can precede the tag of an SVG. It is read piece by piece: in one pattern, comments can be split in 2^n ways. */
const BEFORE_SVG = /\s+|<\?xml[^>]*>|<!--[\s\S]*?-->|<!DOCTYPE svg[^>]*>/iy;
const SVG = /<svg[\s>/]/iy;

function isSvg(beginning: string): boolean {
  let end = beginning.startsWith("\xef\xbb\xbf") ? 3 : 0;
  BEFORE_SVG.lastIndex = end;
  while (BEFORE_SVG.test(beginning)) end = BEFORE_SVG.lastIndex;
  SVG.lastIndex = end;
  return SVG.test(beginning);
}
