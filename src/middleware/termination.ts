import type { BaseMessage } from "@langchain/core/messages";

const TERMINATION = Symbol.for("langgraph-tether.termination");

/**
 * A middleware throws it to end its layer. It is not a failure. Code after `next()` in outer middleware of the same
 * kind is skipped. The result is the one that it carries, or else `context.result`.
 *
 * - agent: the run ends with that response.
 * - chat: the run ends after this model call. Tool calls of its response are not run.
 * - function: the other calls of the batch finish, and the model is not asked again.
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

  /** Like `instanceof`, but also true for an error of another copy of this package. */
  static isInstance(error: unknown): error is MiddlewareTermination {
    return typeof error === "object" && error !== null && TERMINATION in error;
  }
}
