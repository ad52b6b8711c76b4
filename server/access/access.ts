/** Who may use the server: read once, when it starts. */

import { Auth } from "@langchain/langgraph-sdk/auth";
import { InvalidSettingError } from "../../src/errors.js";
import {
  authenticateEverybody,
  authenticateUsers,
  type Credentials,
  createTokenCheck,
  readApiKeys,
} from "./authenticate.js";
import { addRights } from "./rights.js";
import { readServerSettings, type ServerSettings } from "./server-settings.js";

/** - `open`: everybody who reaches the server. - `users`: whoever has a key or a token. */
export type Access = { readonly kind: "open" } | (Credentials & { readonly kind: "users" });

/** @throws InvalidSettingError if keys or tokens are configured in part, or cannot be read. It names what is missing. */
export function readAccess(settings: ServerSettings): Access {
  const { AUTH_API_KEYS: entries } = settings;
  const keys = entries === undefined ? [] : readApiKeys(entries);
  const verifyToken = createTokenCheck(settings);
  return keys.length > 0 || verifyToken !== undefined
    ? { kind: "users", keys, verifyToken }
    : { kind: "open" };
}

/*
 * This process's access control. The graph, and `auth` and `http.app` of `langgraph.json`, share it.
 */

export const serverSettings = readServerSettings(process.env);
export const access = readAccess(serverSettings);

interface AuthOptions {
  readonly access: Access;
  readonly settings: Pick<ServerSettings, "ALLOWED_ORIGINS" | "AUTH_STUDIO" | "OPEN_ACCESS">;
  /** Whether only programs on this machine can reach the server. */
  readonly isLocal: boolean;
  /** Contract: tells the operator. Called once for an open server, and never otherwise. */
  readonly warn: (text: string) => void;
}

/**
 * Makes a server's access control.
 *
 * @throws InvalidSettingError for an open server that other machines can reach. Then the server does not start.
 */
export function createAuth({ access, settings, isLocal, warn }: AuthOptions): Auth {
  const auth = new Auth();
  if (access.kind === "users") {
    auth.authenticate(authenticateUsers(access));
    addRights(auth, settings.AUTH_STUDIO === true);
    return auth;
  }
  if (!isLocal && !settings.OPEN_ACCESS)
    throw new InvalidSettingError(
      "AUTH_API_KEYS",
      "This server has no access control and may be reached from other machines. Set `AUTH_API_KEYS` or the variables of `AUTH_JWT_`, listen on 127.0.0.1, or allow it with `OPEN_ACCESS=true`.",
    );
  auth.authenticate(authenticateEverybody(isLocal ? (settings.ALLOWED_ORIGINS ?? []) : undefined));
  const who = isLocal ? "Every program of this machine" : "Everybody who reaches this server";
  warn(`No access control: ${who} can read and change all threads. See server/README.md.`);
  return auth;
}
