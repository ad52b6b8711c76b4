/** A chat model that answers with a function, remembers its requests, and refuses a history that a provider would. */

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
import { strictViolations } from "./strict-check.js";

export interface Asked {
  readonly messages: readonly BaseMessage[];
  /** The text of the last message: for a summariser, what it was given to read. */
  readonly text: string;
  /** How many requests there were before. */
  readonly index: number;
  readonly signal: AbortSignal | undefined;
}

type Answered = string | AIMessage | Error;

/** Contract: returns the answer, or an error that is thrown; may throw and may never resolve. */
export type Answer = (asked: Asked) => Answered | Promise<Answered>;

export class FunctionModel extends BaseChatModel<BaseChatModelCallOptions> {
  readonly requests: Asked[] = [];
  /** What a strict provider would have refused, in words. */
  readonly refused: string[] = [];
  readonly #answer: Answer;

  constructor(answer: Answer) {
    super({ maxRetries: 0 });
    this.#answer = answer;
  }

  override _llmType(): string {
    return "function";
  }

  override bindTools(
    _tools: BindToolsInput[],
    options?: Partial<BaseChatModelCallOptions>,
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, BaseChatModelCallOptions> {
    return this.withConfig({ ...options });
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const message = await this.#play(messages, options.signal);
    return { generations: [{ text: message.text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    const answer = await this.#play(messages, options.signal);
    const message = new AIMessageChunk({ ...answer } as never);
    const chunk = new ChatGenerationChunk({ text: message.text, message });
    yield chunk;
    await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
  }

  async #play(messages: readonly BaseMessage[], signal: AbortSignal | undefined): Promise<AIMessage> {
    const asked: Asked = {
      messages: [...messages],
      text: messages.at(-1)?.text ?? "",
      index: this.requests.length,
      signal,
    };
    this.requests.push(asked);
    this.refused.push(...strictViolations(messages));
    const answer = await this.#answer(asked);
    if (answer instanceof Error) throw answer;
    return typeof answer === "string" ? new AIMessage(answer) : answer;
  }
}

/** A summariser that says the same few words each time, with a number. */
export const shortSummariser = () => new FunctionModel(({ index }) => `short summary ${index}`);
