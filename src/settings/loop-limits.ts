/** Limits of one turn. A run may lower, not raise what its graph was built with. */

export interface LoopLimits {
  /** Model calls with tools in one turn; then one closing call with tools off. */
  readonly maxIterations: number;
  /** Tool calls run in one turn. A batch that would exceed it is not run. Infinity: no limit. */
  readonly maxToolCalls: number;
  /** Batches in a row in which every call failed; then one closing call with tools off. */
  readonly maxConsecutiveErrors: number;
}

const DEFAULT_LIMITS: LoopLimits = {
  maxIterations: 40,
  maxToolCalls: Number.POSITIVE_INFINITY,
  maxConsecutiveErrors: 3,
};

export function resolveLimits(
  chosen: Partial<Record<keyof LoopLimits, number | undefined>>,
  base = DEFAULT_LIMITS,
): LoopLimits {
  return {
    maxIterations: chosen.maxIterations ?? base.maxIterations,
    maxToolCalls: chosen.maxToolCalls ?? base.maxToolCalls,
    maxConsecutiveErrors: chosen.maxConsecutiveErrors ?? base.maxConsecutiveErrors,
  };
}
