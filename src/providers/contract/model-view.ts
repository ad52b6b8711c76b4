/** Views of chat models and their clients. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { textIn } from "../../shared/values.js";
import { viewOf } from "../../shared/views.js";

/** Members of a view that sends each history in another form. */
export function sendingAs(form: (messages: BaseMessage[]) => BaseMessage[], model: BaseChatModel): object {
  const methods = ["_generate", "_streamResponseChunks", "_streamChatModelEvents"] as const;
  const inForm = (name: (typeof methods)[number]) =>
    function (this: BaseChatModel, messages: BaseMessage[], ...rest: readonly unknown[]): unknown {
      return Reflect.apply(model[name], this, [form(messages), ...rest]);
    };
  return Object.fromEntries(methods.map((name) => [name, inForm(name)]));
}

/** The models inside a client, by field. `ChatOpenAI` has one for each of its protocols. */
export function partsOf(model: BaseChatModel): (readonly [field: string, part: BaseChatModel])[] {
  const parts: (readonly [string, BaseChatModel])[] = [];
  // Not `Object.entries`: some fields of a view are inherited from its model.
  for (const field in model) {
    const value: unknown = Reflect.get(model, field);
    if (isChatModel(value)) parts.push([field, value]);
  }
  return parts;
}

export function isChatModel(value: unknown): value is BaseChatModel {
  return (
    typeof value === "object" && value !== null && "_generate" in value && "_streamResponseChunks" in value
  );
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
  const parts = partsOf(model).map(([field, part]) => [field, withParameters(part, parameters)] as const);
  return viewOf(model, Object.fromEntries([...known, ...parts]));
}

/** Excludes methods and the fields that every Runnable uses itself. */
function isSetting(model: BaseChatModel, name: string): boolean {
  return name in model && !/^(_|lc_)/.test(name) && typeof Reflect.get(model, name) !== "function";
}

/*
 * A client's host.
 */

const OPENAI = "api.openai.com";

/** The host of a client with OpenAI's protocol. Undefined if nothing tells it. @param kind Its `_llmType`. */
export function hostOf(client: object, kind: unknown): string | undefined {
  if (kind === "azure_openai") return OPENAI;
  const address =
    addressOfClient(client) ??
    (kind === "groq" ? textIn(Reflect.get(client, "client"), "baseURL") : undefined);
  if (address !== undefined && URL.canParse(address)) return new URL(address).hostname;
  return kind === "openai" ? OPENAI : undefined;
}

/** The address that a client with OpenAI's protocol was given. Undefined: it was given none. */
export function addressOfClient(client: object): string | undefined {
  return textIn(Reflect.get(client, "clientConfig"), "baseURL") ?? textIn(client, "baseURL");
}
