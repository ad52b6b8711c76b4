/**
 * `ChatMistralAI` that retries as its fields say. The client makes a new `AsyncCaller` with default retries for each
 * request. That caller is told not to retry, and the model's own caller is used.
 */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { importOptional } from "../import-optional.js";
import type { ModelFields } from "../model-fields.js";

export async function createMistralModel({ baseURL, ...fields }: ModelFields): Promise<BaseChatModel> {
  const { ChatMistralAI } =
    await importOptional<typeof import("@langchain/mistralai")>("@langchain/mistralai");

  class CallerChatMistralAI extends ChatMistralAI {
    override maxRetries = 0;

    // The method has one signature for streams and one for complete responses. `never` fits both.
    override completionWithRetry(input: never, streaming: never): never {
      return this.caller.call(() => super.completionWithRetry(input, streaming)) as never;
    }
  }

  return new CallerChatMistralAI({ ...fields, ...(baseURL !== undefined && { serverURL: baseURL }) });
}
