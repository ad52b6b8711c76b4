/** Makes the messages of a response: one message, or the chunks of a stream with the same content. */

import {
  AIMessage,
  AIMessageChunk,
  type StandardMessageStructure,
  type UsageMetadata,
} from "@langchain/core/messages";
import type { IdentifiedCall } from "./call-id.js";

/** About the size in which providers stream arguments: even a short call has several pieces. */
const ARGUMENT_PIECES = /[\s\S]{1,8}/gu;
const WORDS = /\S+\s*|\s+/gu;
/** Each piece takes time on its way through a graph, and a client chooses the length of the text. */
const MOST_PIECES_OF_LONG = 100;
const LONG = 4_000;
const CHARACTERS_PER_TOKEN = 4;

export interface CompleteReply {
  /** Empty if the response makes calls. */
  readonly text: string;
  readonly calls: readonly IdentifiedCall[];
  readonly usage: UsageMetadata;
}

export function toMessage({ text, calls, usage }: CompleteReply): AIMessage {
  // The type argument is needed because the default type has no `usage_metadata`.
  return new AIMessage<StandardMessageStructure>({
    content: text,
    tool_calls: calls.map(({ id, name, args }) => ({ type: "tool_call", id, name, args: { ...args } })),
    response_metadata: responseMetadata(calls),
    usage_metadata: usage,
  });
}

export function* toChunks({ text, calls, usage }: CompleteReply): Generator<AIMessageChunk> {
  for (const words of piecesOf(text, WORDS)) yield new AIMessageChunk({ content: words });
  for (const [index, { id, name, args }] of calls.entries()) {
    yield callChunk({ index, id, name, args: "" });
    for (const piece of piecesOf(JSON.stringify(args), ARGUMENT_PIECES))
      yield callChunk({ index, args: piece });
  }
  yield new AIMessageChunk<StandardMessageStructure>({
    content: "",
    response_metadata: responseMetadata(calls),
    usage_metadata: usage,
  });
}

function piecesOf(text: string, short: RegExp): readonly string[] {
  const length = Math.ceil(text.length / MOST_PIECES_OF_LONG);
  return text.match(text.length <= LONG ? short : new RegExp(`[^]{1,${length}}`, "gu")) ?? [];
}

/** Four characters for each token is the usual rule of thumb. This model has no tokenizer. */
export function estimateUsage(input: readonly string[], output: string): UsageMetadata {
  const input_tokens = input.reduce((total, text) => total + countTokens(text), 0);
  const output_tokens = countTokens(output);
  return { input_tokens, output_tokens, total_tokens: input_tokens + output_tokens };
}

function countTokens(text: string): number {
  return Math.ceil(text.length / CHARACTERS_PER_TOKEN);
}

function callChunk(chunk: { index: number; args: string; id?: string; name?: string }): AIMessageChunk {
  return new AIMessageChunk({ content: "", tool_call_chunks: [{ type: "tool_call_chunk", ...chunk }] });
}

function responseMetadata(calls: readonly IdentifiedCall[]): Record<string, string> {
  return { model_name: "offline", finish_reason: calls.length > 0 ? "tool_calls" : "stop" };
}
