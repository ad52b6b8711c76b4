/** A model as an option gives it: a chat model, or the name of one. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type CreateModel, readsEnvironment } from "../../providers/models/cached-create-model.js";
import { assertPlainModel } from "../../providers/models/check-model.js";
import { checkModelKey, parseModelName } from "../../providers/models/create-model.js";
import { hintAtClass } from "../../settings/hint-at-class.js";

export type GivenModel = BaseChatModel | string;

/**
 * @param setting The name of the option in errors.
 * @param make Makes the model of a name. If it reads the environment, a missing key is reported at once.
 * @throws InvalidModelError for a name that cannot be resolved, or if its key is missing.
 * @throws InvalidSettingError for a value that is not a chat model, or a model with bound tools, structured output or
 * fallbacks.
 */
export function assertGivenModel(
  setting: string,
  model: unknown,
  make: CreateModel,
): asserts model is GivenModel {
  if (typeof model !== "string") {
    assertPlainModel(setting, model, hintAtClass(model));
    return;
  }
  parseModelName(model);
  if (readsEnvironment(make)) checkModelKey(model);
}
