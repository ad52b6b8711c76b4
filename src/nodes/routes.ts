/** Routes on edges: from the beginning of a run, and from the patch node. Both see the whole state. */

import { END, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { type UnansweredCall, unansweredCalls } from "../history/open-calls.js";
import type { SummaryPolicy } from "../history/plan-summary.js";
import type { GivenMessages } from "../middleware/run-agent-middleware.js";
import type { RunContext } from "../settings/run-context.js";
import type { AgentState } from "./run/agent-state.js";
import { runHandleOf } from "./run/run-handle.js";
import { shouldSummarize } from "./summary/summary-due.js";

type Config = LangGraphRunnableConfig<RunContext>;
type SummaryPolicyOf = (context: RunContext) => SummaryPolicy;

/**
 * A healthy turn goes to the model at once. Where calls are open at the end of the history (the caller has given
 * some of their results, or their run was cut off), the run ends, unless results of theirs may still be found.
 */
export function createStartRoute(summaryPolicy: SummaryPolicyOf) {
  return function routeStart(
    state: AgentState,
    config: Config,
  ): "patch" | "summarize" | "model" | typeof END {
    const handle = runHandleOf(config);
    if (handle !== undefined) handle.history = state.messages;
    const { dangling, pending } = unansweredCalls(state.messages);
    if (dangling.length > 0) return "patch";
    if (handle?.given !== undefined) return areReplaced(pending, handle.given) ? "model" : "patch";
    if (pending.length > 0) return handle?.checkpoints.abandoned?.pendingWrites?.length ? "patch" : END;
    if (handle?.endsAfterInput) return END;
    return leadToModel(state, config, summaryPolicy, 0);
  };
}

/** Calls that go with their message need no placeholder, which a client would be left with. */
function areReplaced(pending: readonly UnansweredCall[], { messages }: GivenMessages): boolean {
  const removed = new Set(messages.flatMap(({ type, id }) => (type === "remove" ? [id] : [])));
  return pending.every(({ group }) => removed.has(group.head.id));
}

export function createPatchedRoute(summaryPolicy: SummaryPolicyOf) {
  return function routePatched(state: AgentState, config: Config): "summarize" | "model" | typeof END {
    const handle = runHandleOf(config);
    if (handle?.given !== undefined) return "model";
    if (handle?.endsAfterInput || unansweredCalls(state.messages).pending.length > 0) return END;
    return leadToModel(state, config, summaryPolicy, 1);
  };
}

/** The summary, the model, and the step in which LangGraph finds that nothing is left to do. */
const STEPS_WITH_SUMMARY = 3;

function leadToModel(
  state: AgentState,
  { context, recursionLimit = Number.POSITIVE_INFINITY }: Config,
  summaryPolicy: SummaryPolicyOf,
  stepsTaken: number,
): "summarize" | "model" {
  if (recursionLimit - stepsTaken < STEPS_WITH_SUMMARY) return "model";
  return shouldSummarize(state, summaryPolicy(context ?? {})) ? "summarize" : "model";
}
