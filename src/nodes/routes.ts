/** Routes on edges: from the beginning of a run, and from the patch node. Both see the whole state. */

import { END, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { type UnansweredCall, unansweredCalls } from "../history/calls/open-calls.js";
import type { GivenMessages } from "../middleware/run-agent-middleware.js";
import type { RunContext } from "../settings/run-context.js";
import type { SummaryPolicyOf } from "../settings/summary-policy.js";
import type { AgentState } from "./run/agent-state.js";
import { runInputsOf } from "./run/run-handle.js";
import { STEPS_OF_A_SUMMARY, stepsAfter } from "./run/superstep-budget.js";
import { shouldSummarize } from "./summary/summary-due.js";

type Config = LangGraphRunnableConfig<RunContext>;

/**
 * A healthy turn goes to the model at once. Where calls are open at the end of the history (the caller has given
 * some of their results, or their run was cut off), the run ends, unless results of theirs may still be found.
 */
export function createStartRoute(summaryPolicy: SummaryPolicyOf) {
  return async function routeStart(
    state: AgentState,
    config: Config,
  ): Promise<"patch" | "summarize" | "model" | typeof END> {
    const inputs = runInputsOf(config);
    const { dangling, pending } = unansweredCalls(state.messages);
    if (dangling.length > 0) return "patch";
    if (inputs?.given !== undefined) return areReplaced(pending, inputs.given) ? "model" : "patch";
    if (pending.length > 0) return inputs?.checkpoints.abandoned?.pendingWrites?.length ? "patch" : END;
    if (inputs?.endsAfterInput) return END;
    return leadToModel(state, config, summaryPolicy, 0);
  };
}

/** Calls that go with their message need no placeholder, which a client would be left with. */
function areReplaced(pending: readonly UnansweredCall[], { messages }: GivenMessages): boolean {
  const removed = new Set(messages.flatMap(({ type, id }) => (type === "remove" ? [id] : [])));
  return pending.every(({ group }) => removed.has(group.head.id));
}

export function createPatchedRoute(summaryPolicy: SummaryPolicyOf) {
  return async function routePatched(
    state: AgentState,
    config: Config,
  ): Promise<"summarize" | "model" | typeof END> {
    const inputs = runInputsOf(config);
    if (inputs?.given !== undefined) return "model";
    if (inputs?.endsAfterInput || unansweredCalls(state.messages).pending.length > 0) return END;
    return leadToModel(state, config, summaryPolicy, 1);
  };
}

async function leadToModel(
  state: AgentState,
  config: Config,
  summaryPolicy: SummaryPolicyOf,
  stepsTaken: number,
): Promise<"summarize" | "model"> {
  if (stepsAfter(stepsTaken, config) < STEPS_OF_A_SUMMARY) return "model";
  return shouldSummarize(state, await summaryPolicy(config.context ?? {})) ? "summarize" : "model";
}
