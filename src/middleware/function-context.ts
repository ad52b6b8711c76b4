import { type BaseMessage, ToolMessage } from "@langchain/core/messages";
import type { StructuredToolInterface } from "@langchain/core/tools";
import { MiddlewareError } from "../errors.js";
import { coerceMessage } from "../history/messages/coerce-message.js";
import { isResult } from "../history/messages/result.js";
import { MiddlewareContext, type RunScope } from "./context.js";

/** The call as the model made it. */
export interface FunctionCall {
  readonly id: string;
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

interface Fields extends RunScope {
  readonly call: FunctionCall;
  readonly tool: StructuredToolInterface;
}

/** One call of a tool. */
export class FunctionContext extends MiddlewareContext {
  /** What the tool is called with. May be changed; the tool's schema checks it again. */
  arguments: Record<string, unknown>;
  readonly call: FunctionCall;
  readonly tool: StructuredToolInterface;
  /** 1, and one more for each time that a retrying middleware has the call done again. */
  attempt = 1;
  #result: ToolMessage | undefined;

  constructor({ call, tool, ...scope }: Fields) {
    super(scope);
    // Copies: what a middleware writes into them must not reach the history.
    this.call = { ...call, args: structuredClone(call.args) };
    this.arguments = structuredClone(call.args);
    this.tool = tool;
  }

  /**
   * After `next()` the result of the call; its `status` is `"error"` if the tool failed. Set, it stands in its place:
   * a text becomes a result.
   *
   * @throws MiddlewareError if it is set to what is neither a result nor a text.
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
