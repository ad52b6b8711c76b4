import type { BaseMessage } from "@langchain/core/messages";

const TERMINATION = Symbol.for("langgraph-tether.termination");

/**
 * Thrown by a middleware to end its layer: what the layers further out do after `next()` is skipped. The result that
 * it carries stands, else the one that is set in the context.
 *
 * - agent: the run ends with that answer.
 * - chat: the run ends after this model call; calls in its answer are not run.
 * - function: siblings of the call finish, and the model is not asked again.
 */
export class MiddlewareTermination extends Error {
  override readonly name = "MiddlewareTermination";
  readonly result: BaseMessage | string | undefined;
  readonly [TERMINATION] = true;

  constructor(result?: BaseMessage | string) {
    super("A middleware has ended its layer.");
    this.result = result;
  }

  /** Also true for one of another copy of this package. */
  static isInstance(error: unknown): error is MiddlewareTermination {
    return typeof error === "object" && error !== null && TERMINATION in error;
  }
}
