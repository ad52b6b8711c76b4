/** The refusals of requests that are too long for the model's window, in the form of each provider. */

import { OVERFLOW_REFUSALS, type OverflowRefusal } from "../overflow-refusals.js";
import type { Refusal } from "./refusal.js";
import type { HostName } from "./start-strict-provider.js";

export interface Window {
  readonly tokens: number;
  /** English text has about four characters for each token, and other texts have fewer. */
  readonly charactersPerToken: number;
}

const openAI = (param: string | null, code: string) => (message: string) => ({
  error: { message, type: "invalid_request_error", param, code },
});

const BODIES: Readonly<Record<HostName, (message: string) => object>> = {
  openai: openAI("messages", "context_length_exceeded"),
  "openai-responses": openAI("input", "context_length_exceeded"),
  dashscope: openAI(null, "invalid_parameter_error"),
  deepseek: openAI(null, "invalid_request_error"),
  vllm: openAI(null, "400"),
  groq: openAI("messages", "context_length_exceeded"),
  "dashscope-native": (message) => ({
    code: "InvalidParameter",
    message: message.replace(/^<400> \S+ /, ""),
    request_id: "81a373d6-28bd-9968-8335-e22a2127c41b",
  }),
  anthropic: (message) => ({ type: "error", error: { type: "invalid_request_error", message } }),
  gemini: (message) => ({ error: { code: 400, message, status: "INVALID_ARGUMENT" } }),
  mistral: (message) => ({
    object: "error",
    message,
    type: "invalid_request_error",
    param: null,
    code: "3051",
  }),
};

/** Everything in a body counts, as the tools and the system prompt do. */
export function countTokens(body: unknown, { charactersPerToken }: Window): number {
  return Math.ceil(JSON.stringify(body).length / charactersPerToken);
}

/** Undefined for a request that fits. */
export function checkWindow(host: HostName, body: unknown, window: Window): Refusal | undefined {
  const tokens = countTokens(body, window);
  if (tokens <= window.tokens) return undefined;
  const family = host === "dashscope-native" ? "dashscope" : host;
  const { status, message }: OverflowRefusal = OVERFLOW_REFUSALS[family];
  const refusal = { status, body: BODIES[host](message(tokens, window.tokens)) };
  return host === "openai-responses" ? { ...refusal, events: eventsOf(refusal.body) } : refusal;
}

/** A stream of the Responses API has begun with status 200 when its error comes. */
function eventsOf({ error }: { readonly error?: object }): string[] {
  const response = { id: "resp_1", object: "response", status: "in_progress", model: "gpt-5", output: [] };
  return [
    { type: "response.created", sequence_number: 0, response },
    { type: "response.in_progress", sequence_number: 1, response },
    { type: "error", sequence_number: 2, error },
  ].map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
}
