/** Counts of a real tokenizer, which a model of a test reports as its provider would. */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { getEncoding } from "js-tiktoken";

const o200k = getEncoding("o200k_base");
/** The same messages are sent again and again. */
const known = new Map<string, number>();
const TOKENS_PER_MESSAGE = 3;

function countText(text: string): number {
  const tokens = known.get(text) ?? o200k.encode(text, [], []).length;
  known.set(text, tokens);
  return tokens;
}

export function realCount(messages: readonly BaseMessage[]): number {
  const textsOf = (message: BaseMessage) => [
    message.text,
    ...(message instanceof AIMessage && message.tool_calls?.length
      ? [JSON.stringify(message.tool_calls)]
      : []),
  ];
  return messages.reduce(
    (sum, message) =>
      sum + TOKENS_PER_MESSAGE + textsOf(message).reduce((tokens, text) => tokens + countText(text), 0),
    0,
  );
}

/** @param others The tokens of the tools. */
export function withRealUsage(message: AIMessage, input: readonly BaseMessage[], others = 0): AIMessage {
  const input_tokens = realCount(input) + others;
  const output_tokens = realCount([message]);
  const usage_metadata = { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
  return Object.assign(message, { usage_metadata });
}
