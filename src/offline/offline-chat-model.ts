/** The embedded model that is used if no provider is configured. */

import { setTimeout as delay } from "node:timers/promises";
import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import type { BaseLanguageModelInput } from "@langchain/core/language_models/base";
import {
  BaseChatModel,
  type BaseChatModelCallOptions,
  type BaseChatModelParams,
  type BindToolsInput,
} from "@langchain/core/language_models/chat_models";
import type { AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk, type ChatResult } from "@langchain/core/outputs";
import type { Runnable } from "@langchain/core/runnables";
import { convertToOpenAITool } from "@langchain/core/utils/function_calling";
import { z } from "zod/v4";
import { identifyCalls } from "./call-id.js";
import { planReply } from "./plan-reply.js";
import { refuseBadHistory } from "./refuse-bad-history.js";
import { type CompleteReply, estimateUsage, toChunks, toMessage } from "./reply-messages.js";
import { readToolChoice } from "./tool-choice.js";

export interface OfflineChatModelOptions extends BaseChatModelParams {
  /**
   * Pause before each streamed chunk, in milliseconds, 0 or more. With 20, a stream is easy to watch.
   * @default 0
   */
  chunkDelayMs?: number;
}

export interface OfflineCallOptions extends BaseChatModelCallOptions {
  /** Bound tools, in OpenAI's or Anthropic's format. Usually set by `bindTools`. */
  tools?: readonly unknown[];
}

/**
 * A small rule-based chat model without network, key, clock or randomness. It calls the bound tools that a
 * request asks for, in parallel if it asks for several things, and states their results. The same messages
 * give the same response.
 *
 * It refuses a bad history like a strict provider, with an {@link OfflineBadRequestError}.
 */
export class OfflineChatModel extends BaseChatModel<OfflineCallOptions> {
  readonly model = "offline";
  readonly #chunkDelayMs: number;

  constructor(options: OfflineChatModelOptions = {}) {
    const { chunkDelayMs = 0, ...rest } = options;
    if (!(Number.isFinite(chunkDelayMs) && chunkDelayMs >= 0)) {
      throw new TypeError(
        `Expected \`chunkDelayMs\` to be a number of milliseconds from 0 on, got \`${chunkDelayMs}\`.`,
      );
    }
    super(rest);
    this.#chunkDelayMs = chunkDelayMs;
  }

  static override lc_name(): string {
    return "OfflineChatModel";
  }

  override _llmType(): string {
    return "offline";
  }

  override getLsParams(): { ls_provider: string; ls_model_name: string; ls_model_type: "chat" } {
    return { ls_provider: "offline", ls_model_name: this.model, ls_model_type: "chat" };
  }

  override invocationParams(options?: this["ParsedCallOptions"]): Record<string, unknown> {
    return { model: this.model, tools: options?.tools, tool_choice: options?.tool_choice };
  }

  override bindTools(
    tools: BindToolsInput[],
    kwargs: Partial<OfflineCallOptions> = {},
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, OfflineCallOptions> {
    return this.withConfig({ ...kwargs, tools: tools.map((tool) => convertToOpenAITool(tool)) });
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    options.signal?.throwIfAborted();
    const message = toMessage(prepareReply(messages, options));
    return { generations: [{ text: message.text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const message of toChunks(prepareReply(messages, options))) {
      if (this.#chunkDelayMs > 0) await delay(this.#chunkDelayMs, undefined, { signal: options.signal });
      options.signal?.throwIfAborted();
      const chunk = new ChatGenerationChunk({ text: message.text, message });
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }
}

function prepareReply(
  messages: readonly BaseMessage[],
  { tools = [], tool_choice }: Pick<OfflineCallOptions, "tools" | "tool_choice">,
): CompleteReply {
  refuseBadHistory(messages);
  const toolNames = new Set(tools.flatMap(readToolName));
  const reply = planReply(messages, { toolNames, toolChoice: readToolChoice(tool_choice, toolNames) });
  const text = reply.kind === "text" ? reply.text : "";
  const calls = reply.kind === "calls" ? identifyCalls(reply.calls, messages) : [];
  const input = messages.map((message) => message.text);
  return { text, calls, usage: estimateUsage(input, text || JSON.stringify(calls)) };
}

const toolSchema = z.union([
  z.object({ function: z.object({ name: z.string() }) }).transform((tool) => tool.function.name),
  z.object({ name: z.string() }).transform((tool) => tool.name),
]);

/** A tool without a name (for example one that a provider runs itself) cannot be called here. */
function readToolName(tool: unknown): string[] {
  const name = toolSchema.safeParse(tool).data;
  return name === undefined ? [] : [name];
}
