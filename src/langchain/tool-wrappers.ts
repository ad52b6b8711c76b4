/**
 * Whether other middleware of the agent wraps tool calls. LangChain tells the model each error of a tool in an agent
 * whose middleware does not, and fails the run in every other. A middleware is not told which others there are.
 */

import { tool } from "@langchain/core/tools";
import { safely } from "../shared/json.js";

interface Middleware {
  wrapToolCall?: unknown;
}
type AskModel = (request: never) => unknown;

/**
 * LangChain refuses a request with a tool that the agent does not have, unless some middleware wraps tool calls. It
 * checks this before anything else, and reads each middleware anew, so one that hides its own wrapper sees the others'.
 */
export function createToolWrappers(middleware: Middleware) {
  const { wrapToolCall: own } = middleware;
  let isHidden = false;
  let reads = 0;
  Object.defineProperty(middleware, "wrapToolCall", {
    get: () => {
      reads += 1;
      return isHidden ? undefined : own;
    },
    enumerable: true,
    configurable: true,
  });
  const seen = new Set<boolean>();
  const known = new WeakSet<object>();
  return {
    /**
     * Finds out with LangChain's check of a request. Contract: called with the agent's own handler of model calls, which
     * asks no model for it.
     *
     * @param tools The request's tools. An agent gives the same list each time, and then it is not looked again.
     */
    look(askModel: AskModel, tools: object): void {
      if (known.has(tools)) return;
      // An agent reads it several times. A copy has read it once, and shows its own wrapper.
      if (reads < 2 || !isLetThrough(askModel)) return;
      isHidden = true;
      const areOthers = isLetThrough(askModel);
      isHidden = false;
      known.add(tools);
      seen.add(areOthers);
    },
    /** Undefined: LangChain did not say, no model was asked yet, or the agents of this middleware differ. */
    areOthers: (): boolean | undefined => (seen.size === 1 ? seen.has(true) : undefined),
  };
}

const unknownTool = tool(() => "", { name: "tool_of_no_agent", schema: { type: "object", properties: {} } });

/** Whether the check lets a request with an unknown tool through. What reads more of the request than its tools fails. */
function isLetThrough(askModel: AskModel): boolean {
  let isThrough = false;
  const end = () => {
    isThrough = true;
    throw new Error("This request only asks who wraps tool calls.");
  };
  const request = new Proxy(
    {},
    { get: (_, name) => (name === "tools" ? [unknownTool] : end()), ownKeys: end, has: end },
  );
  // It fails in any case, and the check is over when it returns.
  Promise.resolve(safely(() => askModel(request as never), undefined)).catch(() => {});
  return isThrough;
}
