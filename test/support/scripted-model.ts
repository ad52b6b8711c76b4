/** A chat model that plays given answers, one for each request, and refuses a history that a provider would. */

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
import { onTestFinished } from "vitest";
import { strictViolations } from "./strict-check.js";

interface Options extends BaseChatModelCallOptions {
  readonly toolNames?: readonly string[];
}

/** A text, a message, the chunks of a stream, or an error that the provider answers with. */
export type Step = string | AIMessage | readonly AIMessageChunk[] | Error;

/** What the model was sent. */
export interface Request {
  readonly messages: readonly BaseMessage[];
  readonly toolNames: readonly string[];
  readonly toolChoice: unknown;
}

export class ScriptedModel extends BaseChatModel<Options> {
  readonly requests: Request[] = [];
  readonly #steps: readonly Step[];

  constructor(steps: readonly Step[]) {
    // A retry would hide an error, and take its time.
    super({ maxRetries: 0 });
    this.#steps = steps;
  }

  override _llmType(): string {
    return "scripted";
  }

  override bindTools(
    tools: BindToolsInput[],
    options?: Partial<Options>,
  ): Runnable<BaseLanguageModelInput, AIMessageChunk, Options> {
    const toolNames = tools.map((tool) => String(Reflect.get(tool, "name")));
    return this.withConfig({ ...options, toolNames });
  }

  override async _generate(messages: BaseMessage[], options: this["ParsedCallOptions"]): Promise<ChatResult> {
    const message = new AIMessage({ ...join(this.#play(messages, options)) } as never);
    return { generations: [{ text: message.text, message }] };
  }

  override async *_streamResponseChunks(
    messages: BaseMessage[],
    options: this["ParsedCallOptions"],
    runManager?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    for (const message of this.#play(messages, options)) {
      const chunk = new ChatGenerationChunk({ text: message.text, message });
      yield chunk;
      await runManager?.handleLLMNewToken(chunk.text, undefined, undefined, undefined, undefined, { chunk });
    }
  }

  /** What was asked for beyond the script, what of it was never played, and each refused history. */
  violations(): string[] {
    const played = this.requests.length;
    const refused = this.requests.flatMap(({ messages }) => strictViolations(messages));
    if (played === this.#steps.length) return refused;
    return [
      ...refused,
      `the model was asked ${played} times, and its script has ${this.#steps.length} steps`,
    ];
  }

  #play(messages: readonly BaseMessage[], options: this["ParsedCallOptions"]): readonly AIMessageChunk[] {
    const step = this.#steps[this.requests.length];
    this.requests.push({
      messages: [...messages],
      toolNames: options.toolNames ?? [],
      toolChoice: options.tool_choice,
    });
    const [violation] = strictViolations(messages);
    if (violation !== undefined) throw new Error(`400 Bad history: ${violation}`);
    if (step === undefined) throw new Error("The scripted model has no step left for this request.");
    if (step instanceof Error) throw step;
    if (typeof step === "string")
      return step.split(/(?<= )/).map((content) => new AIMessageChunk({ content }));
    if (step instanceof AIMessage) return [new AIMessageChunk({ ...step } as never)];
    return step;
  }
}

/** A model for one test, which fails if the script was not played to its end and no further. */
export function scripted(...steps: readonly Step[]): ScriptedModel {
  const model = new ScriptedModel(steps);
  onTestFinished(() => {
    const violations = model.violations();
    if (violations.length > 0) throw new Error(violations.join("\n"));
  });
  return model;
}

export type WantedCall = readonly [name: string, args?: object, id?: string];

let count = 0;

/** An answer that calls tools: `calls(["search", { text: "x" }], ["list", {}])`, with ids that repeat nowhere. */
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

function join(chunks: readonly AIMessageChunk[]): AIMessageChunk {
  return chunks.reduce((whole, chunk) => whole.concat(chunk));
}
