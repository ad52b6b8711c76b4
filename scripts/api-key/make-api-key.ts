import { createHash, randomBytes } from "node:crypto";
import { readApiKeys } from "../../server/access/authenticate.js";

/**
 * A new key of a user, and the entry of `AUTH_API_KEYS` that allows it. The key cannot be read from the entry.
 *
 * @throws InvalidSettingError for a name with spaces, commas or colons.
 */
export function makeApiKey(user: string): { readonly key: string; readonly entry: string } {
  const key = `tether_${randomBytes(32).toString("base64url")}`;
  const entry = `${user}:sha256-${createHash("sha256").update(key, "utf8").digest("hex")}`;
  readApiKeys(entry);
  return { key, entry };
}
