import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { partsOf, viewOf } from "./model-view.js";

type Parameters = Readonly<Record<string, unknown>>;

/**
 * A view of the model with other values in its own settings. Clients accept some parameters of a request as call
 * options, and read others, such as `temperature`, from a field that was set when they were made. A client can
 * contain other clients with the same field. A parameter without such a setting is left out, because it can only be a
 * call option.
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
