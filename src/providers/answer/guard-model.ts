import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { type Runnable, RunnableBinding, type RunnableConfig } from "@langchain/core/runnables";
import { STREAMING_METHODS } from "../../langgraph/streaming-methods.js";
import { withModelErrors } from "../failure/model-failure.js";
import { catchGeminiResponse } from "../models/clients/catch-gemini-response.js";
import { sendReasoning } from "../models/clients/send-reasoning.js";
import { isChatModel } from "../models/model-view.js";
import { withParameters } from "../models/with-parameters.js";
import { guardedChunks, type StreamGuardOptions } from "./stream-guard.js";

export type Askable = Runnable<BaseLanguageModelInput, AIMessageChunk>;

/**
 * A model, alone or with tools bound to it, whose `stream` gives whole answers only; see `guardedChunks`. The parameters
 * are those of this request; see `withParameters`.
 *
 * It is the model itself, with one method replaced, and not a model around it: so its default options, the options
 * that it takes, what it is called in traces and how it is serialized stay its own. (`ChatOpenAI` keeps bound tools in its
 * defaults and adds them in `stream` alone; a model around it would fall back to a request without tools.)
 */
export async function guardModel(
  model: Askable,
  guard: StreamGuardOptions,
  config: RunnableConfig,
  parameters: Readonly<Record<string, unknown>> = {},
): Promise<Askable> {
  if (RunnableBinding.isRunnableBinding(model)) {
    const bound = await guardModel(model.bound, guard, config, parameters);
    return Object.create(model, { bound: { value: bound, enumerable: true } });
  }
  // What `initChatModel` returns makes the model that it stands for when it is asked.
  const resolve: unknown = Reflect.get(model, "_getModelInstance");
  if (typeof resolve === "function")
    return guardModel(await resolve.call(model, config), guard, config, parameters);
  return isChatModel(model) ? withGuardedChunks(withParameters(model, parameters), guard, model) : model;
}

/** @param made As it was made: a view of it is not known for its provider. */
function withGuardedChunks(model: BaseChatModel, guard: StreamGuardOptions, made: BaseChatModel): Askable {
  const asked = catchGeminiResponse(sendReasoning(model));
  const chunks = (
    messages: BaseMessage[],
    options: BaseChatModel["ParsedCallOptions"],
    run?: CallbackManagerForLLMRun,
  ) =>
    withModelErrors(guardedChunks(asked, guard, messages, options, run), {
      model: made,
      messages,
      signal: options.signal,
    });
  return new Proxy(model, {
    get(target, name) {
      if (name === "_streamResponseChunks") return chunks;
      // A model that does not stream is asked by the guard too.
      if (name === "disableStreaming") return false;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" && !STREAMING_METHODS.has(name) ? value.bind(target) : value;
    },
  });
}
