/** What each provider answers to a request that is too long, in its own words and with its status. */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { tokensOf } from "./long-histories.js";
import { type Answer, FunctionModel } from "./models.js";

export interface OverflowRefusal {
  readonly status: number;
  /** The message of the error. Some providers name both numbers, some one, some none. */
  readonly message: (sent: number, limit: number) => string;
  readonly code?: string;
}

type Words = OverflowRefusal["message"];
const says = (message: Words) => ({ status: 400, message });
const exceeds = (message: Words) => ({ status: 400, code: "context_length_exceeded", message });

export const OVERFLOW_REFUSALS = {
  openai: exceeds(
    (sent, limit) =>
      `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${sent} tokens. Please reduce the length of the messages.`,
  ),
  // https://github.com/dyad-sh/dyad/issues/1672
  "openai-responses": exceeds(
    () => "Your input exceeds the context window of this model. Please adjust your input and try again.",
  ),
  // https://github.com/anthropics/claude-code/issues/12186
  anthropic: says((sent, limit) => `prompt is too long: ${sent} tokens > ${limit} maximum`),
  // https://github.com/google-gemini/gemini-cli/issues/4231
  gemini: says(
    (sent, limit) =>
      `The input token count (${sent}) exceeds the maximum number of tokens allowed (${limit}).`,
  ),
  // https://github.com/agentscope-ai/QwenPaw/issues/6255. It names only the window.
  dashscope: says(
    (_, limit) => `<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, ${limit}]`,
  ),
  // https://github.com/evalstate/fast-agent/issues/621
  deepseek: says(
    (sent, limit) =>
      `This model's maximum context length is ${limit + 4096} tokens. However, you requested ${sent + 4096} tokens (${sent} in the messages, 4096 in the completion). Please reduce the length of the messages or completion.`,
  ),
  // https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts
  mistral: says(
    (sent, limit) =>
      `Prompt contains ${sent} tokens and 0 draft tokens, too large for model with ${limit} maximum context length`,
  ),
  // https://github.com/vllm-project/vllm/issues/20409
  vllm: says(
    (sent, limit) =>
      `You passed ${sent} input tokens and requested 512 output tokens. However, the model's context length is only ${limit + 512} tokens, resulting in a maximum input length of ${limit} tokens. Please reduce the length of the input prompt.`,
  ),
  groq: exceeds(() => "Please reduce the length of the messages or completion."),
  "llama.cpp": says(
    (sent, limit) =>
      `request (${sent} tokens) exceeds the available context size (${limit} tokens), try increasing it`,
  ),
  proxy: { status: 413, message: () => "Request Entity Too Large" },
} as const satisfies Readonly<Record<string, OverflowRefusal>>;

export type OverflowFamily = keyof typeof OVERFLOW_REFUSALS;

/** The error that a client throws for such a refusal. */
export function overflowError(family: OverflowFamily, sent: number, limit: number): Error {
  const { status, message, ...code }: OverflowRefusal = OVERFLOW_REFUSALS[family];
  return Object.assign(new Error(`${status} ${message(sent, limit)}`), { status, ...code });
}

/** Providers count other tokens than our estimate. */
const TOKENS_PER_ESTIMATED = 1.25;

interface Window {
  /** In tokens of the provider. */
  readonly window: number;
  readonly family: OverflowFamily;
  /** The window that the client states. @default none */
  readonly stated?: number | undefined;
}

/** What a provider reports of a response: what it has counted, and not our estimate. */
function withUsage(answered: Awaited<ReturnType<Answer>>, input_tokens: number) {
  if (answered instanceof Error) return answered;
  const message = typeof answered === "string" ? new AIMessage(answered) : answered;
  const output_tokens = Math.ceil(tokensOf([message]) * TOKENS_PER_ESTIMATED);
  const usage_metadata = { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
  return Object.assign(message, { usage_metadata });
}

export class WindowModel extends FunctionModel {
  readonly #stated: number | undefined;
  /** The tokens of each refused request. */
  readonly overflows: number[];

  constructor({ window, family, stated }: Window, answer: Answer = () => "done") {
    const overflows: number[] = [];
    super(async (asked) => {
      const tokens = Math.ceil(tokensOf(asked.messages) * TOKENS_PER_ESTIMATED);
      if (tokens <= window) return withUsage(await answer(asked), tokens);
      overflows.push(tokens);
      return overflowError(family, tokens, window);
    });
    this.overflows = overflows;
    this.#stated = stated;
  }

  override get profile() {
    return this.#stated === undefined ? {} : { maxInputTokens: this.#stated };
  }

  /** The messages of the requests that it accepted. */
  get accepted(): (readonly BaseMessage[])[] {
    return this.requests.map(({ messages }) => messages).filter((messages) => this.fits(messages));
  }

  fits(messages: readonly BaseMessage[]): boolean {
    return !this.overflows.includes(Math.ceil(tokensOf(messages) * TOKENS_PER_ESTIMATED));
  }
}
