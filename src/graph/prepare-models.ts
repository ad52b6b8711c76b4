import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { InvalidSettingError } from "../errors.js";
import { type CreateModel, readsEnvironment } from "../providers/models/cached-create-model.js";
import { checkModelKey, parseModelName } from "../providers/models/create-model.js";
import { hintAtClass } from "../settings/hint-at-class.js";
import { isRecord } from "../shared/is-record.js";

export interface Models {
  readonly resolveModel: (name: string | undefined) => Promise<BaseChatModel>;
  /** @throws InvalidSettingError for a name that a run cannot choose. */
  readonly checkModel: (name: string | undefined) => void;
}

/**
 * Prepares the models of a graph. A model that is given by name is made when it is first used. A missing key is
 * reported at once.
 *
 * @param setting The name of the option that `model` comes from.
 * @throws InvalidModelError for a name that cannot be resolved, or if its key is missing.
 * @throws InvalidSettingError for a value that is not a chat model, or a model with bound tools, structured output or
 * fallbacks.
 */
export function prepareModels(
  setting: "model" | "summaryModel",
  model: BaseChatModel | string,
  others: readonly string[],
  make: CreateModel,
): Models {
  const names = [...(typeof model === "string" ? [model] : []), ...others];
  for (const name of names) parseModelName(name);
  if (typeof model !== "string") assertPlainModel(setting, model);
  else if (readsEnvironment(make)) checkModelKey(model);
  return {
    resolveModel: async (name) => {
      const chosen = name ?? model;
      return typeof chosen === "string" ? assertMade(await make(chosen)) : chosen;
    },
    checkModel: (name) => {
      if (name === undefined || names.includes(name)) return;
      const allowed = names.length > 0 ? `one of ${names.join(", ")}` : "undefined, as `models` names none";
      throw InvalidSettingError.expected("model", allowed, name);
    },
  };
}

const BOUND_TOOLS = "a model with bound tools";
const STRUCTURED = "a sequence, as `withStructuredOutput` makes it";
const EXPECTATION = "a chat model or the name of one";

/** @throws InvalidSettingError if the user's `createModel` made something else. */
function assertMade(model: BaseChatModel): BaseChatModel {
  if (isRecord(model) && typeof model["invoke"] === "function") return model;
  throw InvalidSettingError.expected("createModel", "a function that resolves to a chat model", model);
}

function assertPlainModel(setting: string, model: unknown): void {
  if (!isRecord(model) || typeof model["invoke"] !== "function") {
    throw InvalidSettingError.expected(setting, EXPECTATION, model, hintAtClass(model));
  }
  const change = changeOf(model);
  if (change === undefined) return;
  throw new InvalidSettingError(
    setting,
    `Expected \`${setting}\` to be ${EXPECTATION}, got ${change}. Pass the model itself, and its tools as \`tools\`.`,
  );
}

/** Describes how a model was wrapped, if a graph cannot use the result. It is recognised by its fields. */
function changeOf(model: Record<string, unknown>): string | undefined {
  // LangChain clients keep bound options in one of these fields.
  if (["kwargs", "config", "defaultOptions"].some((name) => hasTools(model[name]))) return BOUND_TOOLS;
  // `initChatModel` queues these operations until its model is made.
  const queued = model["_queuedMethodOperations"];
  if (isRecord(queued) && "bindTools" in queued) return BOUND_TOOLS;
  if (isRecord(queued) && "withStructuredOutput" in queued) return STRUCTURED;
  const bound = model["bound"];
  if (isRecord(bound)) return changeOf(bound);
  if ("fallbacks" in model && "runnable" in model) return "a model with fallbacks";
  if ("steps" in model || ("first" in model && "last" in model)) return STRUCTURED;
  return undefined;
}

function hasTools(options: unknown): boolean {
  return isRecord(options) && Array.isArray(options["tools"]) && options["tools"].length > 0;
}
