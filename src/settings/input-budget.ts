/** The default limit of a model input, above which it is summarised. */

import { isRecord } from "../shared/is-record.js";

/** Token counts are estimates, so a part of the window stays free. */
const SHARE_OF_WINDOW = 0.8;
/** The limit in tokens for a model whose input window is unknown. */
export const DEFAULT_BUDGET = 4_000;

/**
 * The limit in tokens; undefined for a model whose input window is unknown. LangChain's chat models state it in
 * `profile`.
 */
export function windowBudgetOf(model: unknown): number | undefined {
  const profile: unknown = isRecord(model) ? model["profile"] : undefined;
  const window: unknown = isRecord(profile) ? profile["maxInputTokens"] : undefined;
  if (typeof window !== "number" || !(window > 0)) return undefined;
  return Math.max(Math.floor(window * SHARE_OF_WINDOW), 1);
}
