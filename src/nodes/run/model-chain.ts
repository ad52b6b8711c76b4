/** The models that a run asks in order: its own one, then the fallback models. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { identityOf } from "../../providers/dialects/dialect-of.js";
import type { DialectName } from "../../providers/dialects/dialects.js";
import type { RunContext } from "../../settings/run-context.js";
import type { Turn } from "./agent-state.js";

export interface ModelChainOptions {
  /**
   * Contract: resolves to the model that a run names, or to the default model. A position above 0 is that of a fallback
   * model. Rejects with a clear error.
   */
  readonly resolveModel: (name: string | undefined, position?: number) => Promise<BaseChatModel>;
  /** The name that the options or the run give to a model. Undefined for a model that is given as an object. */
  readonly nameOfModel: (name: string | undefined, position: number) => string | undefined;
  readonly fallbackCount: number;
  /** The dialect of the models that are not fallback models. Undefined: each has its own. */
  readonly dialect: DialectName | undefined;
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

export function modelChain(
  { resolveModel, nameOfModel, fallbackCount, dialect }: ModelChainOptions,
  turn: Turn,
  { model: name }: RunContext,
): ModelChain {
  return {
    position: Math.min(positionIn(turn, name), fallbackCount),
    last: fallbackCount,
    at: (position) => resolveModel(name, position),
    named: (other) => resolveModel(other),
    dialectAt: (position) => (position === 0 ? dialect : undefined),
    nameOf: (model, position) =>
      (position === undefined ? undefined : nameOfModel(name, position)) ?? nameOf(model),
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

function nameOf(model: BaseChatModel): string {
  const { modelId } = identityOf(model);
  if (modelId !== undefined) return modelId;
  const type: unknown = Reflect.get(model, "_llmType");
  return typeof type === "function" ? String(Reflect.apply(type, model, [])) : "a model without a name";
}
