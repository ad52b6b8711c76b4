import hash from "@emotion/hash";

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
