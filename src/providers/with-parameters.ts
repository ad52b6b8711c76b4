import type { BaseChatModel } from "@langchain/core/language_models/chat_models";

/**
 * A view of the model with other values in its own settings. Clients take some parameters of a request as call options
 * and read others, such as `temperature`, from a field that was set when they were made; a client may be made of others,
 * which have that field as well. What the model has no setting for is left out: it can only be a call option.
 *
 * A client that hands a setting on when it is made, as Google's does, keeps it.
 */
export function withParameters(
  model: BaseChatModel,
  parameters: Readonly<Record<string, unknown>>,
): BaseChatModel {
  const known = Object.entries(parameters).filter(([name]) => isSetting(model, name));
  if (known.length === 0) return model;
  const parts = Object.entries(model).filter((entry): entry is [string, BaseChatModel] => isModel(entry[1]));
  const fields = [
    ...known,
    ...parts.map(([name, part]) => [name, withParameters(part, parameters)] as const),
  ];
  const view: BaseChatModel = Object.create(model);
  for (const [name, value] of fields) {
    Object.defineProperty(view, name, { value, writable: true, enumerable: true, configurable: true });
  }
  return view;
}

/** Its own fields only: neither methods nor what every Runnable has for its own use. */
function isSetting(model: BaseChatModel, name: string): boolean {
  return (
    Object.hasOwn(model, name) && !/^(_|lc_)/.test(name) && typeof Reflect.get(model, name) !== "function"
  );
}

function isModel(value: unknown): value is BaseChatModel {
  return typeof value === "object" && value !== null && "_generate" in value && "invocationParams" in value;
}
