import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, type BaseMessageChunk, RemoveMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import type { RunnableConfig } from "@langchain/core/runnables";

/**
 * Tells clients of the `messages` stream that messages are gone. LangGraph leaves a `RemoveMessage` in a node's update
 * out of that stream, because it has seen its id in the state; what comes from a model it passes on.
 */
export async function retractMessages(
  removed: readonly BaseMessage[],
  config: RunnableConfig,
): Promise<void> {
  if (removed.length === 0) return;
  for await (const _ of await new Retraction(removed).stream([], config));
}

/** Takes back an answer that the history does not get. Who aborts a run may want to read what came. */
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
      // The field is typed for chunks; LangGraph passes on any message.
      const chunk = new ChatGenerationChunk({ text: "", message: message as BaseMessageChunk });
      await run?.handleLLMNewToken("", undefined, undefined, undefined, undefined, { chunk });
      yield chunk;
    }
  }
}
