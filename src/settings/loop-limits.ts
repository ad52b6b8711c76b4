import type { NamesWith, Settings } from "./settings.js";

type LimitName = NamesWith<{ readonly lowerOnly: true }>;

/** The limits of a turn and of its thread. A run can lower the limits of its graph. */
export interface LoopLimits extends Pick<Settings, LimitName> {}

type ChosenLimits = { readonly [Name in LimitName]?: LoopLimits[Name] | undefined };

/** The limits of a run: what its context says, else those of its graph. */
export function resolveLimits(context: ChosenLimits, limits: LoopLimits): LoopLimits {
  return {
    maxIterations: context.maxIterations ?? limits.maxIterations,
    maxToolCalls: context.maxToolCalls ?? limits.maxToolCalls,
    maxToolCallsPerThread: context.maxToolCallsPerThread ?? limits.maxToolCallsPerThread,
    maxTokensPerTurn: context.maxTokensPerTurn ?? limits.maxTokensPerTurn,
    maxTokensPerThread: context.maxTokensPerThread ?? limits.maxTokensPerThread,
    maxConsecutiveErrors: context.maxConsecutiveErrors ?? limits.maxConsecutiveErrors,
  };
}
