import type { AIMessageChunk } from "@langchain/core/messages";
import { concat } from "@langchain/core/utils/stream";
import { copyMessage } from "../../history/messages/copy-message.js";
import { isRecord } from "../../shared/is-record.js";

/** The complete message of a stream. Undefined if the stream was empty. */
export async function joinChunks(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk | undefined> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of stream) whole = whole === undefined ? chunk : concat(whole, chunk);
  return whole && withoutUnnamedCalls(whole);
}

/**
 * In LangChain's `v1` form, `ChatGoogle` writes each call also as a block without an id. When such a message is read from a
 * checkpoint, LangChain takes each of these blocks for one more call.
 */
function withoutUnnamedCalls(message: AIMessageChunk): AIMessageChunk {
  const { content, tool_calls } = message;
  if (!Array.isArray(content) || !tool_calls?.length) return message;
  const named = content.filter(
    (block) => !isRecord(block) || block["type"] !== "tool_call" || block["id"] !== undefined,
  );
  return named.length === content.length ? message : copyMessage(message, { content: named });
}
