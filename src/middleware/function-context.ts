import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { MiddlewareError } from "../errors.js";
import { isResult } from "../history/messages/result.js";
import { coerceMessage } from "../history/reading/coerce-message.js";
import { MiddlewareContext, type RunScope } from "./context.js";

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
  readonly tool: StructuredToolInterface;
}

/** One tool call. */
export class FunctionContext extends MiddlewareContext {
  /**
   * The arguments that the tool is called with. A middleware can change them before `next()`. The tool's schema checks
   * them again.
   */
  arguments: Record<string, unknown>;
  /** The tool call as the model made it. */
  readonly call: FunctionCall;
  /** The tool that runs the call. */
  readonly tool: StructuredToolInterface;
  /** Which attempt this is. The first is 1. It grows when a middleware with `retry` calls `next()` again. */
  attempt = 1;
  #result: ToolMessage | undefined;

  constructor({ call, tool, ...scope }: Fields) {
    super(scope);
    // Copies, because changes of a middleware must not reach the history.
    this.call = { ...call, args: structuredClone(call.args) };
    this.arguments = structuredClone(call.args);
    this.tool = tool;
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
