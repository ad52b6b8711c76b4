import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessageChunk } from "@langchain/core/messages";
import { ensureConfig } from "@langchain/core/runnables";
import { untilAborted } from "../shared/until-aborted.js";

/**
 * The methods that a chat model calls on `this` while it streams. The second one is internal to LangChain.
 */
export const STREAMING_METHODS: ReadonlySet<unknown> = new Set(["stream", "_streamIterator"]);

/** Whether the `stream` of a model is LangChain's, and not one of its client. */
export function isStreamedByLangChain(model: object): boolean {
  let owner: object | null = model;
  while (owner !== null && !Object.hasOwn(owner, "stream")) owner = Object.getPrototypeOf(owner);
  // LangChain's class has this method too. A client has no reason for one.
  return owner !== null && Object.hasOwn(owner, "streamLog");
}

/**
 * LangChain's `stream` without the two streams that it puts around the chunks. Use it for a model that gives one chunk,
 * which is read at once.
 */
export async function streamPlainly(
  this: BaseChatModel,
  input: BaseLanguageModelInput,
  options?: BaseChatModel["ParsedCallOptions"],
): Promise<AsyncIterable<AIMessageChunk>> {
  const config = ensureConfig(options);
  const chunks = this._streamIterator(input, config);
  const { signal } = config;
  if (signal === undefined) return chunks;
  return {
    [Symbol.asyncIterator]: () => ({
      next: () => untilAborted(chunks.next(), signal),
      return: () => chunks.return(undefined),
    }),
  };
}
