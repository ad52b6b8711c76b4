import type { BaseMessage, BaseMessageChunk } from "@langchain/core/messages";

/**
 * Whether a message is a chunk of a stream. It is recognised by LangChain's name of its class. LangChain's own check
 * compares prototypes, so it is false for chunks of another copy of LangChain.
 */
export function isChunk(message: BaseMessage): message is BaseMessageChunk {
  return /Chunk$/.test(message[Symbol.toStringTag]);
}
