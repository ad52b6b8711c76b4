import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, type BaseMessageChunk, RemoveMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import type { RunnableConfig } from "@langchain/core/runnables";

/**
 * Tells clients of the `messages` stream that messages are removed. LangGraph keeps a `RemoveMessage` of a node's
 * update out of that stream, because the state already has its id. It does pass on messages of a model.
 */
export async function retractMessages(
  removed: readonly BaseMessage[],
  config: RunnableConfig,
): Promise<void> {
  if (removed.length === 0) return;
  for await (const _ of await new Retraction(removed).stream([], config));
}

/** Retracts a response that will not be stored. On abort it stays visible, because the user may want to read it. */
export async function takeBack({ id }: BaseMessage, config: RunnableConfig): Promise<void> {
  if (id !== undefined && config.signal?.aborted !== true)
    await retractMessages([new RemoveMessage({ id })], config);
}

class Retraction extends BaseChatModel {
  readonly #removed: readonly BaseMessage[];

  constructor(removed: readonly BaseMessage[]) {
    super({});
    this.#removed = removed;
  }

  override _llmType(): string {
    return "retraction";
  }

  override async _generate(): Promise<ChatResult> {
    return { generations: [] };
  }

  override async *_streamResponseChunks(
    _messages: BaseMessage[],
    _options: this["ParsedCallOptions"],
    run?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const message of this.#removed) {
      // The field is typed for chunks, but LangGraph passes on any message.
      const chunk = new ChatGenerationChunk({ text: "", message: message as BaseMessageChunk });
      await run?.handleLLMNewToken("", undefined, undefined, undefined, undefined, { chunk });
      yield chunk;
    }
  }
}
