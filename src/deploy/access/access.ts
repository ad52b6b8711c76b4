/** Who may use the server: read once, when it starts. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { InvalidSettingError } from "../../errors.js";
import { type ApiKeyEntry, readApiKeys } from "./api-keys.js";
import type { ServerSettings } from "./server-settings.js";
import { createTokenCheck, type VerifyToken } from "./tokens.js";

/** - `open`: everybody who reaches the server. - `users`: whoever has a key or a token. */
export type Access =
  | { readonly kind: "open" }
  | {
      readonly kind: "users";
      readonly keys: readonly ApiKeyEntry[];
      readonly verifyToken: VerifyToken | undefined;
      readonly acceptsStudio: boolean;
    };

/** @throws InvalidSettingError if keys or tokens are configured in part, or cannot be read. It names what is missing. */
export function readAccess(settings: ServerSettings): Access {
  const { AUTH_API_KEYS: inline, AUTH_API_KEYS_FILE: file } = settings;
  const keys = [
    ...(inline === undefined ? [] : readApiKeys(inline, "AUTH_API_KEYS")),
    ...(file === undefined ? [] : readApiKeys(readKeyFile(file), "AUTH_API_KEYS_FILE")),
  ];
  const verifyToken = createTokenCheck(settings);
  if (keys.length > 0 || verifyToken !== undefined)
    return { kind: "users", keys, verifyToken, acceptsStudio: settings.AUTH_STUDIO };
  if (!settings.AUTH_STUDIO) return { kind: "open" };
  const message =
    "Expected `AUTH_API_KEYS`, `AUTH_API_KEYS_FILE` or the variables of `AUTH_JWT_` to be set, because `AUTH_STUDIO` is true. Without them everybody may connect.";
  throw new InvalidSettingError("AUTH_STUDIO", message);
}

function readKeyFile(file: string): string {
  try {
    return readFileSync(resolve(file), "utf8");
  } catch {
    throw InvalidSettingError.expected("AUTH_API_KEYS_FILE", "a file that can be read", file);
  }
}
