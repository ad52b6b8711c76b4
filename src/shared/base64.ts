/** Base64 without Node's `Buffer`, because browsers do not have it. */

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
