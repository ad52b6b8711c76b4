import type { AIMessageChunk, BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/messages/call.js";
import { isChunk } from "../../history/messages/is-chunk.js";

/** Like `AIMessageChunk.isInstance`, but also true for a chunk of another copy of LangChain. */
export function isAIChunk(message: BaseMessage): message is AIMessageChunk {
  return isChunk(message) && isAIMessage(message);
}
