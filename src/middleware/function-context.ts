import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { MiddlewareError } from "../errors.js";
import { isResult } from "../history/messages/result.js";
import { coerceMessage } from "../history/reading/coerce-message.js";
import { type ContextView, MiddlewareContext, type RunScope, type StateView } from "./context.js";
import { readOnlyView } from "./read-only-view.js";
import type { Span } from "./run-onion.js";
import { readStateUpdate, type StateUpdate } from "./state-update.js";

/** A tool call as the model made it. */
export interface FunctionCall {
  /** The id that the provider set. */
  readonly id: string;
  /** The tool's name. */
  readonly name: string;
  /** The parsed arguments. */
  readonly args: Readonly<Record<string, unknown>>;
}

interface Fields extends RunScope {
  readonly call: FunctionCall;
  readonly tool: StructuredToolInterface | undefined;
}

/** One tool call. */
export class FunctionContext<
  State extends object = StateView,
  Context extends object = ContextView,
> extends MiddlewareContext<State, Context> {
  /** The tool call as the model made it. */
  readonly call: FunctionCall;
  /**
   * The tool that runs the call. Undefined if the graph has no such tool, or if the model was not offered it. A middleware
   * can answer such a call itself, with `context.result`. After `next()` its result says that there is no such tool.
   */
  readonly tool: StructuredToolInterface | undefined;
  readonly #updates: StateUpdate[] = [];
  readonly #stateKeys: readonly string[];
  #arguments: Record<string, unknown>;
  #attempt = 1;
  #error: unknown;
  #result: ToolMessage | undefined;

  constructor({ call, tool, ...scope }: Fields) {
    super(scope);
    // Copies, because changes of a middleware must not reach the history.
    this.call = readOnlyView({ ...call, args: structuredClone(call.args) }, "context.call", {
      advice: "Set `context.arguments`.",
    });
    this.#arguments = structuredClone(call.args);
    this.#stateKeys = scope.stateKeys;
    this.tool = tool;
  }

  /**
   * The arguments that the tool is called with. A middleware can change them before `next()`. The tool's schema checks
   * them again.
   */
  get arguments(): Record<string, unknown> {
    return this.#arguments;
  }

  set arguments(value: Record<string, unknown>) {
    this.#arguments = value;
  }

  /** Which attempt this is. The first is 1. It grows when a middleware with `retry` calls `next()` again. */
  get attempt(): number {
    return this.#attempt;
  }

  /**
   * After `next()`: what the tool threw in the last attempt. Undefined if it returned. The error of a tool that took too
   * long has the name `ToolTimeoutError`.
   */
  get error(): unknown {
    return this.#error;
  }

  /**
   * After `next()`: the result of the tool call. Its `status` is `"error"` if the tool failed. A middleware can set a
   * `ToolMessage` or a text, which becomes the result in its place.
   *
   * @throws MiddlewareError if it is set to a value that is neither a `ToolMessage` nor a text.
   */
  get result(): ToolMessage | undefined {
    return this.#result;
  }

  set result(value: BaseMessage | string | undefined) {
    this.#result = value === undefined ? undefined : toResult(value, this.call);
  }

  /**
   * Writes to the state, together with the result of the call. `messages` go through the reducer, as the messages of a
   * tool's `Command` do.
   *
   * @throws InvalidSettingError for a key that the state does not have.
   * @throws InvalidMessageError for a value in `messages` that is not a message.
   */
  update(changes: Readonly<Record<string, unknown>>): void {
    this.#updates.push(readStateUpdate(changes, this.#stateKeys));
  }

  /** What the middleware has written to the state. */
  get updates(): readonly StateUpdate[] {
    return this.#updates;
  }

  /** Takes the outcome of an attempt. */
  settle(result: ToolMessage, error: unknown): void {
    this.#result = result;
    this.#error = error;
  }

  /** Called before another attempt, with what inner middleware wrote in the last one. */
  beginAttempt({ from, to }: Span): void {
    this.#updates.splice(from, to - from);
    this.#attempt += 1;
    this.#error = undefined;
  }
}

function toResult(value: unknown, { id, name }: FunctionCall): ToolMessage {
  const given =
    typeof value === "string"
      ? new ToolMessage({ content: value, tool_call_id: id, name })
      : coerceMessage(value);
  if (given !== undefined && isResult(given)) return given;
  throw new MiddlewareError(
    `Expected \`context.result\` of a function middleware to be a \`ToolMessage\` or a text, got a value of type \`${given?.type ?? typeof value}\`.`,
  );
}
