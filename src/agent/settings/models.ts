/** A graph's models, and the order in which a step asks them: the run's own model, then the fallback models. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { InvalidSettingError } from "../../errors.js";
import type { DialectName } from "../../providers/contract/dialect-name.js";
import {
  assertGivenModel,
  type CreateModel,
  type GivenModel,
  parseModelName,
} from "../../providers/models/create-model.js";
import { displayNameOf } from "../../providers/table/dialect-of.js";
import { isRecord, madeOnce } from "../../shared/values.js";
import type { Turn } from "../../threads/state.js";
import type { Settings } from "./settings.js";

/**
 * Checks a graph's models. A model that is given by name is made when first used, but a missing key is reported at
 * once.
 *
 * @throws InvalidModelError for a name that cannot be resolved, or a missing key.
 * @throws InvalidSettingError for a value that is not a chat model, or a model with bound tools, structured output or
 * fallbacks.
 */
export function checkModels({ model, models, fallbackModels, summaryModel, createModel }: Settings): void {
  assertGivenModel("model", model, createModel);
  for (const [index, name] of models.entries()) parseModelName(name, `models[${index}]`);
  for (const [index, given] of fallbackModels.entries())
    assertGivenModel(`fallbackModels[${index}]`, given, createModel);
  if (summaryModel !== undefined) assertGivenModel("summaryModel", summaryModel, createModel);
}

/** @throws InvalidSettingError for a name that a run cannot choose. */
export function assertChoosable(name: string | undefined, { model, models }: Settings): void {
  const names = typeof model === "string" ? [model, ...models] : models;
  if (name === undefined || names.includes(name)) return;
  const allowed = names.length > 0 ? `one of ${names.join(", ")}` : "undefined, as `models` names none";
  throw InvalidSettingError.expected("model", allowed, name);
}

/** Makes a model that is given by name. @throws InvalidSettingError if the user's function made something else. */
export async function makeModel(given: GivenModel, createModel: CreateModel): Promise<BaseChatModel> {
  if (typeof given !== "string") return given;
  const model = await createModel(given);
  if (isRecord(model) && typeof model["invoke"] === "function") return model;
  throw InvalidSettingError.expected("createModel", "a function that resolves to a chat model", model);
}

export interface ModelChain {
  /** The position of the model that is asked first. 0 is the run's own model. */
  readonly position: number;
  /** The position of the last fallback model. */
  readonly last: number;
  readonly at: (position: number) => GivenModel;
  /** Contract: makes each model once. Rejects with a clear error. */
  readonly make: (given: GivenModel) => Promise<BaseChatModel>;
  /** The dialect that the options give the run's own model. */
  readonly ownDialect: DialectName | undefined;
}

/**
 * The models for one step of a turn.
 *
 * @param name The model that the run names. Undefined: the graph's model.
 */
export function modelChain(
  { model, fallbackModels, dialect }: Settings,
  make: ModelChain["make"],
  turn: Turn,
  name: string | undefined,
): ModelChain {
  const made = new Map<GivenModel, Promise<BaseChatModel>>();
  const last = fallbackModels.length;
  return {
    position: Math.min(positionIn(turn, name), last),
    last,
    at: (position) => (position === 0 ? name : fallbackModels[position - 1]) ?? model,
    make: (given) => madeOnce(made, given, () => make(given)),
    ownDialect: dialect,
  };
}

/** The dialect that the options give a model. Undefined: the model's own. */
export function dialectAt(position: number, { ownDialect }: ModelChain): DialectName | undefined {
  return position === 0 ? ownDialect : undefined;
}

export function modelNameOf(given: GivenModel, model: BaseChatModel): string {
  return typeof given === "string" ? given : (displayNameOf(model) ?? "a model without a name");
}

/** The position of the model that a turn has reached. If a run of the turn names another model, it begins with that. */
function positionIn({ fallback }: Turn, name: string | undefined): number {
  return fallback !== undefined && fallback.instead === name ? fallback.position : 0;
}

/** The turn after the model at this position has responded. */
export function withPosition(turn: Turn, name: string | undefined, position: number): Turn {
  if (position === positionIn(turn, name)) return turn;
  return { ...turn, fallback: { position, ...(name !== undefined && { instead: name }) } };
}
