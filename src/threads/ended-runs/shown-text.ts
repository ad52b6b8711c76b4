/**
 * What clients see of a response before it is stored. If its run is then aborted, the text goes into the diary beside
 * the model step's checkpoint, and the next message brings it into the thread.
 */

import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, type BaseMessageChunk, RemoveMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import type { RunnableConfig } from "@langchain/core/runnables";
import { madeOnce } from "../../shared/values.js";
import { onAbort } from "../../shared/waiting.js";
import { pageOf, writeLate } from "../diary.js";

/** The texts that clients have, by message id. Each superstep has its own signal. */
const shownIn = new WeakMap<AbortSignal, Map<string, string>>();

/**
 * Call it with each piece of a response that clients see, and with each removal. What they have when the superstep is
 * aborted goes into the diary.
 */
export function noteShown(message: BaseMessage, config: RunnableConfig): void {
  const { signal } = config;
  const { id } = message;
  if (signal === undefined || signal.aborted || id === undefined) return;
  const texts = madeOnce(shownIn, signal, () => {
    const made = new Map<string, string>();
    onAbort(signal, () => {
      for (const [about, text] of made)
        if (text.trim() !== "") void writeLate([about, "shown", { text }], pageOf(config));
    });
    return made;
  });
  if (RemoveMessage.isInstance(message)) texts.delete(id);
  else texts.set(id, (texts.get(id) ?? "") + message.text);
}

/**
 * Tells clients of the `messages` stream that messages are removed. LangGraph keeps a node's `RemoveMessage` out of
 * that stream, because the state already has its id. It does pass on a model's messages.
 */
export async function retractMessages(
  removed: readonly BaseMessage[],
  config: RunnableConfig,
): Promise<void> {
  if (removed.length === 0) return;
  for (const message of removed) noteShown(message, config);
  for await (const _ of await new Retraction(removed).stream([], config));
}

/**
 * Retracts a response that will not be stored. After an abort it stays visible, because the user may want to read it.
 */
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
