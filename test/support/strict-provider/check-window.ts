/** What each provider says about a request that is too long for the model's window, in its own words. */

import type { Refusal } from "./refusal.js";
import type { HostName } from "./start-strict-provider.js";

export interface Window {
  readonly tokens: number;
  /** English text has about four characters for each token, and other texts have fewer. */
  readonly charactersPerToken: number;
}

/** Undefined for a request that fits. Everything in its body counts, as the tools and the system prompt do. */
export function checkWindow(host: HostName, body: unknown, window: Window): Refusal | undefined {
  const tokens = Math.ceil(JSON.stringify(body).length / window.charactersPerToken);
  return tokens > window.tokens ? WORDS[host](tokens, window.tokens) : undefined;
}

type Words = (tokens: number, window: number) => Refusal;

const WORDS: Readonly<Record<HostName, Words>> = {
  /** https://github.com/cline/cline/issues/5474 */
  openai: (tokens, window) =>
    openAI({
      message: `Input tokens exceed the configured limit of ${window} tokens. Your messages resulted in ${tokens} tokens. Please reduce the length of the messages.`,
      param: "messages",
      code: "context_length_exceeded",
    }),

  /** https://github.com/dyad-sh/dyad/issues/1672. A stream has begun with status 200 when its error comes. */
  "openai-responses": () => {
    const error = {
      type: "invalid_request_error",
      code: "context_length_exceeded",
      message: "Your input exceeds the context window of this model. Please adjust your input and try again.",
      param: "input",
    };
    const response = { id: "resp_1", object: "response", status: "in_progress", model: "gpt-5", output: [] };
    return {
      status: 400,
      body: { error },
      events: [
        { type: "response.created", sequence_number: 0, response },
        { type: "response.in_progress", sequence_number: 1, response },
        { type: "error", sequence_number: 2, error },
      ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`),
    };
  },

  /** https://github.com/agentscope-ai/QwenPaw/issues/6255. It names only the window. */
  dashscope: (_tokens, window) =>
    openAI({
      message: `<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, ${window}]`,
      param: null,
      code: "invalid_parameter_error",
    }),

  /** https://github.com/LLM-Red-Team/qwen-free-api/issues/23 */
  "dashscope-native": (_tokens, window) => ({
    status: 400,
    body: {
      code: "InvalidParameter",
      message: `Range of input length should be [1, ${window}]`,
      request_id: "81a373d6-28bd-9968-8335-e22a2127c41b",
    },
  }),

  /** https://github.com/evalstate/fast-agent/issues/621 */
  deepseek: (tokens, window) =>
    openAI({
      message: `This model's maximum context length is ${window} tokens. However, you requested ${tokens} tokens (${tokens} in the messages, 0 in the completion). Please reduce the length of the messages or completion.`,
      param: null,
      code: "invalid_request_error",
    }),

  /** https://github.com/vllm-project/vllm/issues/20409 */
  vllm: (tokens, window) =>
    openAI({
      message: `This model's maximum context length is ${window} tokens. However, you requested ${tokens} tokens (${tokens} in the messages, 0 in the completion). Please reduce the length of the messages or completion.`,
      param: null,
      code: "400",
    }),

  /** https://github.com/anthropics/claude-code/issues/12186 */
  anthropic: (tokens, window) => ({
    status: 400,
    body: {
      type: "error",
      error: {
        type: "invalid_request_error",
        message: `prompt is too long: ${tokens} tokens > ${window} maximum`,
      },
      request_id: "req_011CVQe1dLrGNMJyE1ghG1av",
    },
  }),

  /** https://github.com/google-gemini/gemini-cli/issues/4231 */
  gemini: (tokens, window) => ({
    status: 400,
    body: {
      error: {
        code: 400,
        message: `The input token count (${tokens}) exceeds the maximum number of tokens allowed (${window}).`,
        status: "INVALID_ARGUMENT",
      },
    },
  }),

  /** https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts */
  mistral: (tokens, window) => ({
    status: 400,
    body: {
      object: "error",
      message: `Prompt contains ${tokens} tokens, too large for model with ${window} maximum context length`,
      type: "invalid_request_error",
      param: null,
      code: "3051",
    },
  }),

  /** https://github.com/badlogic/pi-mono/blob/main/packages/ai/src/utils/overflow.ts. It names no numbers. */
  groq: () =>
    openAI({
      message: "Please reduce the length of the messages or completion.",
      param: "messages",
      code: "context_length_exceeded",
    }),
};

function openAI(error: {
  readonly message: string;
  readonly param: string | null;
  readonly code: string;
}): Refusal {
  return { status: 400, body: { error: { ...error, type: "invalid_request_error" } } };
}
