/** Access control of the served graph: `auth` of `langgraph.json`. */

import { getLogger } from "@langchain/langgraph-sdk/logging";
import { createAuth } from "./access/create-auth.js";
import { access, runOwners, serverSettings } from "./access/served-access.js";
import { listensToThisMachine } from "./access/this-machine.js";

export const auth = createAuth({
  access,
  settings: serverSettings,
  runOwners,
  isLocal: listensToThisMachine(process.env),
  warn: (text) => getLogger().warn(text),
});
