/**
 * API keys. The server knows only their hashes. A key has 256 random bits, so a fast hash is enough: nobody can try all
 * keys. A password that a human chose would need a slow one.
 */

import { createHash, randomBytes, timingSafeEqual } from "node:crypto";
import { InvalidSettingError } from "../../errors.js";

const PREFIX = "tether_";
const ENTRY = /^([^:\s,#][^:\s,]*):sha256-([0-9a-f]{64})$/;

/** One key that may be used. */
export interface ApiKeyEntry {
  readonly user: string;
  readonly digest: Buffer;
}

/** A new key of a user, and the entry that allows it. The key cannot be read from the entry. */
export function makeApiKey(user: string): { readonly key: string; readonly entry: string } {
  const key = `${PREFIX}${randomBytes(32).toString("base64url")}`;
  const entry = `${user}:sha256-${digestOf(key).toString("hex")}`;
  if (!ENTRY.test(entry))
    throw InvalidSettingError.expected("user", "a name without spaces, commas and colons", user);
  return { key, entry };
}

/**
 * Reads entries that are separated by commas or line breaks. Lines that begin with `#` are comments.
 *
 * @param setting What errors call the text. They name the place of an entry, because the entry may be a key.
 * @throws InvalidSettingError for an entry of another form, or if there is none.
 */
export function readApiKeys(text: string, setting: string): readonly ApiKeyEntry[] {
  const entries = text
    .split("\n")
    .filter((line) => !line.trimStart().startsWith("#"))
    .flatMap((line) => line.split(","))
    .map((entry) => entry.trim())
    .filter((entry) => entry !== "")
    .map((entry, index) => {
      const [, user, digest] = ENTRY.exec(entry) ?? [];
      if (user !== undefined && digest !== undefined) return { user, digest: Buffer.from(digest, "hex") };
      throw new InvalidSettingError(
        setting,
        `Expected entry ${index + 1} of \`${setting}\` to be \`user:sha256-\` and 64 hexadecimal digits. Make one with \`npm run api-key -- USER\`. The entry is not shown, because it may be a key.`,
      );
    });
  if (entries.length === 0)
    throw new InvalidSettingError(setting, `Expected \`${setting}\` to have at least one API key.`);
  return entries;
}

/**
 * The user of a key, or undefined for an unknown key. All entries are compared, each in constant time, so the time says
 * nothing about a key.
 */
export function userOfKey(entries: readonly ApiKeyEntry[], key: string): string | undefined {
  const given = digestOf(key);
  let found: string | undefined;
  for (const { user, digest } of entries) if (timingSafeEqual(given, digest)) found = user;
  return found;
}

function digestOf(key: string): Buffer {
  return createHash("sha256").update(key, "utf8").digest();
}
