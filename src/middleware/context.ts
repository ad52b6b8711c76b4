/** The common part of the contexts of all three kinds of middleware. */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { InvalidMessageError, InvalidSettingError, MiddlewareError } from "../errors.js";
import { isAIMessage } from "../history/messages/call.js";
import { coerceMessage } from "../history/reading/coerce-message.js";
import { isRecord } from "../shared/is-record.js";

/** What all middleware of one run shares. It is empty at the beginning of each run, even of a resumed one. */
export interface RunBag {
  metadata: Record<string, unknown>;
}

/** The run that a context belongs to. */
export interface RunScope {
  readonly bag: RunBag;
  readonly threadId: string | undefined;
  readonly signal: AbortSignal | undefined;
}

/** The fields that every middleware context has. */
export class MiddlewareContext {
  /** The `thread_id` of the run; undefined in a run without a thread. */
  readonly threadId: string | undefined;
  /** Aborts when the run is aborted. */
  readonly signal: AbortSignal | undefined;
  readonly #bag: RunBag;

  constructor({ bag, threadId, signal }: RunScope) {
    this.#bag = bag;
    this.threadId = threadId;
    this.signal = signal;
  }

  /** An object for notes, shared by all middleware of the run. It is empty when the run begins, and is not stored. */
  get metadata(): Record<string, unknown> {
    return this.#bag.metadata;
  }

  set metadata(metadata: Record<string, unknown>) {
    this.#bag.metadata = metadata;
  }
}

/**
 * Checks only that the value is a list. Its entries are converted to messages when they are read.
 *
 * @throws InvalidMessageError for a value that is not a list.
 */
export function asMessages<Messages>(value: Messages): Messages {
  if (Array.isArray(value)) return value;
  throw new InvalidMessageError("context.messages", value, "a list of messages");
}

/** @throws InvalidSettingError for a value that is not an object. The error names `place`. */
export function asObject<Value>(place: string, value: Value): Value {
  if (isRecord(value)) return value;
  throw InvalidSettingError.expected(place, "an object", value);
}

/** @throws MiddlewareError for a value that is neither an assistant message nor a text. */
export function toAnswer(value: unknown): AIMessage {
  const message = typeof value === "string" ? new AIMessage(value) : coerceMessage(value);
  if (message !== undefined && isAIMessage(message)) return message;
  throw new MiddlewareError(
    `Expected \`context.result\` to be an assistant message or a text, got ${describe(message ?? value)}.`,
  );
}

function describe(value: unknown): string {
  return isMessageLike(value) ? `a message of type \`${value.type}\`` : `a value of type \`${typeof value}\``;
}

function isMessageLike(value: unknown): value is BaseMessage {
  return typeof value === "object" && value !== null && "type" in value && "content" in value;
}
