/** The served graph's inspector: `langgraph-tether/inspector`, with the request's rights. */

import { createInspector, type InspectorHandler, threadsOfThisServer } from "../src/inspector/handler.js";
import type { RequestSettings } from "../src/inspector/view/request.js";
import { windowOf } from "../src/providers/failure/overflow.js";
import { createModel } from "../src/providers/models/create-model.js";
import { identityOf } from "../src/providers/table/dialect-of.js";
import { withDefaults } from "../src/shared/check-settings.js";
import { SUMMARY_SETTINGS, type SummarySettings, summaryPolicy } from "../src/threads/shared-settings.js";
import { credentialOf } from "./access/authenticate.js";
import type { Environment } from "./access/server-settings.js";
import { readSettings } from "./settings.js";

/** The name that `langgraph.json` gives to the graph of `agent.ts`. */
const SERVED_GRAPH = "agent";

/** @param hasUsers Whether the server has users. Without them the inspector answers only programs on this machine. */
export function mountInspector(environment: Environment, hasUsers: boolean): InspectorHandler {
  let reading: Promise<RequestSettings> | undefined;
  return createInspector({
    isProtected: hasUsers,
    threads: (request) => threadsOfThisServer({ headers: rightsOf(request) }),
    settingsOf: async (graph) => {
      if (graph !== SERVED_GRAPH) return undefined;
      reading ??= readForm(environment);
      const { systemPrompt, ...form } = await reading;
      // The operator's instructions are not for users.
      return hasUsers ? form : { ...form, systemPrompt };
    },
  });
}

/** The key that a browser asked for is a server key. */
function rightsOf(request: Request): Headers {
  const headers = new Headers();
  const credential = credentialOf(request);
  const scheme = request.headers.get("x-auth-scheme");
  if (credential !== undefined) headers.set("authorization", `Bearer ${credential}`);
  if (scheme !== null) headers.set("x-auth-scheme", scheme);
  return headers;
}

/** A model that cannot be made has no window. */
async function readForm(environment: Environment): Promise<RequestSettings> {
  const { options } = readSettings(environment);
  const { systemPrompt, maxToolCallsFromHistory } = options;
  const spec: unknown = options.model;
  const model = typeof spec === "string" ? await createModel(spec).catch(() => undefined) : undefined;
  const identity = model && identityOf(model);
  const ofSummaries = withDefaults(options, SUMMARY_SETTINGS) as SummarySettings;
  return {
    dialect: options.dialect ?? identity?.dialect ?? "as-stored",
    // MCP servers' tools are unknown here, so this server's are not counted either.
    summary: summaryPolicy(
      { ...ofSummaries, maxToolCallsFromHistory, systemPrompt },
      model,
      options.dialect,
      0,
    ),
    systemPrompt,
    modelId: identity?.modelId,
    maxToolCallsFromHistory,
    maxTokens: model && windowOf(model),
  };
}
