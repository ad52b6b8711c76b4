import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { InvalidSettingError } from "../errors.js";
import { assertGivenModel, type GivenModel } from "../nodes/model/given-model.js";
import type { CreateModel } from "../providers/models/cached-create-model.js";
import { parseModelName } from "../providers/models/create-model.js";
import { isRecord } from "../shared/is-record.js";

export interface Models {
  /**
   * Contract: resolves to the model that a run names, or to the default model. A position above 0 is that of a fallback
   * model. Rejects with a clear error.
   */
  readonly resolveModel: (name: string | undefined, position?: number) => Promise<BaseChatModel>;
  /** The name that the options or the run give to a model. Undefined for a model that is given as an object. */
  readonly nameOfModel: (name: string | undefined, position: number) => string | undefined;
  /** @throws InvalidSettingError for a name that a run cannot choose. */
  readonly checkModel: (name: string | undefined) => void;
}

export interface GivenModels {
  readonly model: GivenModel;
  /** The names of the other models that a run can choose. */
  readonly others?: readonly string[];
  readonly fallbacks?: readonly unknown[];
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
  { model, others = [], fallbacks = [] }: GivenModels,
  make: CreateModel,
): Models {
  const names = [...(typeof model === "string" ? [model] : []), ...others];
  for (const name of names) parseModelName(name);
  assertGivenModel(setting, model, make);
  const later = fallbacks.map((fallback, index): GivenModel => {
    assertGivenModel(`fallbackModels[${index}]`, fallback, make);
    return fallback;
  });
  const givenAt = (name: string | undefined, position: number): GivenModel =>
    (position === 0 ? name : later[position - 1]) ?? model;
  return {
    resolveModel: async (name, position = 0) => {
      const given = givenAt(name, position);
      return typeof given === "string" ? assertMade(await make(given)) : given;
    },
    nameOfModel: (name, position) => {
      const given = givenAt(name, position);
      return typeof given === "string" ? given : undefined;
    },
    checkModel: (name) => {
      if (name === undefined || names.includes(name)) return;
      const allowed = names.length > 0 ? `one of ${names.join(", ")}` : "undefined, as `models` names none";
      throw InvalidSettingError.expected("model", allowed, name);
    },
  };
}

/** @throws InvalidSettingError if the user's `createModel` made something else. */
function assertMade(model: BaseChatModel): BaseChatModel {
  if (isRecord(model) && typeof model["invoke"] === "function") return model;
  throw InvalidSettingError.expected("createModel", "a function that resolves to a chat model", model);
}
