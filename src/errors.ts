/** The errors of this library: one base class with stable codes. */

import { forAllCopies } from "./shared/for-all-copies.js";
import { causesOf } from "./shared/is-error.js";
import { refusalText } from "./shared/text.js";
import { isRecord } from "./shared/values.js";

const TETHER_ERROR = Symbol.for("langgraph-tether.error");

/**
 * - `INVALID_SETTING`: a setting, option or argument is unknown, has the wrong type or is out of range.
 *   Raised when the graph is built, when a run starts, or by the function that received the value.
 * - `INVALID_TOOL`: a tool cannot be offered to a model. Raised when the graph is built, or when a chat
 *   middleware sets the tools of a call.
 * - `INVALID_MODEL`: a model name cannot be resolved. Raised when the graph is built, when a run starts, or when a
 *   chat middleware sets the model of a call.
 * - `INVALID_MESSAGE`: a value written to the history is not a message, or a run's input or a middleware's
 *   list of messages has the wrong shape. Raised by the write, when the run starts, or in the middleware. The
 *   history does not change.
 * - `INVALID_STATE`: a value written to an own key of the state does not match `stateSchema`. Raised when the
 *   run or the update starts. The thread does not change.
 * - `INVALID_COMMAND`: a `Command` would run a tool call that no model made. Raised when the run or the
 *   update starts.
 * - `MIDDLEWARE_MISUSED`: a middleware did not await `next()`, called it twice, set no result, set one that is
 *   not a message, or wrote to what cannot be changed. Raised in a run. Results that tools have returned stay.
 * - `MODEL_FAILED`: a model cannot do what a request needs, its response is empty or broken, or its provider
 *   refused the request. Raised in a run. The history does not change.
 * - `RESPONSE_NOT_IN_FORMAT`: a structured response does not fit its `responseFormat`. Passed to `handleError`, and
 *   raised in a run if that is false.
 * - `THREAD_BUSY`: another run of the thread has not ended. Raised when a run or an update of the state starts. The
 *   thread does not change.
 * - `THREAD_MOVED`: another process or graph wrote to the thread while a run went on, or can do so because the lock of
 *   the thread was lost. Raised in the run. The thread keeps what the other one wrote.
 */
export type TetherErrorCode =
  | "INVALID_SETTING"
  | "INVALID_TOOL"
  | "INVALID_MODEL"
  | "INVALID_MESSAGE"
  | "INVALID_STATE"
  | "INVALID_COMMAND"
  | "MIDDLEWARE_MISUSED"
  | "MODEL_FAILED"
  | "RESPONSE_NOT_IN_FORMAT"
  | "THREAD_BUSY"
  | "THREAD_MOVED";

/** A class of errors of this library. */
type ErrorClass<E extends TetherError> = abstract new (...values: never[]) => E;

/**
 * The base class of every error of this library. Read `code` to tell them apart.
 *
 * @example
 * ```ts
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { findSafeCutoff, TetherError } from "langgraph-tether";
 *
 * try {
 *   findSafeCutoff([new HumanMessage("Hello!"), new AIMessage("Hi!")], { messages: -1 });
 * } catch (thrown) {
 *   const error = TetherError.from(thrown);
 *   if (error === undefined) throw thrown;
 *   console.log(error.code, error.message); // INVALID_SETTING Expected `messages` to be an integer of 0 or more, got `-1`.
 * }
 * ```
 */
export class TetherError extends Error {
  override readonly name: string = "TetherError";
  readonly code: TetherErrorCode;
  readonly [TETHER_ERROR] = true;

  constructor(code: TetherErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /**
   * The error of this class that was thrown: the value itself or one of its causes, because LangChain's agents wrap
   * what a middleware throws in an error without our fields. Also finds another copy's errors, and what this library
   * has read in an error of a model's client that it throws as it is. Undefined if there is none.
   */
  static from<E extends TetherError>(this: ErrorClass<E>, thrown: unknown): E | undefined {
    // biome-ignore lint/complexity/noThisInStatic: each class finds its own errors.
    return findError(thrown, this);
  }

  /** Whether a value is such an error or has one among its causes. {@link TetherError.from} returns it. */
  static isInstance(this: ErrorClass<TetherError>, thrown: unknown): thrown is Error {
    // biome-ignore lint/complexity/noThisInStatic: each class finds its own errors.
    return findError(thrown, this) !== undefined;
  }
}

function findError<E extends TetherError>(thrown: unknown, kind: ErrorClass<E>): E | undefined {
  for (const cause of causesOf(thrown))
    for (const error of [cause, readings.get(cause)])
      if (error !== undefined && isOfClass(error, kind)) return error;
  return undefined;
}

/** What this library has read in errors of clients that are thrown as they are. */
const readings = /* @__PURE__ */ forAllCopies("readings", () => new WeakMap<object, ModelError>());

/** From now on, {@link TetherError.from} finds the reading in the error. */
export function noteReading(error: object, reading: ModelError): void {
  readings.set(error, reading);
}

export function notedReading(error: object): ModelError | undefined {
  return readings.get(error);
}

/**
 * By name, so that it finds errors from other copies of this package. A minified copy's class names differ from its
 * error names.
 */
function isOfClass<E extends TetherError>(error: object, kind: ErrorClass<E>): error is E {
  if (!isTetherError(error)) return false;
  return [TetherError.name, error.name, error.constructor.name].includes(kind.name);
}

/** Whether the value itself is an error of this library, of any copy. */
export function isTetherError(error: unknown): error is TetherError {
  return isRecord(error) && TETHER_ERROR in error;
}

/** A setting, option or argument that was refused. */
export class InvalidSettingError extends TetherError {
  override readonly name = "InvalidSettingError";
  /** The name of the setting, as the caller wrote it. */
  readonly setting: string;

