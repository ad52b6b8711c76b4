/** A request to a model, and the input that it is made of. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import { ModelError } from "../../errors.js";
import { countMarkedTools } from "../../providers/contract/text-fields.js";
import type { FittedInput } from "../../providers/input/bounds.js";
import { type PreparedInputOptions, prepareModelInput } from "../../providers/input/to-model-input.js";
import type { PromptCache } from "../../providers/models/tools.js";
import { type FurtherRequests, furtherRequestsOf, type InputForm } from "../../threads/asking/rungs.js";
import type { OnRepair } from "../../threads/events.js";
import type { ModelStep } from "../plan.js";
import type { ModelChain } from "../settings/models.js";
import type { ToolChoice } from "../settings/tools.js";

export interface ModelRequest {
  readonly models: ModelChain;
  readonly history: readonly BaseMessage[];
  readonly further: FurtherRequests;
  readonly input: Omit<PreparedInputOptions, keyof InputForm>;
  readonly tools: readonly BindToolsInput[];
  /** The tokens that the tools' schemas take. */
  readonly toolTokens: number;
  readonly toolChoice: ToolChoice;
  readonly onRepair: OnRepair | undefined;
  /** The tools that the response format can add. Other tools cannot have their names. */
  readonly formatTools?: readonly BindToolsInput[];
  /** Contract: adds the response format to what a model is offered. Undefined: text. */
  readonly addFormat?: ((offer: Offer, model: BaseChatModel) => FormatRequest) | undefined;
  readonly promptCache: PromptCache;
  /** How many times a broken response is requested again, in one piece. */
  readonly maxFallbackAttempts: number;
  /** How long the model may be silent, in milliseconds. */
  readonly idleTimeoutMs: number;
  /** Whether the response is a summary. Clients do not see it. The model gets all messages in full, or is not asked. */
  readonly isSummary?: true;
}

/** The tools that a model is offered, and whether it may call them. */
export interface Offer {
  readonly tools: readonly BindToolsInput[];
  readonly toolChoice: ToolChoice;
}

export interface FormatRequest extends Offer {
  /** Contract: the options of the client that asks for the format. */
  readonly clientOptions?: (model: object) => Readonly<Record<string, unknown>>;
}

/** The request that follows from a run's settings and its thread's state. */
export function requestOf({ plan, state, settings, models, policy }: ModelStep): ModelRequest {
  const { toolTokens } = policy;
  return {
    models,
    history: state.messages,
    further: furtherRequestsOf(state.messages),
    input: {
      systemPrompt: settings.systemPrompt,
      maxToolCallsFromHistory: settings.maxToolCallsFromHistory,
      markedTools: countMarkedTools(plan.offered),
    },
    toolTokens,
    tools: plan.offered,
    toolChoice: settings.toolChoice,
    maxFallbackAttempts: settings.maxStreamFallbackAttempts,
    idleTimeoutMs: settings.modelIdleTimeoutMs,
    promptCache: settings.promptCache,
    onRepair: settings.onRepair,
  };
}

/** @throws ModelError if a summary's messages do not fit. A summary must not cover what its model did not see. */
export function prepareInput(
  messages: readonly BaseMessage[],
  options: PreparedInputOptions,
  { isSummary }: ModelRequest,
): FittedInput {
  const input = prepareModelInput(messages, options);
  if (isSummary && input.changes.length > 0)
    throw new ModelError("The messages of the summary do not fit into the window of the model.");
  return input;
}
