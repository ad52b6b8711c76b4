import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { type Runnable, RunnableBinding, type RunnableConfig } from "@langchain/core/runnables";
import { STREAMING_METHODS } from "../../langgraph/streaming-methods.js";
import { withModelErrors } from "../failure/model-failure.js";
import { catchGeminiResponse } from "../models/clients/catch-gemini-response.js";
import { sendToGoogle } from "../models/clients/google-model.js";
import { sendReasoning } from "../models/clients/send-reasoning.js";
import { keepServerTools } from "../models/clients/server-tools.js";
import { sendToDashScope } from "../models/clients/tongyi-model.js";
import { isChatModel } from "../models/model-view.js";
import { withParameters } from "../models/with-parameters.js";
import { guardedChunks, type StreamGuardOptions } from "./stream-guard.js";

export type Askable = Runnable<BaseLanguageModelInput, AIMessageChunk>;

/**
 * A model, alone or with bound tools, whose `stream` gives only complete responses; see `guardedChunks`. The
 * parameters apply to this request; see `withParameters`.
 *
 * The result is the model itself with one method replaced, not a wrapper. So it keeps its default options, its call
 * options, its name in traces and its serialized form. (`ChatOpenAI` keeps bound tools in its defaults and adds them
 * only in `stream`. With a wrapper, its request would have no tools.)
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
  // `initChatModel` returns an object that makes the actual model when it is called.
  const resolve: unknown = Reflect.get(model, "_getModelInstance");
  if (typeof resolve === "function")
    return guardModel(await resolve.call(model, config), guard, config, parameters);
  return isChatModel(model) ? withGuardedChunks(withParameters(model, parameters), guard, model) : model;
}

/** @param made The model as it was made. The provider of a view cannot be recognised. */
function withGuardedChunks(model: BaseChatModel, guard: StreamGuardOptions, made: BaseChatModel): Askable {
  const asked = keepServerTools(sendToGoogle(catchGeminiResponse(sendReasoning(sendToDashScope(model)))));
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
      // The guard also handles a model that does not stream.
      if (name === "disableStreaming") return false;
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" && !STREAMING_METHODS.has(name) ? value.bind(target) : value;
    },
  });
}
