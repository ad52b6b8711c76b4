import { digest } from "ohash/crypto";

/**
 * The SHA-256 of a text in UTF-8, as 64 hexadecimal digits. Synchronous even in browsers, because a reducer
 * must be synchronous and the Web Crypto API is not.
 */
export function hashText(text: string): string {
  const base64 = digest(text).replaceAll("-", "+").replaceAll("_", "/");
  return Array.from(atob(base64), (byte) => byte.charCodeAt(0).toString(16).padStart(2, "0")).join("");
}
