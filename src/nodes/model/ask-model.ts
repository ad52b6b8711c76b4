/** One model request: its messages, its tools, and its complete response. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { ModelError } from "../../errors.js";
import { isBlankMessage } from "../../history/calls/without-calls.js";
import { callsOf, isAIMessage } from "../../history/messages/call.js";
import { cloneMessage, isSameMessage } from "../../history/messages/clone-message.js";
import { coerceMessage } from "../../history/reading/coerce-message.js";
import { parseMessages } from "../../history/reading/messages-schema.js";
import { takeBack } from "../../langgraph/retract-messages.js";
import { ChatContext } from "../../middleware/chat-context.js";
import { asObject } from "../../middleware/context.js";
import {
  type ChatOutcome,
  type ModelCall,
  runModelMiddleware,
  type Settle,
} from "../../middleware/run-model-middleware.js";
import { finishHabitOf } from "../../providers/answer/finish-habit.js";
import { type Askable, guardModel } from "../../providers/answer/guard-model.js";
import { joinChunks } from "../../providers/answer/join-chunks.js";
import type { StreamGuardOptions } from "../../providers/answer/stream-guard.js";
import { describeFailure } from "../../providers/failure/model-failure.js";
import type { FittedInput } from "../../providers/input/bounds/fit-input.js";
import { type PreparedInputOptions, prepareModelInput } from "../../providers/input/to-model-input.js";
import { bindTools } from "../../providers/models/bind-tools.js";
import { toolName } from "../../settings/check-tools.js";
import type { RunContext } from "../../settings/run-context.js";
import {
  afterRequired,
  readToolChoice,
  requiredFunctionOf,
  type ToolChoice,
} from "../../settings/tool-choice.js";
import { emitEvent } from "../run/agent-event.js";
import type { ModelChain } from "../run/model-chain.js";
import { runInputsOf, runRecordOf, scopeOf } from "../run/run-handle.js";
import { type Asked, askInOrder, type ModelAttempt } from "./ask-in-order.js";
import { askWithinWindow, formFor, type InputForm, reportChanges } from "./ask-within-window.js";

export interface ModelRequest {
  readonly models: ModelChain;
  readonly history: readonly BaseMessage[];
  readonly input: Omit<PreparedInputOptions, keyof InputForm>;
  /** The tokens of the tools' schemas. */
  readonly toolTokens: number;
  readonly tools: readonly BindToolsInput[];
  readonly toolChoice: ToolChoice;
  /** How often a broken response is requested again, without streaming. */
  readonly maxFallbackAttempts: number;
}

export interface ModelAnswer extends ChatOutcome {
  /** The choice that was sent. A chat middleware may have changed it. */
  readonly toolChoice: ToolChoice;
  /** The position of the model that responded. */
  readonly position: number;
}

/** @throws ModelError if there is no complete response, and any error of a chat middleware. */
export async function askModel(
  request: ModelRequest,
  config: LangGraphRunnableConfig<RunContext>,
): Promise<ModelAnswer> {
  const { models, history, tools, toolChoice } = request;
  const prepare = (form: InputForm) => prepareModelInput(history, { ...request.input, ...form });
  const layers = runInputsOf(config)?.middleware.chat ?? [];
  if (layers.length === 0) {
    const sent = { prepare, toolChoice, parameters: {} };
    const { answer, position } = await streamAnswer(request, sent, undefined, config);
    return { message: answer, isTerminated: false, toolChoice, position };
  }
  const model = await models.at(models.position);
  const first = formFor(model, request.toolTokens);
  const input = prepare(first);
  reportChanges(input, first, "window", config);
  const context = new ChatContext({
    // Copies, so that changes of a middleware do not reach the history.
    messages: input.messages.map(cloneMessage),
    options: { toolChoice, parameters: {} },
    model,
    tools,
    ...scopeOf(config),
  });
  let { position } = models;
  let chosen = toolChoice;
  const call: ModelCall = async (changed, settle) => {
    const { options } = changed;
    // If tools are off, a middleware cannot turn them on.
    chosen =
      toolChoice === "none" ? "none" : readToolChoice(options.toolChoice ?? toolChoice, tools.map(toolName));
    // A middleware that replaces all options can leave out those that it does not change.
    const { parameters: given = {} } = options;
    const parameters = asObject("context.options.parameters", given);
    const left = parseMessages(changed.messages);
    const added = addedTo(input.messages, left);
    const sent = {
      // Projected again: messages of a middleware must keep the provider's rules and the bound too. For another model
      // from the history, which has what only that model can read.
      prepare: (form: InputForm) =>
        added === undefined || isFor(form, first)
          ? prepareModelInput(left, form)
          : prepareModelInput([...history, ...added], { ...request.input, ...form }),
      toolChoice: chosen,
      parameters,
    };
    const answered = await streamAnswer(request, sent, settle, config);
    position = answered.position;
    return answered.answer;
  };
  const outcome = await runModelMiddleware(layers, context, call, (answer) => takeBack(answer, config));
  return { ...outcome, toolChoice: chosen, position };
}

