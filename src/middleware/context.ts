/** What the contexts of the three layers have in common. */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { InvalidMessageError, InvalidSettingError, MiddlewareError } from "../errors.js";
import { isAIMessage } from "../history/messages/call.js";
import { coerceMessage } from "../history/messages/coerce-message.js";
import { isRecord } from "../shared/is-record.js";

/** What the layers of one run share: one bag, empty at the beginning of each run, also of a resumed one. */
export interface RunBag {
  metadata: Record<string, unknown>;
}

/** Where a context belongs. */
export interface RunScope {
  readonly bag: RunBag;
  readonly threadId: string | undefined;
  readonly signal: AbortSignal | undefined;
}

export class MiddlewareContext {
  /** The thread; undefined in a run without one. */
  readonly threadId: string | undefined;
  /** Aborts with the run. */
  readonly signal: AbortSignal | undefined;
  readonly #bag: RunBag;

  constructor({ bag, threadId, signal }: RunScope) {
    this.#bag = bag;
    this.threadId = threadId;
    this.signal = signal;
  }

  /** One bag per run, shared by all middleware of it. */
  get metadata(): Record<string, unknown> {
    return this.#bag.metadata;
  }

  set metadata(metadata: Record<string, unknown>) {
    this.#bag.metadata = metadata;
  }
}

/**
 * What stands for a message in it is made one where it is read; but the next middleware reads a list.
 *
 * @throws InvalidMessageError for what is no list.
 */
export function asMessages<Messages>(value: Messages): Messages {
  if (Array.isArray(value)) return value;
  throw new InvalidMessageError("context.messages", value, "a list of messages");
}

/** @throws InvalidSettingError that names the place of what is no object. */
export function asObject<Value>(place: string, value: Value): Value {
  if (isRecord(value)) return value;
  throw InvalidSettingError.expected(place, "an object", value);
}

/** @throws MiddlewareError for what is neither an assistant message nor a text. */
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
