/** Views of chat models and their clients. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";
import { addToList, pickFields, recordsIn } from "../../shared/values.js";
import { viewOf } from "../../shared/views.js";

/**
 * A view of the model that makes each request in another way.
 *
 * @param prepare Contract: returns the client that makes the request, which is a view of the given one, and its messages.
 */
export function askedThrough<Model extends BaseChatModel>(
  model: Model,
  prepare: (client: BaseChatModel, messages: BaseMessage[]) => readonly [BaseChatModel, BaseMessage[]],
): Model {
  const methods = ["_generate", "_streamResponseChunks", "_streamChatModelEvents"] as const;
  const asking = (name: (typeof methods)[number]) =>
    function (this: BaseChatModel, messages: BaseMessage[], ...rest: readonly unknown[]): unknown {
      const [client, sent] = prepare(this, messages);
      return Reflect.apply(model[name], client, [sent, ...rest]);
    };
  return viewOf(model, Object.fromEntries(methods.map((name) => [name, asking(name)])));
}

/** What is made of the models inside a client, by field. `ChatOpenAI` has one for each of its protocols. */
export function fromInnerModels<Made>(
  model: BaseChatModel,
  make: (part: BaseChatModel) => Made,
): Readonly<Record<string, Made>> {
  const made: Record<string, Made> = {};
  // Not `Object.entries`: some fields of a view are inherited from its model.
  for (const field in model) {
    const value: unknown = Reflect.get(model, field);
    if (isChatModel(value)) made[field] = make(value);
  }
  return made;
}

export function isChatModel(value: unknown): value is BaseChatModel {
  return (
    typeof value === "object" && value !== null && "_generate" in value && "_streamResponseChunks" in value
  );
}

/**
 * These fields of the listed calls of a request's messages. Each call gives its fields once, because ids repeat.
 *
 * @returns The fields of the next call with the id. Empty if it has none.
 */
export function callFieldsIn(
  messages: readonly BaseMessage[],
  names: readonly string[],
): (id: unknown) => Parameters {
  const given = new Map<unknown, Parameters[]>();
  for (const message of messages)
    for (const call of isAIMessage(message) ? recordsIn(message.tool_calls) : [])
      addToList(
        given,
        call["id"],
        pickFields(call, (name, value) => names.includes(name) && value !== undefined),
      );
  return (id) => given.get(id)?.shift() ?? {};
}

type Parameters = Readonly<Record<string, unknown>>;

/**
 * A view of the model with other values in its own settings. Clients accept some request parameters as call options,
 * and read others, such as `temperature`, from a field that was set when they were made. A client can contain other
 * clients with the same field. A parameter without such a setting is left out, because it can only be a call option.
 *
 * A client that passes a setting on when it is made, as Google's does, keeps the old value.
 */
export function withParameters(model: BaseChatModel, parameters: Parameters): BaseChatModel {
  const known = Object.entries(parameters).filter(([name]) => isSetting(model, name));
  if (known.length === 0) return model;
  const parts = fromInnerModels(model, (part) => withParameters(part, parameters));
  return viewOf(model, { ...Object.fromEntries(known), ...parts });
}

/** Excludes methods and the fields that every Runnable uses itself. */
function isSetting(model: BaseChatModel, name: string): boolean {
  return name in model && !/^(_|lc_)/.test(name) && typeof Reflect.get(model, name) !== "function";
}

/*
 * A client's host.
 */

const OPENAI = "api.openai.com";

/** Where clients keep the address that they send to: in one of these, or in the client itself. `initChatModel` has the last. */
const HOLDERS = ["clientConfig", "clientOptions", "_defaultConfig"];
/** The names that an address has there, or what it is made of. */
const ADDRESSES = [
  ...["baseURL", "baseUrl", "anthropicApiUrl", "apiUrl", "serverURL"],
  ...["azureOpenAIEndpoint", "azureOpenAIBasePath", "azureOpenAIApiInstanceName"],
  ...["endpoint", "endpointHost", "region", "location"],
];

/** A client's host, or its region. Undefined if nothing tells it. @param kind Its `_llmType`. */
function hostOf(client: object, kind: unknown): string | undefined {
  return hostIn(endpointOf(client), kind);
}

function hostIn(endpoint: string | undefined, kind: unknown): string | undefined {
  const address = endpoint ?? (kind === "openai" ? OPENAI : undefined);
  return address !== undefined && URL.canParse(address) ? new URL(address).hostname || address : address;
}

/** The host whose rules a client's requests must keep: OpenAI's for all of Azure's. Empty if nothing tells it. */
export function rulingHostOf(client: object, kind: unknown): string {
  return kind === "azure_openai" ? OPENAI : (hostOf(client, kind) ?? "");
}

/**
 * Where a client sends its requests: a server can have several ports, and a gateway a path for each provider. At Azure
 * also the deployment, because the name of the model is often only the client's default.
 *
 * @param kind Its `_llmType`.
 */
export function originOf(client: object, kind: unknown): string | undefined {
  const address = endpointOf(client);
  const url = address !== undefined && URL.canParse(address) ? new URL(address) : undefined;
  // OpenAI's own address is the same with and without its path.
  const path = url === undefined || url.hostname === OPENAI ? "" : url.pathname.replace(/\/$/, "");
  const place = url?.host ? url.host + path : hostIn(address, kind);
  const deployment = fieldOf(client, "azureOpenAIApiDeploymentName");
  return [place, deployment].filter(Boolean).join("/") || undefined;
}

/** The address, region or name of an instance that a client was given. Undefined if there is none. */
export function endpointOf(client: object): string | undefined {
  // The SDK's client within the client comes last, because it also has the provider's own address.
  const holders = [...HOLDERS.map((name) => fieldOf(client, name)), client, fieldOf(client, "client")];
  for (const holder of holders)
    for (const name of ADDRESSES) {
      const address = fieldOf(holder, name);
      if (typeof address === "string" && address !== "") return address;
    }
  return undefined;
}

/** A client's getter can throw. */
function fieldOf(value: unknown, name: string): unknown {
  try {
    return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
  } catch {
    return undefined;
  }
}
