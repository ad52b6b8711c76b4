/** What comes before the server's routes: `http.app` of `langgraph.json`. */

import { Hono } from "hono";
import { access, serverSettings } from "../access/access.js";
import { mountInspector } from "../inspector.js";
import {
  guardAssistants,
  guardProtocol,
  guardRunOfThread,
  limitWebhooks,
  PROTOCOL_ROUTES,
  RUN_ROUTES,
  RUN_STREAM_ROUTES,
} from "./guard-rights.js";
import { checkBody, refuseSocket, refuseWhileRunning } from "./protect-server.js";
import { THREAD_RUN_ROUTES, takeSecondRuns } from "./second-runs.js";

export const app = new Hono();

app.use(checkBody);
app.get("/threads/:thread/stream/events", refuseSocket);
for (const route of THREAD_RUN_ROUTES) app.post(route, takeSecondRuns);
for (const route of ["/threads/:thread", "/threads/:thread/runs/:run", "/assistants/:assistant"])
  app.delete(route, refuseWhileRunning);
for (const route of RUN_ROUTES) app.use(route, limitWebhooks(serverSettings.ALLOWED_WEBHOOKS ?? []));
if (access.kind === "users") {
  for (const route of PROTOCOL_ROUTES) app.use(route, guardProtocol);
  for (const route of RUN_STREAM_ROUTES) app.use(route, guardRunOfThread);
  for (const route of RUN_ROUTES) app.use(route, guardAssistants);
}
const inspector = mountInspector(process.env, access.kind === "users");
for (const path of ["/tether.json", "/tether/*"]) app.all(path, ({ req, env }) => inspector(req.raw, env));
