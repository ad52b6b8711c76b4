/** Access control of the served graph: `auth` of `langgraph.json`. */

import { Auth } from "@langchain/langgraph-sdk/auth";
import { getLogger } from "@langchain/langgraph-sdk/logging";
import { InvalidSettingError } from "../errors.js";
import { authenticateEverybody, authenticateUsers } from "./access/authenticate.js";
import { addRights } from "./access/rights.js";
import { access, runOwners, serverSettings } from "./access/served-access.js";
import { listensToThisMachine } from "./access/this-machine.js";

export const auth = createAuth();

/** @throws InvalidSettingError for an open server that other machines can reach. The server does not start then. */
function createAuth(): Auth {
  const served = new Auth();
  if (access.kind === "users") {
    served.authenticate(authenticateUsers(access));
    addRights(served, { ...access, runOwners });
    return served;
  }
  const { ALLOWED_ORIGINS: allowedOrigins, OPEN_ACCESS: isOpenToAll } = serverSettings;
  const isLocal = listensToThisMachine(process.env);
  if (!isLocal && !isOpenToAll)
    throw new InvalidSettingError(
      "AUTH_API_KEYS",
      "This server has no access control and may be reached from other machines. Set `AUTH_API_KEYS`, `AUTH_API_KEYS_FILE` or the variables of `AUTH_JWT_`, listen on 127.0.0.1, or allow it with `OPEN_ACCESS=true`.",
    );
  served.authenticate(authenticateEverybody(isLocal ? { allowedOrigins } : undefined));
  const reach = isLocal ? "every program of this machine" : "everybody who reaches it";
  getLogger().warn(`No access control: ${reach} can read and change all threads. See docs/production.md.`);
  return served;
}
