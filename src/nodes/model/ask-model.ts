/** One model call, with the chat middleware of its run around it. */

import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { AIMessage, BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { cloneMessage, isSameMessage } from "../../history/messages/clone-message.js";
import { copyMessage } from "../../history/messages/copy-message.js";
import { deriveId } from "../../history/messages/message-id.js";
import { parseMessages } from "../../history/reading/messages-schema.js";
import { takeBack } from "../../langgraph/retract-messages.js";
import { ChatContext } from "../../middleware/chat-context.js";
import { asObject } from "../../middleware/context.js";
import type { MiddlewareByKind } from "../../middleware/middleware.js";
import {
  type ChatOutcome,
  type ModelCall,
  runModelMiddleware,
} from "../../middleware/run-model-middleware.js";
import { type PreparedInputOptions, prepareModelInput } from "../../providers/input/to-model-input.js";
import { checkOffered, toolName } from "../../settings/check-tools.js";
import type { RunContext } from "../../settings/run-context.js";
import { countToolTokens } from "../../settings/summary-policy.js";
import { readToolChoice, type ToolChoice } from "../../settings/tool-choice.js";
import type { ModelChain } from "../run/model-chain.js";
import { runInputsOf, scopeOf } from "../run/run-handle.js";
import { formFor, type InputForm, reportChanges } from "./ask-within-window.js";
import { type StreamRequest, streamAnswer } from "./stream-answer.js";

export interface ModelRequest
  extends Pick<
    StreamRequest,
    | "models"
    | "history"
    | "tools"
    | "toolTokens"
    | "toolChoice"
    | "addFormat"
    | "maxFallbackAttempts"
    | "promptCache"
  > {
  readonly input: Omit<PreparedInputOptions, keyof InputForm>;
  /** The tools that the response format can add. Their names are taken. */
  readonly formatTools?: readonly BindToolsInput[];
}

export interface ModelAnswer extends ChatOutcome {
  /** The choice that was sent. A chat middleware may have changed it. */
  readonly toolChoice: ToolChoice;
  /** The names of the tools that the model was offered. Undefined if these are all tools of the graph. */
  readonly offered?: readonly string[] | undefined;
  /** The model that was asked last. */
  readonly model: BaseChatModel;
  /** Its position. */
  readonly position: number;
  /** What chat middleware has written to the state. */
  readonly updates: ChatContext["updates"];
}

/** @throws ModelError if there is no complete response, and any error of a chat middleware. */
export async function askModel(
  request: ModelRequest,
  config: LangGraphRunnableConfig<RunContext>,
): Promise<ModelAnswer> {
  const { history, toolChoice, input } = request;
  const middleware = runInputsOf(config)?.middleware;
  if (middleware !== undefined && middleware.chat.length > 0)
    return askWithMiddleware(request, middleware, config);
  const prepare = (form: InputForm) => prepareModelInput(history, { ...input, ...form });
  const once = { prepare, parameters: {}, shown: new Set<string>(), settle: undefined };
  const { answer, model, position } = await streamAnswer({ ...request, ...once }, config);
  return { message: answer, isTerminated: false, toolChoice, model, position, updates: [] };
}

async function askWithMiddleware(
  request: ModelRequest,
  middleware: MiddlewareByKind,
  config: LangGraphRunnableConfig<RunContext>,
): Promise<ModelAnswer> {
  const { models, history } = request;
  const prepare = (form: InputForm) => prepareModelInput(history, { ...request.input, ...form });
  let model = await models.at(models.position);
  const first = formFor(model, request.toolTokens, models.dialectAt(models.position));
  const input = prepare(first);
  reportChanges(input, first, "window", config);
  const mayBeServed = middleware.function.length > 0;
  const context = new ChatContext({
    // Copies, so that changes of a middleware do not reach the history.
    messages: input.messages.map(cloneMessage),
    options: { toolChoice: request.toolChoice, parameters: {} },
    model,
    tools: request.tools,
    checkTools: (tools) =>
      checkOffered("context.tools", tools, request.tools, { mayBeServed, formatTools: request.formatTools }),
    ...scopeOf(config),
  });
  const shown = new Set<string>();
  const discarded = new Set<string>();
  let { position } = models;
  let { toolChoice } = request;
  const call: ModelCall = async (changed, settle) => {
    const { offered, choice } = offerOf(changed, request);
    toolChoice = choice;
    const left = parseMessages(changed.messages);
    const added = addedTo(input.messages, left);
    const answered = await streamAnswer(
      {
        ...request,
        ...offered,
        models: changed.hasOwnModel ? beginningWith(changed.model, models) : models,
        // Projected again: messages of a middleware must keep the provider's rules and the bound too. For another model
        // from the history, which has what only that model can read.
        prepare: (form) =>
          added === undefined || isFor(form, first)
            ? prepareModelInput(left, form)
            : prepareModelInput([...history, ...added], { ...request.input, ...form }),
        toolChoice,
        parameters: parametersOf(changed),
        shown,
        settle,
      },
      config,
    );
    // A model that a middleware chose for one call says nothing about the run's own model.
    position = changed.hasOwnModel ? models.position : answered.position;
    model = answered.model;
    return answered.answer;
  };
  const discard = async (answer: AIMessage, isShown: boolean): Promise<void> => {
    if (!isShown) return;
    if (answer.id !== undefined) discarded.add(answer.id);
    await takeBack(answer, config);
  };
  const { message, isTerminated } = await runModelMiddleware(middleware.chat, context, call, discard);
  return {
    message: message && withUnusedId(message, discarded),
    isTerminated,
    toolChoice,
    ...(context.hasOwnTools && { offered: context.tools.map(toolName) }),
    model,
    position,
    updates: context.updates,
  };
}

/** A middleware can give a response that clients had, and that was taken back. They know its id as removed. */
function withUnusedId(message: AIMessage, discarded: ReadonlySet<string>): AIMessage {
  const { id } = message;
  return id === undefined || !discarded.has(id)
    ? message
    : copyMessage(message, { id: deriveId(message, id) });
}

/** The tools of a call and whether the model may call them. If tools are off, a middleware cannot turn them on. */
function offerOf(context: ChatContext, request: ModelRequest) {
  const { tools, options, hasOwnTools } = context;
  const wanted = options.toolChoice ?? request.toolChoice;
  // Without tools in the request, some providers reject a history with calls. So they stay declared.
  const isOff = request.toolChoice === "none" || tools.length === 0;
  const declared = tools.length === 0 ? request.tools : tools;
  const toolTokens = hasOwnTools && tools.length > 0 ? countToolTokens(tools) : request.toolTokens;
  const choice: ToolChoice = isOff ? "none" : readToolChoice(wanted, tools.map(toolName));
  return { offered: { tools: [...declared], toolTokens }, choice };
}

/** A middleware that replaces all options can leave out those that it does not change. */
function parametersOf({ options }: ChatContext): Readonly<Record<string, unknown>> {
  const { parameters = {} } = options;
  return asObject("context.options.parameters", parameters);
}

/** The chain with another model in the place of the one that is asked first. */
function beginningWith(given: BaseChatModel | string, models: ModelChain): ModelChain {
  const isFirst = (position: number | undefined) => position === models.position;
  return {
    ...models,
    at: async (position) => {
      if (!isFirst(position)) return models.at(position);
      return typeof given === "string" ? models.named(given) : given;
    },
    dialectAt: (position) => (isFirst(position) ? undefined : models.dialectAt(position)),
    nameOf: (model, position) => {
      if (!isFirst(position)) return models.nameOf(model, position);
      return typeof given === "string" ? given : models.nameOf(model);
    },
  };
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
