/** The access control of this process. The graph, `auth` and `http.app` of `langgraph.json` share it. */

import { readAccess } from "./access.js";
import { createRunOwners } from "./run-owners.js";
import { readServerSettings } from "./server-settings.js";

export const serverSettings = readServerSettings(process.env);
export const access = readAccess(serverSettings);
export const runOwners = createRunOwners();
