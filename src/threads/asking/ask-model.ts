/** Asks a model inside a user's own graph, as carefully as `createAgentGraph` does. */

import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { z } from "zod/v4";
import { InvalidSettingError, ModelError } from "../../errors.js";
import { isAIMessage } from "../../history/call.js";
import { coerceMessage, soundMessages } from "../../history/read-messages.js";
import {
  checkInputOptions,
  type ModelInputOptions,
  prepareModelInput,
} from "../../providers/input/to-model-input.js";
import { type Askable, askGuarded } from "../../providers/response/guard-model.js";
import { checkGiven, type Rule } from "../../shared/check-settings.js";
import { isRecord } from "../../shared/values.js";
import { countToolTokens, FALLBACK_ATTEMPTS, MODEL_IDLE_TIMEOUT } from "../shared-settings.js";
import { askByRungs, furtherRequestsOf, type InputForm, responseGuard, tellClosedCalls } from "./rungs.js";

/** The options of `askModel`. */
export interface AskModelOptions extends Omit<ModelInputOptions, "modelId"> {
  /** The node's config. Its stream gets the events, and its signal ends the request. @default none */
  readonly config?: LangGraphRunnableConfig | undefined;
}

/**
 * Sends a history to a chat model, and returns its complete response. Every call gets a result, and the request keeps
 * the provider's rules. If the provider refuses its content, such as a picture, up to three reduced requests follow in
 * a turn. A broken response is requested again.
 *
 * Store the response unchanged: its mark says what had to change, so the next request begins there.
 *
 * @param model A chat model. It may have bound tools.
 * @throws InvalidSettingError for an unknown option, or a value that is not a chat model.
 * @throws InvalidMessageError for a history that is not a list of messages.
 * @throws ModelError with the first refusal if no request is accepted, or if there is no complete response.
 * @example
 * ```ts
 * import { HumanMessage } from "@langchain/core/messages";
 * import { askModel, createModel } from "langgraph-tether";
 *
 * const model = await createModel("offline:");
 * const response = await askModel(model, [new HumanMessage("Hello!")], { systemPrompt: "Be brief." });
 * console.log(response.type); // ai
 * ```
 */
export async function askModel(
  model: object,
  given: readonly BaseMessage[],
  allOptions: AskModelOptions = {},
): Promise<AIMessage> {
  checkGiven("options", allOptions, anObject);
  const { config = {}, ...options } = allOptions;
  checkInputOptions(options);
  checkGiven("config", config, anObject);
  if (!isAskable(model)) throw InvalidSettingError.expected("model", "a chat model", model);
  const history = soundMessages(given);
  const { dialect, maxTokens } = options;
  const guard = responseGuard(
    {
      model,
      maxFallbackAttempts: FALLBACK_ATTEMPTS,
      idleTimeoutMs: MODEL_IDLE_TIMEOUT,
      thread: history,
      shown: new Set(),
      keepsShown: false,
    },
    config,
  );
  const prepare = (form: InputForm) => prepareModelInput(history, { ...options, ...form });
  const toolTokens = toolTokensOf(model);
  tellClosedCalls(history, { model, dialect }, config);
  return askByRungs(
    {
      model,
      history,
      toolTokens,
      maxTokens,
      dialect,
      further: furtherRequestsOf(history),
      options: kwargsOf(model),
      prepare,
      send: async (messages, mark) => {
        const response = coerceMessage(await askGuarded(model, guard, messages, config));
        if (response === undefined || !isAIMessage(response))
          throw new ModelError("Expected the model's response to be an AI message.");
        return mark(response);
      },
    },
    config,
  );
}

const anObject = { schema: z.custom<object>(isRecord), expects: "an object" } satisfies Rule;

function isAskable(model: unknown): model is Askable {
  return isRecord(model) && typeof model["invoke"] === "function" && typeof model["stream"] === "function";
}

/** What the model is bound to. */
function kwargsOf(model: object): Readonly<Record<string, unknown>> {
  const kwargs: unknown = Reflect.get(model, "kwargs");
  return isRecord(kwargs) ? kwargs : {};
}

function toolTokensOf(model: object): number {
  const { tools } = kwargsOf(model);
  return Array.isArray(tools) ? countToolTokens(tools) : 0;
}
