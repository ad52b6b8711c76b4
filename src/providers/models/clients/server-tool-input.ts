import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { AIMessageChunk } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { isRecord } from "../../../shared/is-record.js";
import { viewOf } from "../model-view.js";

type Ask = Parameters<BaseChatModel["_streamResponseChunks"]>;

/**
 * A view of Anthropic's client that streams the input of a tool that Anthropic runs as a part of its block. Returns any
 * other model unchanged.
 *
 * The client streams this input like the arguments of a call, but without the call's id and name. Joined, they are an
 * invalid call of a tool without a name, and the block itself has no input when it is sent back.
 */
export function keepServerToolInput(model: BaseChatModel): BaseChatModel {
  if (model._llmType() !== "anthropic") return model;
  return viewOf(model, {
    async *_streamResponseChunks(this: BaseChatModel, ...given: Ask): AsyncGenerator<ChatGenerationChunk> {
      /** The indexes of the blocks that are calls of such tools. */
      const own = new Set<unknown>();
      for await (const chunk of model._streamResponseChunks.call(this, ...given)) {
        for (const block of blocksOf(chunk)) if (block["type"] === "server_tool_use") own.add(block["index"]);
        yield withInputInBlock(own, chunk);
      }
    },
  });
}

function blocksOf({ message: { content } }: ChatGenerationChunk): Record<string, unknown>[] {
  return Array.isArray(content) ? content.filter(isRecord) : [];
}

function withInputInBlock(indexes: ReadonlySet<unknown>, chunk: ChatGenerationChunk): ChatGenerationChunk {
  const message = chunk.message as AIMessageChunk;
  const pieces = message.tool_call_chunks ?? [];
  if (!pieces.some(({ index }) => indexes.has(index))) return chunk;
  // A chunk of this client has a piece of one block only.
  const content = blocksOf(chunk).map((block) => ({ ...block, type: "server_tool_use" }));
  const calls = { tool_call_chunks: [], tool_calls: [], invalid_tool_calls: [] };
  const plain = copyMessage(message, { ...calls, ...(content.length > 0 && { content }) });
  const { text, generationInfo } = chunk;
  return new ChatGenerationChunk({ text, message: plain, ...(generationInfo && { generationInfo }) });
}
