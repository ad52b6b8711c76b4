import type { BaseMessage } from "@langchain/core/messages";

const TERMINATION = Symbol.for("langgraph-tether.termination");

/**
 * Thrown by a middleware to end its layer. The code after `next()` in the middleware further out is skipped. The result
 * that it carries is used, or else the one that is set in the context.
 *
 * - agent: the run ends with that answer.
 * - chat: the run ends after this model call; calls in its answer are not run.
 * - function: siblings of the call finish, and the model is not asked again.
 *
 * @example
 * ```ts
 * import { tool } from "@langchain/core/tools";
 * import { createAgentGraph, functionMiddleware, MiddlewareTermination } from "langgraph-tether";
 * import { z } from "zod";
 *
 * const sky = tool(async () => "clear", { name: "sky", description: "Looks up.", schema: z.object({}) });
 * const quota = functionMiddleware(async function quota() {
 *   throw new MiddlewareTermination("The quota is used up.");
 * });
 * const agent = createAgentGraph({ model: "offline:", tools: [sky], middleware: [quota] });
 * const { messages } = await agent.invoke({ messages: [{ role: "user", content: "call sky" }] });
 * console.log(messages.at(-1)?.text); // The quota is used up.
 * ```
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
