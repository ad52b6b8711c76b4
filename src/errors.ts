/** The errors of this library: one base class, stable codes. */

import { toJson } from "./shared/to-json.js";

const TETHER_ERROR = Symbol.for("langgraph-tether.error");

/**
 * - `INVALID_SETTING`: a setting, option or argument is unknown, of the wrong type or out of range. Raised when the
 *   graph is built, when a run starts, or by the function it was given to.
 * - `INVALID_TOOL`: a tool cannot be offered to a model. Raised when the graph is built.
 * - `INVALID_MODEL`: a model name cannot be resolved. Raised when the graph is built or a run starts.
 * - `INVALID_MESSAGE`: a value written to the history is no message, or a run's input or a middleware's messages have
 *   another shape. Raised by the write, when the run starts, or in the middleware; the history stays.
 * - `INVALID_COMMAND`: a `Command` would run a tool call that no model made. Raised when the run or the update starts.
 * - `MIDDLEWARE_MISUSED`: a middleware forgot to await `next()`, called it twice, left no result or one that is no
 *   message. Raised in a run; what tools have returned stays.
 * - `MODEL_FAILED`: a model cannot do what is asked of it, answered nothing, or its provider refused the request. Raised
 *   in a run; the history stays.
 */
export type TetherErrorCode =
  | "INVALID_SETTING"
  | "INVALID_TOOL"
  | "INVALID_MODEL"
  | "INVALID_MESSAGE"
  | "INVALID_COMMAND"
  | "MIDDLEWARE_MISUSED"
  | "MODEL_FAILED";

/** The base of every error of this library. Read `code` to tell them apart. */
export class TetherError extends Error {
  override readonly name: string = "TetherError";
  readonly code: TetherErrorCode;
  readonly [TETHER_ERROR] = true;

  constructor(code: TetherErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }

  /** Also true for an error of another copy of this package. */
  static isInstance(error: unknown): error is TetherError {
    return typeof error === "object" && error !== null && TETHER_ERROR in error;
  }
}

/** A setting that was refused. */
export class InvalidSettingError extends TetherError {
  override readonly name = "InvalidSettingError";
  /** The name of the setting, as its writer wrote it. */
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

/** A tool that no model could be offered. */
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

/** A value that is no message, or no list of messages where there must be one. */
export class InvalidMessageError extends TetherError {
  override readonly name = "InvalidMessageError";
  /** Where it stood in the update. */
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

/** A `Command`, or an update of the state, that would run a call that no model made. */
export class InvalidCommandError extends TetherError {
  override readonly name = "InvalidCommandError";

  constructor(message: string) {
    super("INVALID_COMMAND", message);
  }

  getResponse(): Response {
    return refusalOf(this);
  }
}

/** The LangGraph server answers with this where it would else answer 500 without a reason. */
function refusalOf({ name, message }: TetherError): Response {
  return Response.json({ error: name, message }, { status: 422 });
}

/** A middleware that broke its contract. */
export class MiddlewareError extends TetherError {
  override readonly name = "MiddlewareError";

  constructor(message: string) {
    super("MIDDLEWARE_MISUSED", message);
  }
}

/** Which rule of which provider family the sent messages broke. */
export interface BrokenRule {
  /** Whose rule it is, as `validateHistory` names it. */
  readonly dialect: string;
  readonly rule: string;
  /** The place in the messages that were sent. */
  readonly index: number;
  /** What the provider says to it; its own words where they are known. */
  readonly message: string;
}

export interface ModelErrorOptions extends ErrorOptions {
  readonly status?: number | undefined;
  readonly brokenRule?: BrokenRule | undefined;
}

/**
 * A model that cannot do what is asked of it, that answered nothing, or whose provider refused the request. No key of the
 * model is in it: `cause` is a plain copy of what the client threw.
 */
export class ModelError extends TetherError {
  override readonly name = "ModelError";
  /** The HTTP status of the provider's refusal; undefined if it was none. */
  readonly status: number | undefined;
  /** Why the messages were refused, where that is known. */
  readonly brokenRule: BrokenRule | undefined;

  constructor(message: string, { status, brokenRule, ...options }: ModelErrorOptions = {}) {
    super("MODEL_FAILED", message, options);
    this.status = status;
    this.brokenRule = brokenRule;
  }
}

const LONGEST_VALUE = 200;

function refusalText(name: string, expectation: string, value: unknown): string {
  return `Expected \`${name}\` to be ${expectation}, got \`${formatValue(value)}\`.`;
}

function formatValue(value: unknown): string {
  if (typeof value === "function") return "a function";
  const text = typeof value === "number" ? String(value) : (toJson(value) ?? typeof value);
  return text.length > LONGEST_VALUE ? `${text.slice(0, LONGEST_VALUE)}…` : text;
}
