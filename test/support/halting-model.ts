/** A chat model whose client cancels in the middle of a response. */

import type { CallbackManagerForLLMRun } from "@langchain/core/callbacks/manager";
import { AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { ChatGenerationChunk } from "@langchain/core/outputs";
import { PlayedModel } from "./models.js";

export type Piece = string | Partial<ConstructorParameters<typeof AIMessageChunk>[0] & object>;
export type Halt = () => Promise<unknown>;

/** Streams the pieces of each response, and waits where one of them is a function. */
export class HaltingModel extends PlayedModel {
  readonly asked: (readonly BaseMessage[])[] = [];
  readonly #responses: (readonly (Piece | Halt)[])[];

  constructor(...responses: (readonly (Piece | Halt)[])[]) {
    super();
    this.#responses = responses;
  }

  /** The pieces of the next response. */
  protected respond(_messages: readonly BaseMessage[]): readonly (Piece | Halt)[] {
    return this.#responses.shift() ?? ["Done."];
  }

  protected override async play(messages: readonly BaseMessage[], options: this["ParsedCallOptions"]) {
    const chunks: AIMessageChunk[] = [];
    for await (const { message } of this._streamResponseChunks(messages, options))
      chunks.push(message as AIMessageChunk);
    return chunks;
  }

  override async *_streamResponseChunks(
    messages: readonly BaseMessage[],
    _options: this["ParsedCallOptions"],
    _run?: CallbackManagerForLLMRun,
  ): AsyncGenerator<ChatGenerationChunk> {
    this.asked.push(messages);
    const id = `response-${this.asked.length}`;
    for (const piece of this.respond(messages)) {
      if (typeof piece === "function") {
        await piece();
        continue;
      }
      const fields = typeof piece === "string" ? { content: piece } : piece;
      const message = new AIMessageChunk({ content: "", id, ...fields } as never);
      yield new ChatGenerationChunk({ text: message.text, message });
    }
    const end = new AIMessageChunk({ content: "", id, response_metadata: { finish_reason: "stop" } });
    yield new ChatGenerationChunk({ text: "", message: end });
  }
}
