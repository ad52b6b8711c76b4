/**
 * OpenAI serves some models only with one of its two protocols. Its refusal says which. That is a fact about the model,
 * so it is remembered for the process, by host and name: programs also make models for each run.
 */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { viewOf } from "../../shared/views.js";
import { endpointOf, isChatModel } from "./model-view.js";

export type OpenAIApi = "responses" | "completions";

const known = new Map<string, OpenAIApi>();
/** The oldest is forgotten first. */
const MOST_KNOWN = 1_000;

/** The API that the client's model is known to need. Undefined: its client chooses. */
export function apiOf(client: object): OpenAIApi | undefined {
  return known.size === 0 ? undefined : known.get(keyOf(client));
}

/** False if the client has only one API, or uses this one already. A model is believed to have only one at most. */
export function learnApi(client: object, api: OpenAIApi): boolean {
  if (!hasBothApis(client) || apiOf(client) !== undefined) return false;
  const isResponses: unknown = Reflect.apply(Reflect.get(client, "_useResponsesApi"), client, []);
  if (isResponses === (api === "responses")) return false;
  const [oldest] = known.keys();
  if (oldest !== undefined && known.size >= MOST_KNOWN) known.delete(oldest);
  known.set(keyOf(client), api);
  return true;
}

/** A view of the client that uses the API that its model needs. Returns any other model unchanged. */
export function inKnownApi(model: BaseChatModel): BaseChatModel {
  const api = apiOf(model);
  if (api === undefined || !hasBothApis(model)) return model;
  return viewOf(model, { _useResponsesApi: () => api === "responses" });
}

/** `ChatOpenAI` and `AzureChatOpenAI`. */
function hasBothApis(client: object): boolean {
  const parts = [Reflect.get(client, "responses"), Reflect.get(client, "completions")];
  return parts.every(isChatModel) && typeof Reflect.get(client, "_useResponsesApi") === "function";
}

function keyOf(client: object): string {
  return [
    endpointOf(client) ?? "",
    Reflect.get(client, "azureOpenAIApiInstanceName"),
    Reflect.get(client, "model"),
  ]
    .map(String)
    .join(" ");
}
