/** The routes from START and from the patch node. Both see the complete state. */

import { END, type LangGraphRunnableConfig } from "@langchain/langgraph";
import { type UnansweredCall, unansweredCalls } from "../history/calls/open-calls.js";
import type { GivenMessages } from "../middleware/run-agent-middleware.js";
import { type LoopLimits, resolveLimits } from "../settings/loop-limits.js";
import type { RunContext } from "../settings/run-context.js";
import type { CallPolicy } from "./approval/call-policy.js";
import { mayHaveLeftovers } from "./recovery/leftovers.js";
import { type AgentState, turnOf } from "./run/agent-state.js";
import { isThreadUsedUp } from "./run/budgets.js";
import { positionIn } from "./run/model-chain.js";
import { runInputsOf } from "./run/run-handle.js";
import { STEPS_OF_A_SUMMARY, stepsAfter } from "./run/superstep-budget.js";
import type { SummaryPolicyOf } from "./summary/summarize.js";
import { shouldSummarize } from "./summary/summary-due.js";

type Config = LangGraphRunnableConfig<RunContext>;

export interface PatchedRouteOptions {
  readonly summaryPolicy: SummaryPolicyOf;
  readonly limits: LoopLimits;
}

export interface StartRouteOptions extends PatchedRouteOptions {
  readonly callPolicy: CallPolicy;
}

/**
 * Makes the route from START. A healthy turn goes to the model at once. The patch node comes first if calls are to be
 * closed, or if an ended run may have left something. The run ends if the open group waits for results of the caller.
 */
export function createStartRoute(options: StartRouteOptions) {
  const { callPolicy } = options;
  return async function routeStart(
    state: AgentState,
    config: Config,
  ): Promise<"patch" | "summarize" | "model" | typeof END> {
    const inputs = runInputsOf(config);
    const { dangling, pending } = unansweredCalls(state.messages);
    if (dangling.length > 0 || (inputs && mayHaveLeftovers(inputs.checkpoints))) return "patch";
    if (inputs?.given !== undefined) return areReplaced(pending, inputs.given) ? "model" : "patch";
    if (inputs?.endsAfterInput) return END;
    if (pending.length > 0) return pending.every(callPolicy.isHandedOver) ? END : "patch";
    return leadToModel(state, config, options, 0);
  };
}

/**
 * Whether the given messages remove the pending calls. Such calls need no placeholder: a client would keep showing it.
 */
function areReplaced(pending: readonly UnansweredCall[], { messages }: GivenMessages): boolean {
  const removed = new Set(messages.flatMap(({ type, id }) => (type === "remove" ? [id] : [])));
  return pending.every(({ group }) => removed.has(group.head.id));
}

export function createPatchedRoute(options: PatchedRouteOptions) {
  return async function routePatched(
    state: AgentState,
    config: Config,
  ): Promise<"summarize" | "model" | typeof END> {
    const inputs = runInputsOf(config);
    if (inputs?.given !== undefined) return "model";
    if (inputs?.endsAfterInput || unansweredCalls(state.messages).pending.length > 0) return END;
    return leadToModel(state, config, options, 1);
  };
}

async function leadToModel(
  state: AgentState,
  config: Config,
  { summaryPolicy, limits }: PatchedRouteOptions,
  stepsTaken: number,
): Promise<"summarize" | "model"> {
  const context = config.context ?? {};
  if (stepsAfter(stepsTaken, config) < STEPS_OF_A_SUMMARY) return "model";
  if (isThreadUsedUp(state, resolveLimits(context, limits))) return "model";
  const position = positionIn(turnOf(state), context.model);
  return shouldSummarize(state, await summaryPolicy(context, position)) ? "summarize" : "model";
}
