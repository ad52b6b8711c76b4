/** JSON and hashes that never throw. */

import hash from "@emotion/hash";

/** The value that a JSON text describes, or undefined if the text is not JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The JSON of any value; undefined for a value without JSON (a cycle, a bigint, a function, a throwing
 * getter).
 */
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
  const known = digits.replaceAll(/[^A-Za-z0-9+/]/g, "");
  // A single last digit encodes less than a byte.
  const whole = known.length % 4 === 1 ? known.slice(0, -1) : known;
  const bytes = Uint8Array.from(atob(whole), (character) => character.charCodeAt(0));
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

/** Each gives another hash of 32 bits. */
const SALTS = ["", " ", "  ", "   "];

/**
 * A hash of a text, as 32 hexadecimal digits. It is fast and small, and no protection against forgery. Synchronous even
 * in browsers, because a reducer must be synchronous and the Web Crypto API is not.
 *
 * @param digits How many of the digits are wanted.
 */
export function hashText(text: string, digits = 32): string {
  // The hash reads one byte of each character. JSON escapes the lone surrogates that the encoding would refuse.
  const ascii = encodeURIComponent(JSON.stringify(text));
  let hashes = "";
  for (const salt of SALTS) {
    if (hashes.length >= digits) break;
    hashes += Number.parseInt(hash(salt + ascii), 36)
      .toString(16)
      .padStart(8, "0");
  }
  return hashes.slice(0, digits);
}
