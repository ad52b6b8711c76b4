/** Access control of the served graph: `auth` of `langgraph.json`. */

import { getLogger } from "@langchain/langgraph-sdk/logging";
import { access, createAuth, serverSettings } from "./access/access.js";
import { listensToThisMachine } from "./access/authenticate.js";

export const auth = createAuth({
  access,
  settings: serverSettings,
  isLocal: listensToThisMachine(process.env),
  warn: (text) => getLogger().warn(text),
});
