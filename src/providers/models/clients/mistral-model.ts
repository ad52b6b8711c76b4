/**
 * `ChatMistralAI` whose requests are sent again as its fields say. The client makes an `AsyncCaller` of its own for each
 * request, with the default for what is repeated; so that one is told to repeat nothing, and the model's is used.
 */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { importOptional } from "../import-optional.js";
import type { ModelFields } from "../model-fields.js";

export async function createMistralModel({ baseURL, ...fields }: ModelFields): Promise<BaseChatModel> {
  const { ChatMistralAI } =
    await importOptional<typeof import("@langchain/mistralai")>("@langchain/mistralai");

  class CallerChatMistralAI extends ChatMistralAI {
    override maxRetries = 0;

    // It has one signature for streams and one for whole answers; `never` fits both.
    override completionWithRetry(input: never, streaming: never): never {
      return this.caller.call(() => super.completionWithRetry(input, streaming)) as never;
    }
  }

  return new CallerChatMistralAI({ ...fields, ...(baseURL !== undefined && { serverURL: baseURL }) });
}
