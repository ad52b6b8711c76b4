/** One request to a model, and its complete response. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { ModelError } from "../../errors.js";
import { isBlankMessage } from "../../history/calls/without-calls.js";
import { callsOf, isAIMessage } from "../../history/messages/call.js";
import { coerceMessage } from "../../history/reading/coerce-message.js";
import { hasMessage } from "../../history/reducer/normalize-history.js";
import type { Settle } from "../../middleware/run-model-middleware.js";
import { finishHabitOf } from "../../providers/answer/finish-habit.js";
import { type Askable, guardModel } from "../../providers/answer/guard-model.js";
import { joinChunks } from "../../providers/answer/join-chunks.js";
import type { StreamGuardOptions } from "../../providers/answer/stream-guard.js";
import { describeFailure } from "../../providers/failure/model-failure.js";
import type { FittedInput } from "../../providers/input/bounds/fit-input.js";
import { bindToolsOnce } from "../../providers/models/bind-tools.js";
import { type PromptCache, promptCacheMarks } from "../../providers/models/prompt-cache.js";
import { afterRequired, requiredFunctionOf, type ToolChoice } from "../../settings/tool-choice.js";
import type { FormatRequest, Offer } from "../format/format-request.js";
import { emitEvent } from "../run/agent-event.js";
import { createUsageCounter, type UsageCounter } from "../run/count-usage.js";
import type { ModelChain } from "../run/model-chain.js";
import { runRecordOf } from "../run/run-handle.js";
import { type Asked, askInOrder, type ModelAttempt } from "./ask-in-order.js";
import { askWithinWindow, type InputForm } from "./ask-within-window.js";

export interface StreamRequest {
  readonly models: ModelChain;
  readonly history: readonly BaseMessage[];
  /** Contract: makes the input in this form, each time from the same messages. */
  readonly prepare: (form: InputForm) => FittedInput;
  readonly tools: readonly BindToolsInput[];
  /** The tokens of the tools' schemas. */
  readonly toolTokens: number;
  readonly toolChoice: ToolChoice;
  /** Contract: adds the response format to what a model is offered. Undefined: a text. */
  readonly addFormat?: ((offer: Offer, model: BaseChatModel) => FormatRequest) | undefined;
  readonly parameters: Readonly<Record<string, unknown>>;
  readonly promptCache: PromptCache;
  /** How often a broken response is requested again, without streaming. */
  readonly maxFallbackAttempts: number;
  /** The ids of the messages that clients were shown in this model call. */
  readonly shown: Set<string>;
  readonly settle: Settle | undefined;
}

/**
 * Always streams. For a streaming model, `invoke` of some clients downloads a tokenizer.
 *
 * @throws ModelError if no model gives a complete response.
 */
export async function streamAnswer(
  request: StreamRequest,
  config: LangGraphRunnableConfig,
): Promise<Asked<AIMessage>> {
  const { prepare, tools, toolTokens, toolChoice, settle } = request;
  let hasSettled = false;
  let isAsked = false;
  const ask = async ({ model, position, hasNext }: ModelAttempt): Promise<AIMessage> => {
    isAsked = false;
    const plain: Offer = { tools, toolChoice };
    const offer: FormatRequest = request.addFormat?.(plain, model) ?? plain;
    const marks = promptCacheMarks(model, request.promptCache);
    const parameters = { ...marks.parameters, ...request.parameters };
    const offered = offerTools(model, marks.tools(offer.tools), offer.toolChoice);
    isAsked = true;
    const usage = createUsageCounter(model, toolTokens, runRecordOf(config)?.tally);
    // What a middleware makes of the response was not paid for.
    const settling = settle && {
      settle: (whole: AIMessage) => {
        usage.addResponse(whole);
        hasSettled = true;
        return settle(whole);
      },
    };
    const guard = { ...createGuard(request, model, hasNext, usage, config), ...settling };
    const send = async (messages: BaseMessage[], size: number) => {
      usage.begin(size);
      const guarded = await guardModel(offered, guard, config, parameters);
      return joinChunks(
        await guarded.stream(marks.messages(messages), {
          ...offer.clientOptions?.(model),
          ...parameters,
          ...config,
        }),
      );
    };
    const dialect = request.models.dialectAt(position);
    const answer = coerceMessage(
      await askWithinWindow({ model, toolTokens, dialect, prepare, send }, config),
    );
    const isAnswer = answer !== undefined && isAIMessage(answer);
    if (isAnswer && (callsOf(answer).length > 0 || !isBlankMessage(answer))) {
      if (settle === undefined) usage.addResponse(answer);
      return answer;
    }
    throw new ModelError("The model's response is empty: it has neither text nor a tool call.");
  };
  return askInOrder(request.models, ask, () => hasSettled || !isAsked, config);
}

function offerTools(model: BaseChatModel, tools: readonly BindToolsInput[], toolChoice: ToolChoice): Askable {
  if (tools.length === 0) return model;
  // The tools stay declared even if they are off: some providers reject a history with calls in a request without
  // tools.
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

function createGuard(
  { history, maxFallbackAttempts, shown }: StreamRequest,
  model: BaseChatModel,
  hasNext: boolean,
  counter: UsageCounter,
  config: LangGraphRunnableConfig,
): StreamGuardOptions {
  return {
    maxFallbackAttempts,
    habit: finishHabitOf(model),
    isTaken: (id) => shown.has(id) || hasMessage(history, id),
    onShown: (id) => shown.add(id),
    onBroken: ({ reason, usage }) => {
      runRecordOf(config)?.tally.addBroken();
      counter.addBroken(usage);
      emitEvent(config, { type: "answer-broken", reason });
    },
    onRetry: ({ error, ...attempts }) =>
      emitEvent(config, { type: "model-retry", ...attempts, reason: describeFailure(error, model) }),
    // Without another model, the user gets the text up to there.
    ...(hasNext && { onWithheld: ({ usage }) => counter.addBroken(usage) }),
  };
}
