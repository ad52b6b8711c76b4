import { Auth } from "@langchain/langgraph-sdk/auth";
import { InvalidSettingError } from "../../errors.js";
import type { Access } from "./access.js";
import { authenticateEverybody, authenticateUsers } from "./authenticate.js";
import { addRights } from "./rights.js";
import type { RunOwners } from "./run-owners.js";
import type { ServerSettings } from "./server-settings.js";

interface AuthOptions {
  readonly access: Access;
  readonly settings: Pick<ServerSettings, "ALLOWED_ORIGINS" | "OPEN_ACCESS">;
  readonly runOwners: RunOwners;
  /** Whether only programs of this machine can reach the server. */
  readonly isLocal: boolean;
  /** Contract: tells the operator. Called once for an open server, and never otherwise. */
  readonly warn: (text: string) => void;
}

/**
 * Makes the access control of a server.
 *
 * @throws InvalidSettingError for an open server that other machines can reach. The server does not start then.
 */
export function createAuth({ access, settings, runOwners, isLocal, warn }: AuthOptions): Auth {
  const auth = new Auth();
  if (access.kind === "users") {
    auth.authenticate(authenticateUsers(access));
    addRights(auth, { ...access, runOwners });
    return auth;
  }
  if (!isLocal && !settings.OPEN_ACCESS)
    throw new InvalidSettingError(
      "AUTH_API_KEYS",
      "This server has no access control and may be reached from other machines. Set `AUTH_API_KEYS`, `AUTH_API_KEYS_FILE` or the variables of `AUTH_JWT_`, listen on 127.0.0.1, or allow it with `OPEN_ACCESS=true`.",
    );
  auth.authenticate(
    authenticateEverybody(isLocal ? { allowedOrigins: settings.ALLOWED_ORIGINS } : undefined),
  );
  const who = isLocal ? "Every program of this machine" : "Everybody who reaches this server";
  warn(`No access control: ${who} can read and change all threads. See docs/production.md.`);
  return auth;
}
