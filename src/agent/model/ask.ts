/** One request to a model and its complete response, and the fallback models if it fails. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { ModelError } from "../../errors.js";
import { isAIMessage } from "../../history/call.js";
import { isEmptyMessage } from "../../history/empty-message.js";
import { coerceMessage } from "../../history/read-messages.js";
import type { DialectName } from "../../providers/contract/dialect-name.js";
import { failsForGood } from "../../providers/failure/model-failure.js";
import type { FittedInput } from "../../providers/input/bounds.js";
import { bindToolsOnce, promptCacheMarks } from "../../providers/models/tools.js";
import type { StreamGuardOptions } from "../../providers/response/ask-client.js";
import { type Askable, askGuarded } from "../../providers/response/guard-model.js";
import {
  askByRungs,
  type InputForm,
  type MarkResponse,
  responseGuard,
  tellClosedCalls,
} from "../../threads/asking/rungs.js";
import { emitEvent } from "../../threads/events.js";
import { createUsageCounter } from "../../threads/usage.js";
import { runOf } from "../run/handle.js";
import { dialectAt, modelNameOf } from "../settings/models.js";
import { afterRequired, requiredFunctionOf, type ToolChoice } from "../settings/tools.js";
import type { FormatRequest, ModelRequest, Offer } from "./request.js";

/** Contract: gets the complete response before the client gets any of it. Resolves to the client's response. */
export type Settle = (response: AIMessage) => Promise<AIMessage>;

interface StreamCall {
  readonly request: Omit<ModelRequest, "input" | "formatTools">;
  /** Contract: makes the input in this form, each time from the same messages. */
  readonly prepare: (form: InputForm) => FittedInput;
  readonly parameters: Readonly<Record<string, unknown>>;
  /** The ids of the messages that clients saw in this model call. */
  readonly shown: Set<string>;
  readonly settle: Settle | undefined;
}

interface AskedModel {
  readonly model: BaseChatModel;
  readonly dialect: DialectName | undefined;
  /** Whether another model follows if this one fails. */
  readonly hasNext: boolean;
  /** Whether a failure is the model's: it was asked, and its response is incomplete. */
  isAsked: boolean;
}

/**
 * Asks the models in order until one responds.
 *
 * @throws The error of the last model, or the first error after which no other model can help.
 */
export async function streamResponse(call: StreamCall, config: LangGraphRunnableConfig) {
  const { models } = call.request;
  let model = await models.make(models.at(models.position));
  for (let { position } = models; ; position += 1) {
    const hasNext = position < models.last;
    const asked: AskedModel = { model, dialect: dialectAt(position, models), hasNext, isAsked: false };
    try {
      return { response: await responseFrom(asked, call, config), model, position };
    } catch (error) {
      if (!hasNext || !asked.isAsked || config.signal?.aborted === true || !failsForGood(error)) throw error;
      const next = await models.make(models.at(position + 1));
      emitEvent(config, {
        type: "model-switched",
        from: modelNameOf(models.at(position), model),
        to: modelNameOf(models.at(position + 1), next),
        reason: error.message,
      });
      model = next;
    }
  }
}

/** @throws ModelError if the model gives no complete response. What clients saw of it is taken back. */
async function responseFrom(
  asked: AskedModel,
  { request, prepare, parameters: given, shown, settle }: StreamCall,
  config: LangGraphRunnableConfig,
): Promise<AIMessage> {
  const { toolTokens, history, further, onRepair, isSummary = false } = request;
  const { model, dialect } = asked;
  const { tally } = runOf(config).inputs;
  const plain: Offer = { tools: request.tools, toolChoice: request.toolChoice };
  const offer: FormatRequest = request.addFormat?.(plain, model) ?? plain;
  const marks = promptCacheMarks(model, request.promptCache, [history, request.tools]);
  const parameters = { ...marks.parameters, ...given };
  const offered = offerTools(model, marks.tools(offer.tools), offer.toolChoice);
  const more = { ...offer.clientOptions?.(model), ...parameters };
  const options = { ...more, tools: offer.tools, toolChoice: offer.toolChoice };
  asked.isAsked = true;
  const usage = createUsageCounter(model, tally);
  const usual = responseGuard(
    { ...request, model, thread: history, shown, keepsShown: !isSummary, usage },
    config,
  );
  const send = async (messages: BaseMessage[], mark: MarkResponse, { length }: FittedInput) => {
    usage.begin(Math.ceil(length.tokens));
    const guard: StreamGuardOptions = {
      ...usual,
      wants: isSummary ? "whole-text" : "response",
      // Without another model, the user gets the text so far.
      refusesWithheld: asked.hasNext,
      // What a middleware makes of the response costs nothing.
      settle:
        settle &&
        ((whole) => {
          usage.addResponse(whole);
          asked.isAsked = false;
          return settle(mark(whole));
        }),
    };
    const options = { ...more, ...config };
    return { mark, answer: await askGuarded(offered, guard, marks.messages(messages), options, parameters) };
  };
  if (!isSummary) tellClosedCalls(history, { model, dialect, onRepair }, config);
  const rungs = { model, history, toolTokens, dialect, further, options, prepare, send };
  const { answer, mark } = await askByRungs(rungs, config);
  const response = coerceMessage(answer);
  if (response === undefined || !isAIMessage(response) || isEmptyMessage(response))
    throw new ModelError("The model's response is empty: it has neither text nor a tool call.");
  if (settle === undefined) usage.addResponse(response);
  return mark(response);
}

function offerTools(model: BaseChatModel, tools: readonly BindToolsInput[], toolChoice: ToolChoice): Askable {
  if (tools.length === 0) return model;
  // The tools stay declared even if they are off, because some providers reject a history with calls in a request
  // without tools.
  const bound = bindToolsOnce(model, tools, wordFor(toolChoice));
  if (bound !== undefined) return bound;
  throw new ModelError(
    "This model cannot call tools: it has no `bindTools`. Choose another model, or remove the tools.",
  );
}

/** The value that LangChain's clients share. */
function wordFor(toolChoice: ToolChoice): string | undefined {
  if (toolChoice === "auto") return undefined;
  if (afterRequired(toolChoice) === undefined) return "none";
  return requiredFunctionOf(toolChoice) ?? "any";
}
