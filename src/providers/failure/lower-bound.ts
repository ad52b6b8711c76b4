import type { Overflow } from "./overflow.js";

/** What each attempt makes of the bound that the provider's numbers name. Our estimate may be far off. */
const MARGINS = [0.95, 0.8, 0.5] as const;
/** Shares of the refused request, for a provider that names no numbers. */
const SHARES = [0.7, 0.3, 0.1] as const;
/** Every chat model takes this much. It is tried last, for a provider that names no numbers. */
const LEAST_WINDOW = 4_000;

/** How often in a row a request that is too long is made again. */
export const MOST_OVERFLOWS = MARGINS.length;

/**
 * The bound of the next request, in estimated tokens.
 *
 * @param estimate The estimated tokens of the refused request.
 * @param attempt How many requests in a row were refused before it.
 */
export function lowerBound({ limit, sent }: Overflow, estimate: number, attempt: number): number {
  const margin = MARGINS[attempt] ?? 0;
  const share = estimate * (SHARES[attempt] ?? 0);
  if (limit !== undefined && sent !== undefined && sent > limit)
    return Math.floor(estimate * (limit / sent) * margin);
  if (limit !== undefined) return Math.floor(Math.min(limit * margin, share));
  return Math.floor(attempt === MOST_OVERFLOWS - 1 ? Math.min(share, LEAST_WINDOW) : share);
}
