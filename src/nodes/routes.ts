/** Routes on edges: from the beginning of a run, and from the patch node. Both see the whole state. */

import { END, type LangGraphRunnableConfig } from "@langchain/langgraph";
import type { AgentState } from "./agent-state.js";
import { unansweredCalls } from "./open-calls.js";
import { runHandleOf } from "./run-handle.js";

export type StartRoute = "patch" | "model" | typeof END;

/**
 * A healthy turn goes to the model at once. Where calls are open at the end of the history (the caller has given
 * some of their results, or their run was cut off), the run ends, unless results of theirs may still be found.
 */
export function routeStart({ messages }: AgentState, config: LangGraphRunnableConfig): StartRoute {
  const { dangling, pending } = unansweredCalls(messages);
  if (dangling.length > 0) return "patch";
  if (pending.length === 0) return "model";
  return runHandleOf(config)?.abandoned?.pendingWrites?.length ? "patch" : END;
}

export function routePatched({ messages }: AgentState): "model" | typeof END {
  return unansweredCalls(messages).pending.length === 0 ? "model" : END;
}
