/** The base of the chat models in tests. A response consists of pieces, streamed or joined. */

import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import { AIMessage, AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import type { Runnable } from "@langchain/core/runnables";

export interface PlayOptions extends BaseChatModelCallOptions {
  readonly toolNames?: readonly string[];
}

export abstract class PlayedModel extends BaseChatModel<PlayOptions> {
  constructor() {
    // A retry would hide an error and take time.
    super({ maxRetries: 0 });
  }

  /** Contract: called once for each request. Throws the error of the provider. */
  protected abstract play(
    messages: readonly BaseMessage[],
    options: PlayOptions,
  ): Promise<readonly AIMessageChunk[]>;

  override _llmType(): string {
    return "played";
  }

  override bindTools(
    tools: BindToolsInput[],
    options?: Partial<PlayOptions>,
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, PlayOptions> {
    const toolNames = tools.map(nameOf);
    return this.withConfig({ ...options, toolNames });
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const message = new AIMessage({ ...join(await this.play(messages, options)) } as never);
    return { generations: [{ text: message.text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const message of await this.play(messages, options)) {
      const chunk = new ChatGenerationChunk({ text: message.text, message });
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

/** The name of a tool, or of a definition in OpenAI's form. */
function nameOf(tool: BindToolsInput): string {
  const definition: object = Reflect.get(tool, "function") ?? tool;
  return String(Reflect.get(definition, "name"));
}

/** A complete message as the only piece of a stream. */
export function wholeChunk(message: AIMessage): AIMessageChunk {
  return new AIMessageChunk({ ...message } as never);
}

function join(chunks: readonly AIMessageChunk[]): AIMessageChunk {
  return chunks.reduce((whole, chunk) => whole.concat(chunk));
}
