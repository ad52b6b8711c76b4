/** The models of a graph, and the order in which a run asks them: its own one, then the fallback models. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { InvalidSettingError } from "../errors.js";
import { displayNameOf } from "../providers/dialect-of.js";
import type { DialectName } from "../providers/dialects.js";
import { type CreateModel, parseModelName } from "../providers/models/create-model.js";
import { isRecord } from "../shared/values.js";
import type { Turn } from "../threads/state.js";
import { assertGivenModel, type GivenModel } from "../threads/window.js";
import type { RunContext } from "./settings/run-context.js";

/**
 * Contract: resolves to the model that a run names, or to the default model. A position above 0 is that of a fallback
 * model. Rejects with a clear error.
 */
export type ResolveModel = (name: string | undefined, position?: number) => Promise<BaseChatModel>;

export interface Models {
  readonly resolve: ResolveModel;
  /** The name that the options or the run give to a model. Undefined for a model that is given as an object. */
  readonly nameAt: (name: string | undefined, position: number) => string | undefined;
  /** The position of the last fallback model. */
  readonly last: number;
  /** @throws InvalidSettingError for a name that a run cannot choose. */
  readonly check: (name: string | undefined) => void;
}

interface GivenModels {
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
  assertGivenModel(setting, model, make);
  for (const [index, name] of others.entries()) parseModelName(name, `models[${index}]`);
  const later = fallbacks.map((fallback, index): GivenModel => {
    assertGivenModel(`fallbackModels[${index}]`, fallback, make);
    return fallback;
  });
  const givenAt = (name: string | undefined, position: number): GivenModel =>
    (position === 0 ? name : later[position - 1]) ?? model;
  return {
    resolve: async (name, position = 0) => {
      const given = givenAt(name, position);
      return typeof given === "string" ? assertMade(await make(given)) : given;
    },
    nameAt: (name, position) => {
      const given = givenAt(name, position);
      return typeof given === "string" ? given : undefined;
    },
    last: later.length,
    check: (name) => {
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

export interface ModelChain {
  /** The position of the model that is asked first. 0 is the run's own model. */
  readonly position: number;
  /** The position of the last fallback model. */
  readonly last: number;
  readonly at: (position: number) => Promise<BaseChatModel>;
  readonly named: (name: string) => Promise<BaseChatModel>;
  /** The dialect that the options give to a model. Undefined: its own. */
  readonly dialectAt: (position: number) => DialectName | undefined;
  /** A name for clients. */
  readonly nameOf: (model: BaseChatModel, position?: number) => string;
}

/** @param dialect The dialect of the models that are not fallback models. Undefined: each has its own. */
export function modelChain(
  models: Models,
  dialect: DialectName | undefined,
  turn: Turn,
  { model: name }: RunContext,
): ModelChain {
  return {
    position: Math.min(positionIn(turn, name), models.last),
    last: models.last,
    at: (position) => models.resolve(name, position),
    named: (other) => models.resolve(other),
    dialectAt: (position) => (position === 0 ? dialect : undefined),
    nameOf: (model, position) =>
      (position === undefined ? undefined : models.nameAt(name, position)) ??
      displayNameOf(model) ??
      "a model without a name",
  };
}

/** The position of the model that a turn has come to. A run of the turn that names another model begins with that. */
export function positionIn({ fallback }: Turn, name: string | undefined): number {
  return fallback !== undefined && fallback.instead === name ? fallback.position : 0;
}

/** The turn after a model has responded. */
export function withPosition(turn: Turn, { model }: RunContext, position: number): Turn {
  if (position === positionIn(turn, model)) return turn;
  return { ...turn, fallback: { position, ...(model !== undefined && { instead: model }) } };
}