  constructor(setting: string, message: string) {
    super("INVALID_SETTING", message);
    this.setting = setting;
  }

  /** @param hint A sentence about what was probably meant. */
  static expected(setting: string, expectation: string, value: unknown, hint = ""): InvalidSettingError {
    return new InvalidSettingError(setting, `${refusalText(setting, expectation, value)}${hint}`);
  }
}

/** A tool that cannot be offered to a model. */
export class InvalidToolError extends TetherError {
  override readonly name = "InvalidToolError";
  readonly toolName: string;

  constructor(toolName: string, message: string) {
    super("INVALID_TOOL", message);
    this.toolName = toolName;
  }
}

/** A model name that cannot be resolved. */
export class InvalidModelError extends TetherError {
  override readonly name = "InvalidModelError";
  readonly model: string;

  constructor(model: string, message: string, options?: ErrorOptions) {
    super("INVALID_MODEL", message, options);
    this.model = model;
  }
}

const A_MESSAGE = "a message (a string, or an object with `role` or `type`)";

/** A value that is not a message, or not a list of messages where one is required. */
export class InvalidMessageError extends TetherError {
  override readonly name = "InvalidMessageError";
  /** The value's place in the update. */
  readonly place: string;

  /** @param hint A sentence about what was probably meant. */
  constructor(place: string, value: unknown, expectation = A_MESSAGE, hint = "") {
    super("INVALID_MESSAGE", `${refusalText(place, expectation, value)}${hint}`);
    this.place = place;
  }

  getResponse(): Response {
    return refusalOf(this);
  }
}

/** A value that an own key of the state does not take. */
export class InvalidStateError extends TetherError {
  override readonly name = "InvalidStateError";
  /** The key, as `stateSchema` names it. */
  readonly key: string;

  constructor(key: string, message: string) {
    super("INVALID_STATE", message);
    this.key = key;
  }

  /** @param place The fault's place in the value, beginning with the key. */
  static mismatch(key: string, place: string, issue: string): InvalidStateError {
    return new InvalidStateError(key, `Expected \`${place}\` to match \`stateSchema\`: ${issue}.`);
  }

  getResponse(): Response {
    return refusalOf(this);
  }
}

/** A `Command`, or a state update, that would run a tool call that no model made. */
export class InvalidCommandError extends TetherError {
  override readonly name = "InvalidCommandError";

  constructor(message: string) {
    super("INVALID_COMMAND", message);
  }

  getResponse(): Response {
    return refusalOf(this);
  }
}

/** The LangGraph server sends this response. Without it, it would send status 500 without a reason. */
function refusalOf({ name, message }: TetherError, status = 422): Response {
  return Response.json({ error: name, message }, { status });
}

/** A middleware that broke its contract. */
export class MiddlewareError extends TetherError {
  override readonly name = "MiddlewareError";

  constructor(message: string) {
    super("MIDDLEWARE_MISUSED", message);
  }
}

/** Two runs that write to one thread at the same time. This one was refused or stopped. */
export class ThreadConflictError extends TetherError {
  override readonly name = "ThreadConflictError";
  readonly threadId: string;
  /**
   * The last checkpoint that this run saved. Before its first one: the checkpoint on which it began if it brought no
   * messages, otherwise undefined. `getState` can read it.
   */
  readonly checkpointId: string | undefined;
  /**
   * Whether the thread has this run's input. If so, do not send it again: the other run of the thread continues from
   * `checkpointId`.
   */
  readonly isInThread: boolean;

  constructor(code: "THREAD_BUSY" | "THREAD_MOVED", message: string, left: ThreadConflict) {
    super(code, message);
    this.threadId = left.threadId;
    this.checkpointId = left.checkpointId;
    this.isInThread = left.isInThread ?? false;
  }

  getResponse(): Response {
    return refusalOf(this, 409);
  }
}

interface ThreadConflict {
  readonly threadId: string;
  readonly checkpointId?: string | undefined;
  readonly isInThread?: boolean;
}

/** The rule of a provider family that the sent messages broke. */
export interface BrokenRule {
  /** The provider family, as `validateHistory` names it. */
  readonly dialect: string;
  readonly rule: string;
  /** The index in the messages that were sent. */
  readonly index: number;
  /** The provider's error message, in its own words if they are known. */
  readonly message: string;
}

interface ModelErrorOptions extends ErrorOptions {
  readonly status?: number | undefined;
  readonly brokenRule?: BrokenRule | undefined;
}

/**
 * A model that cannot do what a request needs, whose response is empty or broken, or whose provider refused the
 * request. The error does not contain the model's key: `cause` is a copy of the client's error without secrets.
 */
export class ModelError extends TetherError {
  override readonly name = "ModelError";
  /** The HTTP status of the provider's refusal; undefined if it did not refuse. */
  readonly status: number | undefined;
  /** The rule that the messages break, if the provider's refusal names it. Undefined for every other refusal. */
  readonly brokenRule: BrokenRule | undefined;

  constructor(message: string, { status, brokenRule, ...options }: ModelErrorOptions = {}) {
    super("MODEL_FAILED", message, options);
    this.status = status;
    this.brokenRule = brokenRule;
  }
}
