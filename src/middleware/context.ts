/** The common part of the contexts of all three kinds of middleware. */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import type { BaseStore } from "@langchain/langgraph";
import { InvalidMessageError, InvalidSettingError, MiddlewareError } from "../errors.js";
import { isAIMessage } from "../history/messages/call.js";
import { coerceMessage } from "../history/reading/coerce-message.js";
import type { RunContext } from "../settings/run-context.js";
import { isRecord } from "../shared/is-record.js";
import { readOnlyView } from "./read-only-view.js";

/** What all middleware of one run shares. It is empty at the beginning of each run, even of a resumed one. */
export interface RunBag {
  metadata: Record<string, unknown>;
}

/** The run that a context belongs to. */
export interface RunScope {
  readonly bag: RunBag;
  readonly threadId: string | undefined;
  readonly signal: AbortSignal | undefined;
  readonly store: BaseStore | undefined;
  /** The `context` of the run, with the caller's own keys. */
  readonly context: object;
  /** Contract: reads the state without its private channels. Called when a middleware asks for it. */
  readonly readState: () => object;
  /** The keys of the state that a middleware can write. */
  readonly stateKeys: readonly string[];
  /** Contract: sends a value to the run's `custom` stream. Must not throw. */
  readonly write: (value: unknown) => void;
}

/** The state as a middleware reads it. */
export interface StateView {
  /** The history of the thread. */
  readonly messages: readonly BaseMessage[];
  readonly [key: string]: unknown;
}

/** The `context` of a run as a middleware reads it: the settings of the run, and the caller's own keys. */
export interface ContextView extends Readonly<RunContext> {
  readonly [key: string]: unknown;
}

/** The fields that every middleware context has. */
export class MiddlewareContext<State extends object = StateView, Context extends object = ContextView> {
  /** The `thread_id` of the run; undefined in a run without a thread. */
  readonly threadId: string | undefined;
  /** Aborts when the run is aborted. */
  readonly signal: AbortSignal | undefined;
  /** The long-term memory of the graph; undefined if it has none. */
  readonly store: BaseStore | undefined;
  readonly #scope: RunScope;
  #context: Context | undefined;

  constructor(scope: RunScope) {
    this.#scope = scope;
    this.threadId = scope.threadId;
    this.signal = scope.signal;
    this.store = scope.store;
  }

  /** The state of the thread at this moment, to read. A change in it is a `MiddlewareError`. */
  get state(): State {
    return readOnlyView(this.#scope.readState(), "context.state") as State;
  }

  /** The `context` that the run was started with, to read. A change in it is a `MiddlewareError`. */
  get context(): Context {
    this.#context ??= readOnlyView(this.#scope.context, "context.context") as Context;
    return this.#context;
  }

  /** Sends a value to the clients that read the run's `custom` stream. */
  get writer(): (value: unknown) => void {
    return this.#scope.write;
  }

  /** An object for notes, shared by all middleware of the run. It is empty when the run begins, and is not stored. */
  get metadata(): Record<string, unknown> {
    return this.#scope.bag.metadata;
  }

  set metadata(metadata: Record<string, unknown>) {
    this.#scope.bag.metadata = metadata;
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
