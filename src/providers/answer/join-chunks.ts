import type { AIMessageChunk } from "@langchain/core/messages";
import { concat } from "@langchain/core/utils/stream";

/** The complete message of a stream. Undefined if the stream was empty. */
export async function joinChunks(stream: AsyncIterable<AIMessageChunk>): Promise<AIMessageChunk | undefined> {
  let whole: AIMessageChunk | undefined;
  for await (const chunk of stream) whole = whole === undefined ? chunk : concat(whole, chunk);
  return whole;
}
