/** The chat models of tests. A response consists of pieces, streamed or joined, and may come from a function. */

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

export interface Asked {
  readonly messages: readonly BaseMessage[];
  /** The text of the last message. For a summariser, it contains the messages to summarise. */
  readonly text: string;
  /** The number of requests before this one. */
  readonly index: number;
  readonly signal: AbortSignal | undefined;
  readonly toolChoice: unknown;
}

type Answered = string | AIMessage | Error;

/**
 * Contract: returns the response, or an error that is thrown. It can throw, and it can return a promise that never
 * resolves.
 */
export type Answer = (asked: Asked) => Answered | Promise<Answered>;

export class FunctionModel extends PlayedModel {
  readonly requests: Asked[] = [];
  /** Descriptions of the faults that a strict provider would have refused. */
  readonly refused: string[] = [];
  readonly #answer: Answer;

  constructor(answer: Answer) {
    super();
    this.#answer = answer;
  }

  protected override async play(
    messages: readonly BaseMessage[],
    { signal, tool_choice }: PlayOptions,
  ): Promise<readonly AIMessageChunk[]> {
    const asked: Asked = {
      messages: [...messages],
      text: messages.at(-1)?.text ?? "",
      index: this.requests.length,
      signal,
      toolChoice: tool_choice,
    };
    this.requests.push(asked);
    this.refused.push(...strictViolations(messages));
    const answer = await this.#answer(asked);
    if (answer instanceof Error) throw answer;
    return [wholeChunk(typeof answer === "string" ? new AIMessage(answer) : answer)];
  }
}

/** It looks like an OpenAI client, whose dialect accepts two assistant messages in a row. */
export class OpenAILike extends FunctionModel {
  override _llmType(): string {
    return "offline";
  }
}

export const ALTERNATE =
  "400 A conversation must alternate between user and assistant roles. Make sure the conversation alternates between user and assistant roles and try again.";

/** Refuses two assistant messages in a row, as a host behind a compatible address may do. */
export const alternating: Answer = ({ messages }) =>
  messages.some(({ type }, index) => type === "ai" && messages[index - 1]?.type === "ai")
    ? Object.assign(new Error(ALTERNATE), { status: 400 })
    : "done";

/** Calls a tool this often for each message of the user, at once, and then responds. */
export const callingOnce = (tool: string, count = 1) =>
  new FunctionModel(({ messages, index }) =>
    messages.at(-1)?.type === "tool" ? `Done ${index}.` : calls(...Array(count).fill([tool])),
  );

/** A summariser that writes the same short text each time, with a number. */
export const shortSummariser = () => new FunctionModel(({ index }) => `short summary ${index}`);

export type WantedCall = readonly [name: string, args?: object, id?: string];

let count = 0;

/** A response that calls tools: `calls(["search", { text: "x" }], ["list", {}])`. The ids are unique. */
export function calls(
  ...wanted: readonly (readonly [name: string, args?: object, id?: string])[]
): AIMessage {
  return new AIMessage({
    content: "",
    tool_calls: wanted.map(([name, args = {}, id]) => {
      count += 1;
      return { id: id ?? `call_${count}`, name, args: { ...args }, type: "tool_call" };
    }),
  });
}
