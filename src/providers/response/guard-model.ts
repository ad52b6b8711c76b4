/** Asks a model by a view of it that gives only complete responses, and notes who was asked. */

import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import { type Runnable, RunnableBinding, type RunnableConfig } from "@langchain/core/runnables";
import { AsyncLocalStorageProviderSingleton } from "@langchain/core/singletons";
import { copyMessage } from "../../history/message.js";
import { defined, recordsIn, textIn } from "../../shared/values.js";
import { boundView, viewOf } from "../../shared/views.js";
import { type Asked, isSameModel, RESPONSES, readMaker, withAsked } from "../contract/author.js";
import { isChatModel, withParameters } from "../contract/model-view.js";
import { inKnownApi } from "../contract/openai-api.js";
import { readInPlace, toModelError } from "../failure/model-failure.js";
import { carryHostFields } from "../host-fields/client.js";
import { identityOf } from "../table/dialect-of.js";
import { PROVIDERS } from "../table/providers.js";
import {
  baseOf,
  type CallOptions,
  isPrivateAccess,
  type Run,
  type StreamGuardOptions,
} from "./ask-client.js";
import { guardedResponse } from "./guarded-response.js";
import type { Manner } from "./manner.js";
import { finishHabitOf } from "./verdict.js";

export type Askable = Runnable<BaseLanguageModelInput, AIMessageChunk>;

/**
 * A model's complete response; see `guardedResponse`. It is streamed if somebody listens, as the model's client alone
 * would be: LangChain decides it by the handlers of the run. The parameters apply to this request; see
 * `withParameters`.
 *
 * The model, alone or with bound tools, is asked by a view of it, not by a model around it. So it keeps its default
 * options, call options, trace name and serialized form. (`ChatOpenAI` keeps bound tools in its defaults and adds them
 * only in `invoke` and `stream`. With a model around it, its request would have no tools.) A value that is not a chat
 * model is asked as it is.
 *
 * @throws ModelError if there is no complete response, or if its client failed and the guard does not keep its errors.
 */
export async function askGuarded(
  model: Askable,
  guard: StreamGuardOptions,
  messages: BaseMessage[],
  options: RunnableConfig,
  parameters: Readonly<Record<string, unknown>> = {},
): Promise<BaseMessage> {
  const held: Held = {};
  const guarded = await guardModel(model, guard, held, options, parameters);
  // What a model asks other models is not shown, so it does not find the run in its context.
  const invoked = await AsyncLocalStorageProviderSingleton.runWithConfig(
    options,
    () => guarded.invoke(messages, options),
    true,
  );
  const response = held.response === undefined ? invoked : withId(held.response, invoked.id);
  // A program's own Runnable can return anything.
  if (typeof response !== "object") return response;
  return PROVIDERS.reduce((message, { correctResponse }) => correctResponse?.(message) ?? message, response);
}

/** The response of a model that was asked for events. LangChain returns what it has read from them, which is less. */
interface Held {
  response?: AIMessageChunk;
}

function withId(response: AIMessageChunk, id: string | undefined): AIMessageChunk {
  return response.id === undefined && id !== undefined ? copyMessage(response, { id }) : response;
}

async function guardModel(
  model: Askable,
  guard: StreamGuardOptions,
  held: Held,
  config: RunnableConfig,
  parameters: Readonly<Record<string, unknown>>,
): Promise<Askable> {
  if (RunnableBinding.isRunnableBinding(model)) {
    const bound = await guardModel(model.bound, guard, held, config, parameters);
    return viewOf(model, { bound });
  }
  const made = await madeModel(model, config);
  if (made !== model) return guardModel(made as Askable, guard, held, config, parameters);
  if (!isChatModel(model)) return model;
  return guardedView(withParameters(inKnownApi(model), parameters), guard, held, model);
}

/** `initChatModel`, and an agent whose model is a name, have an object that makes the model on demand. */
export async function madeModel(model: object, config: RunnableConfig): Promise<object> {
  const make: unknown = Reflect.get(model, "_getModelInstance");
  return typeof make === "function" ? make.call(model, config) : model;
}

/** A view of the client that sends what LangChain's clients lose, and reads what they misread. */
export function correctedClient(model: BaseChatModel): BaseChatModel {
  const identity = identityOf(model);
  return PROVIDERS.reduce(
    (view, { correctClient }) => correctClient?.(view, identity) ?? view,
    carryHostFields(model, identity),
  );
}

