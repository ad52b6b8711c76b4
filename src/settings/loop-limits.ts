import type { RunContext } from "./run-context.js";
import type { NamesWith, Settings } from "./settings.js";

type LimitName = NamesWith<{ readonly lowerOnly: true }>;

/** The limits of one turn. A run can lower the limits of its graph. */
export interface LoopLimits extends Pick<Settings, LimitName> {}

/** The limits of a run. Those in its context have precedence over those of its graph. */
export function resolveLimits(context: RunContext, limits: LoopLimits): LoopLimits {
  return {
    maxIterations: context.maxIterations ?? limits.maxIterations,
    maxToolCalls: context.maxToolCalls ?? limits.maxToolCalls,
    maxConsecutiveErrors: context.maxConsecutiveErrors ?? limits.maxConsecutiveErrors,
  };
}
