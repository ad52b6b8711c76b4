/** JSON and hashes that never throw. */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";

/** The value that a JSON text describes, or undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Any value's JSON; undefined for a value without JSON (a cycle, a bigint, a function, a throwing getter). */
export function toJson(
  value: unknown,
  replace?: (this: unknown, key: string, value: unknown) => unknown,
  indent?: number,
): string | undefined {
  try {
    return JSON.stringify(value, replace, indent);
  } catch {
    return undefined;
  }
}

/** The value as a text; empty if it has none, like a symbol or an object whose `toString` throws. */
export function asText(value: unknown): string {
  return safely(() => String(value), "");
}

/** What the function returns; `otherwise` if it throws. For values whose getters or traps can throw. */
export function safely<Value>(read: () => Value): Value | undefined;
export function safely<Value>(read: () => Value, otherwise: Value): Value;
export function safely<Value>(read: () => Value, otherwise?: Value): Value | undefined {
  try {
    return read();
  } catch {
    return otherwise;
  }
}

/*
 * Base64 without Node's `Buffer`, because browsers do not have it.
 */

/** A function can take only a limited number of arguments, so bytes are converted in chunks. */
const CHUNK = 0x8000;

export function encodeBase64(bytes: Uint8Array): string {
  let binary = "";
  for (let start = 0; start < bytes.length; start += CHUNK) {
    binary += String.fromCharCode(...bytes.subarray(start, start + CHUNK));
  }
  return btoa(binary);
}

/** Decodes UTF-8 text. Characters that are not base64 are skipped, as `Buffer` does. */
export function decodeBase64Text(encoded: string): string {
  const [digits = ""] = encoded.replaceAll("-", "+").replaceAll("_", "/").split("=");
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(decodeBase64(digits));
}

/** The bytes of base64. Other characters are ignored. */
export function decodeBase64(digits: string): Uint8Array {
  const known = digits.replaceAll(/[^A-Za-z0-9+/]/g, "");
  // A single last digit encodes less than a byte.
  const whole = known.length % 4 === 1 ? known.slice(0, -1) : known;
  return Uint8Array.from(atob(whole), (character) => character.charCodeAt(0));
}

const UTF8 = new TextEncoder();

/**
 * The beginning of a text's SHA-256, as hexadecimal digits. All ids that this library derives come from here: 32 digits
 * are 128 bits, so no two texts get one id, even if somebody looks for such texts. It is synchronous, because a reducer
 * is and the Web Crypto API is not.
 *
 * @param digits How many of the 64 digits are wanted.
 */
export function hashText(text: string, digits = 32): string {
  // UTF-8 has no lone surrogates, so all of them would be the same. JSON escapes them.
  return bytesToHex(sha256(UTF8.encode(JSON.stringify(text)))).slice(0, digits);
}