/** The system messages that a middleware added. Undefined if it changed anything else. */
function addedTo(given: readonly BaseMessage[], left: readonly BaseMessage[]): BaseMessage[] | undefined {
  const added = left.slice(given.length);
  const isUntouched = given.every((message, index) => isSameMessage(message, left[index]));
  return isUntouched && added.every(({ type }) => type === "system") ? added : undefined;
}

function isFor(form: InputForm, { dialect, modelId }: InputForm): boolean {
  return form.dialect === dialect && form.modelId === modelId;
}

interface Sent {
  readonly prepare: (form: InputForm) => FittedInput;
  readonly toolChoice: ToolChoice;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** Always streams. For a streaming model, `invoke` of some clients downloads a tokenizer. */
async function streamAnswer(
  request: ModelRequest,
  { prepare, toolChoice, parameters }: Sent,
  settle: Settle | undefined,
  config: LangGraphRunnableConfig,
): Promise<Asked<AIMessage>> {
  const { tools, toolTokens } = request;
  const shown = new Set<string>();
  let hasSettled = false;
  let isAsked = false;
  const settling = settle && {
    settle: (answer: AIMessage) => {
      hasSettled = true;
      return settle(answer);
    },
  };
  const ask = async ({ model, hasNext }: ModelAttempt): Promise<AIMessage> => {
    isAsked = false;
    const offered = offerTools(model, tools, toolChoice);
    isAsked = true;
    const guard = { ...createGuard(request, model, { shown, hasNext }, config), ...settling };
    const send = async (messages: BaseMessage[]) => {
      const guarded = await guardModel(offered, guard, config, parameters);
      return joinChunks(await guarded.stream(messages, { ...parameters, ...config }));
    };
    const answer = coerceMessage(await askWithinWindow({ model, toolTokens, prepare, send }, config));
    const isAnswer = answer !== undefined && isAIMessage(answer);
    if (isAnswer && (callsOf(answer).length > 0 || !isBlankMessage(answer))) return answer;
    throw new ModelError("The model's response is empty: it has neither text nor a tool call.");
  };
  return askInOrder(request.models, ask, () => hasSettled || !isAsked, config);
}

function offerTools(model: BaseChatModel, tools: readonly BindToolsInput[], toolChoice: ToolChoice): Askable {
  if (tools.length === 0) return model;
  // The tools stay declared even if they are off: some providers reject a history with calls in a request without
  // tools.
  const choice = wordFor(toolChoice);
  const bound = bindTools(model, tools, choice === undefined ? {} : { tool_choice: choice });
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

interface Attempt extends Pick<ModelAttempt, "hasNext"> {
  /** The ids of the messages that clients were shown. */
  readonly shown: Set<string>;
}

function createGuard(
  { history, maxFallbackAttempts }: ModelRequest,
  model: BaseChatModel,
  { shown, hasNext }: Attempt,
  config: LangGraphRunnableConfig,
): StreamGuardOptions {
  const tally = runRecordOf(config)?.tally;
  return {
    maxFallbackAttempts,
    habit: finishHabitOf(model),
    isTaken: (id) => shown.has(id) || history.some((message) => message.id === id),
    onShown: (id) => shown.add(id),
    onBroken: ({ reason, usage }) => {
      tally?.addBroken(usage);
      emitEvent(config, { type: "answer-broken", reason });
    },
    onRetry: ({ error, ...attempts }) =>
      emitEvent(config, { type: "model-retry", ...attempts, reason: describeFailure(error, model) }),
    // Without another model, the user gets the text up to there.
    ...(hasNext && { onWithheld: ({ usage }) => tally?.addDiscarded(usage) }),
  };
}