/** @param original The model without parameters. A view's provider cannot be recognised. */
function guardedView(
  model: BaseChatModel,
  guard: StreamGuardOptions,
  held: Held,
  original: BaseChatModel,
): Askable {
  const habit = finishHabitOf(original);
  const corrected = correctedClient(model);
  const failed = (error: unknown, messages: BaseMessage[], signal: AbortSignal | undefined): never => {
    const request = { model: original, messages, signal };
    throw guard.keepsErrors === true ? readInPlace(error, request) : toModelError(error, request);
  };
  const answer = async (manner: Manner, messages: BaseMessage[], options: CallOptions, run: Run) => {
    const ask = (client: BaseChatModel) =>
      guardedResponse({ model: client, original, guard, habit, manner, messages, options, run });
    const response = await askOnView(corrected, original, ASKED_WITHOUT, ask).catch((error: unknown) =>
      failed(error, messages, options.signal),
    );
    noteModel(response.message, identityOf(original));
    return response;
  };
  const members = {
    // A user's class can meter, limit or route its requests here.
    invoke(this: BaseChatModel, messages: BaseMessage[], options?: RunnableConfig): Promise<AIMessageChunk> {
      return askOnView(this, original, INVOKED_WITHOUT, async (client) => {
        try {
          return await Reflect.apply(model.invoke, client, [messages, options]);
        } catch (error) {
          if (client === this) throw error;
          return failed(error, messages, options?.signal);
        }
      });
    },
    async *_streamResponseChunks(
      messages: BaseMessage[],
      options: CallOptions,
      run?: CallbackManagerForLLMRun,
    ) {
      const { message } = await answer("streamed", messages, options, run);
      yield new ChatGenerationChunk({ text: message.text, message });
    },
    async _generate(
      messages: BaseMessage[],
      options: CallOptions,
      run?: CallbackManagerForLLMRun,
    ): Promise<ChatResult> {
      // With this field, the common clients also stream if nobody listens.
      const manner = Reflect.get(model, "streaming") === true ? "streamed" : "whole";
      const { message, generationInfo, llmOutput } = await answer(manner, messages, options, run);
      return {
        generations: [{ text: message.text, message, ...defined({ generationInfo }) }],
        ...defined({ llmOutput }),
      };
    },
    async *_streamChatModelEvents(this: BaseChatModel, messages: BaseMessage[], options: CallOptions) {
      const { message } = await answer("streamed", messages, options, undefined);
      held.response = message;
      const chunk = new ChatGenerationChunk({ text: message.text, message: held.response });
      const events = viewOf(this, {
        _streamResponseChunks: async function* () {
          yield chunk;
        },
      });
      yield* baseOf(model)?._streamChatModelEvents.call(events, messages, options) ?? [];
    },
    // The guard also handles a model that does not stream.
    disableStreaming: false,
    // LangChain would store and return a response as it is, with an id that a thread has.
    cache: undefined,
  };
  return boundView(model, members, INVOKING_METHODS);
}

/** User classes whose `invoke`, or whose requests, failed on a view, because it lacks their `#private` fields. */
const INVOKED_WITHOUT = new WeakSet<object>();
const ASKED_WITHOUT = new WeakSet<object>();

/**
 * Asks a view of the model. If its class cannot run on a view, asks the model itself, which then gets only the request:
 * if that is its own `invoke`, the response is taken as it is.
 */
async function askOnView<Result>(
  view: BaseChatModel,
  model: BaseChatModel,
  withoutViews: WeakSet<object>,
  ask: (client: BaseChatModel) => Promise<Result>,
): Promise<Result> {
  if (withoutViews.has(model.constructor)) return ask(model);
  try {
    return await ask(view);
  } catch (error) {
    if (view === model || !isPrivateAccess(error)) throw error;
    const result = await ask(model);
    withoutViews.add(model.constructor);
    return result;
  }
}

/**
 * Each stored response knows its model, so that state that only this model can read goes to no other. Anthropic's
 * client has the name elsewhere in a stream, and Google's clients have none. A response with more than text and plain
 * calls also knows who was asked, because its model can have several names, and a model several hosts.
 */
function noteModel(message: AIMessageChunk, asked: Asked): void {
  const name = textIn(message.additional_kwargs, "model") ?? asked.modelId;
  if (name !== undefined && readMaker(message).model === undefined)
    message.response_metadata = { ...message.response_metadata, model_name: name };
  const answered = readMaker(message).model ?? "";
  if (isPlain(message) && isSameModel(answered, asked.modelId ?? "")) return;
  const { client } = asked;
  const isOfResponses =
    Array.isArray(message.response_metadata["output"]) && client?.endsWith(RESPONSES) === false;
  const told = isOfResponses ? { ...asked, client: client + RESPONSES } : asked;
  message.additional_kwargs = withAsked(message, told).additional_kwargs;
}

/** Whether nothing in a response is beyond text and plain calls. */
function isPlain({
  content,
  tool_calls = [],
  additional_kwargs,
  response_metadata,
}: AIMessageChunk): boolean {
  const has = (value: object, ...names: readonly string[]) =>
    Object.entries(value).every(([name, field]) => names.includes(name) || field === undefined);
  const isText = (block: object) => has(block, "type", "text", "index") && "text" in block;
  return (
    (typeof content === "string" || content.every(isText)) &&
    tool_calls.every((call) => has(call, "type", "id", "name", "args")) &&
    has(additional_kwargs, "tool_calls") &&
    recordsIn(additional_kwargs["tool_calls"]).every((call) =>
      has(call, "id", "type", "index", "function"),
    ) &&
    // The items of a response.
    Object.values(response_metadata).every((value) => !Array.isArray(value) || value.length === 0)
  );
}

/**
 * The methods that a chat model calls on `this` until it asks. They are not bound to the model, so that they find the
 * view's own members. The last one is internal to LangChain.
 */
export const INVOKING_METHODS: ReadonlySet<unknown> = new Set([
  "invoke",
  "generatePrompt",
  "generate",
  "_generateUncached",
]);
