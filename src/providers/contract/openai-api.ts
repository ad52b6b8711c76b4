/**
 * OpenAI serves some models only with one of its two protocols. Its refusal says which. Once a request in that protocol
 * was accepted, this is a fact about the model, and is remembered for the process, by host and name: programs also make
 * models for each run.
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

/**
 * Asks the client's model with this API from now on. A model is believed to have only one at most.
 *
 * @param asked What was known when the request was made that was refused. Another request can have learned it meanwhile.
 * @returns What takes this back, if no request is accepted there. Undefined if the client has only one API, or had used
 * this one already.
 */
export function learnApi(
  client: object,
  api: OpenAIApi,
  asked: OpenAIApi | undefined,
): (() => void) | undefined {
  if (!hasBothApis(client)) return undefined;
  const learned = apiOf(client);
  if (learned !== undefined) return learned === api && asked !== api ? () => {} : undefined;
  const isResponses: unknown = Reflect.apply(Reflect.get(client, "_useResponsesApi"), client, []);
  if (isResponses === (api === "responses")) return undefined;
  const [oldest] = known.keys();
  if (oldest !== undefined && known.size >= MOST_KNOWN) known.delete(oldest);
  const key = keyOf(client);
  known.set(key, api);
  return () => void known.delete(key);
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
