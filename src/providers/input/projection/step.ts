import type { BaseMessage } from "@langchain/core/messages";
import type { Dialect } from "../../dialects/rule.js";

export interface Target {
  readonly dialect: Dialect;
  /** The name of the model that is asked; undefined if it is not known. */
  readonly modelId: string | undefined;
}

/**
 * One step of the way from the history to what a provider accepts.
 *
 * Contract: pure and deterministic. Expects groups in which each call has one result, directly behind its message
 * and in call order, and leaves them so. What it has no reason to change keeps its identity. What it makes of a
 * message depends on that message and those before it, so that a prompt cache survives when the history grows.
 */
export type Step = (messages: readonly BaseMessage[], target: Target) => readonly BaseMessage[];
