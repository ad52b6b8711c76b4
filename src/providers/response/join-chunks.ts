/**
 * The message of a stream's chunks, joined when it is read. LangChain makes a message and copies its fields for each
 * join of two. Most chunks only add text, so their texts are joined, and they are not kept.
 */

import { AIMessageChunk } from "@langchain/core/messages";
import type { ChatGenerationChunk } from "@langchain/core/outputs";
import { concat } from "@langchain/core/utils/stream";
import { isRecord } from "../../shared/values.js";

interface Piece {
  /** A chunk that says more than text, or the first one. */
  readonly chunk: ChatGenerationChunk;
  readonly message: AIMessageChunk;
  /** The text of the chunks after it that only add text, if there are any. */
  text: string | undefined;
}

export class JoinedChunks {
  readonly #pieces: Piece[] = [];
  /** Whether all contents so far are texts. */
  #isText = true;
  #whole: AIMessageChunk | undefined;

  /** @param message The chunk's message, which is not changed later. */
  add(chunk: ChatGenerationChunk, message: AIMessageChunk): void {
    const last = this.#pieces.at(-1);
    this.#whole = undefined;
    // After a list of blocks, each text becomes a block of its own.
    this.#isText &&= typeof message.content === "string";
    if (last !== undefined && this.#isText && addsOnlyText(message, last.message))
      last.text = `${last.text ?? ""}${message.content}`;
    else this.#pieces.push({ chunk, message, text: undefined });
  }

  /** The chunks without those that only add text. */
  get chunks(): readonly ChatGenerationChunk[] {
    return this.#pieces.map(({ chunk }) => chunk);
  }

  get isEmpty(): boolean {
    return this.#pieces.length === 0;
  }

  /**
   * The whole message; the same one until a chunk is added. Undefined if there is none.
   *
   * @throws The error of LangChain for chunks that cannot be joined.
   */
  get message(): AIMessageChunk | undefined {
    if (this.#whole !== undefined) return this.#whole;
    const [first, ...others] = this.#pieces.map(({ message, text }) =>
      text === undefined ? message : message.concat(new AIMessageChunk(text)),
    );
    this.#whole = others.reduce<AIMessageChunk | undefined>((whole, next) => concat(whole, next), first);
    return this.#whole;
  }
}

/** Whether LangChain's join with this message, whose content is a text, adds only that to the one before. */
function addsOnlyText(message: AIMessageChunk, before: AIMessageChunk): boolean {
  return (
    message.usage_metadata === undefined &&
    // Whether a usage is the last that came shows whether the stream is whole.
    before.usage_metadata === undefined &&
    isNone(Object.keys(Object(before.response_metadata["usage"]))) &&
    (message.id === undefined || before.id !== undefined) &&
    isNone(message.tool_call_chunks) &&
    isNone(message.tool_calls) &&
    addsNothing(message.additional_kwargs, before.additional_kwargs) &&
    addsNothing(message.response_metadata, before.response_metadata)
  );
}

function isNone(list: readonly unknown[] | undefined): boolean {
  return list === undefined || list.length === 0;
}

/** Fields whose later value replaces the earlier one, or is ignored. Other texts and numbers are added. */
const REPLACED: ReadonlySet<string> = new Set(["type", "id", "name", "output_version", "model_provider"]);

function addsNothing(fields: object, before: Readonly<Record<string, unknown>>): boolean {
  return Object.entries(fields).every(([name, value]) => {
    const known = before[name];
    if (value === undefined || value === null) return name in before;
    if (typeof value !== typeof known) return false;
    if (value === 0 || value === "") return true;
    if (value === known) return REPLACED.has(name) || typeof value === "boolean";
    return isRecord(value) && isRecord(known) && Object.keys(value).length === 0;
  });
}
