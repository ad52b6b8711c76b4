/** What each provider answers to a request that is too long, in its own words and with its status. */

export interface OverflowRefusal {
  readonly status: number;
  /** The message of the error. Some providers name both numbers, some one, some none. */
  readonly message: (sent: number, limit: number) => string;
  readonly code?: string;
}

export const OVERFLOW_REFUSALS = {
  openai: {
    status: 400,
    code: "context_length_exceeded",
    message: (sent, limit) =>
      `This model's maximum context length is ${limit} tokens. However, your messages resulted in ${sent} tokens. Please reduce the length of the messages.`,
  },
  "openai-responses": {
    status: 400,
    code: "context_length_exceeded",
    message: () =>
      "Your input exceeds the context window of this model. Please adjust your input and try again.",
  },
  anthropic: {
    status: 400,
    message: (sent, limit) => `prompt is too long: ${sent} tokens > ${limit} maximum`,
  },
  gemini: {
    status: 400,
    message: (sent, limit) =>
      `The input token count (${sent}) exceeds the maximum number of tokens allowed (${limit}).`,
  },
  dashscope: {
    status: 400,
    message: (_, limit) =>
      `<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, ${limit}]`,
  },
  deepseek: {
    status: 400,
    message: (sent, limit) =>
      `This model's maximum context length is ${limit + 4096} tokens. However, you requested ${sent + 4096} tokens (${sent} in the messages, 4096 in the completion). Please reduce the length of the messages or completion.`,
  },
  mistral: {
    status: 400,
    message: (sent, limit) =>
      `Prompt contains ${sent} tokens and 0 draft tokens, too large for model with ${limit} maximum context length`,
  },
  vllm: {
    status: 400,
    message: (sent, limit) =>
      `You passed ${sent} input tokens and requested 512 output tokens. However, the model's context length is only ${limit + 512} tokens, resulting in a maximum input length of ${limit} tokens. Please reduce the length of the input prompt.`,
  },
  groq: {
    status: 400,
    code: "context_length_exceeded",
    message: () => "Please reduce the length of the messages or completion.",
  },
  "llama.cpp": {
    status: 400,
    message: (sent, limit) =>
      `request (${sent} tokens) exceeds the available context size (${limit} tokens), try increasing it`,
  },
  proxy: { status: 413, message: () => "Request Entity Too Large" },
} as const satisfies Readonly<Record<string, OverflowRefusal>>;

export type OverflowFamily = keyof typeof OVERFLOW_REFUSALS;

/** The error that a client throws for such a refusal. */
export function overflowError(family: OverflowFamily, sent: number, limit: number): Error {
  const { status, message, ...code }: OverflowRefusal = OVERFLOW_REFUSALS[family];
  return Object.assign(new Error(`${status} ${message(sent, limit)}`), { status, ...code });
}
