/** The default limit of a model input, above which it is summarised. */

import { learnedWindowOf, statedWindowOf } from "../providers/failure/input-window.js";

/** Token counts are estimates, so a part of the window stays free. */
const SHARE_OF_WINDOW = 0.8;
/** The limit in tokens for a model whose input window is unknown. */
export const DEFAULT_BUDGET = 4_000;

/** The limit in tokens; undefined for a model whose client does not state its input window in `profile`. */
export function statedBudgetOf(model: object): number | undefined {
  const window = statedWindowOf(model);
  return window === undefined ? undefined : shareOf(window);
}

/** The limit, or a smaller one if the model has refused a request as too long. 0, which means no limit, stays. */
export function withinLearned(budget: number, model: object): number {
  const learned = learnedWindowOf(model);
  return learned === undefined || budget === 0 ? budget : Math.min(budget, shareOf(learned));
}

function shareOf(window: number): number {
  return Math.max(Math.floor(window * SHARE_OF_WINDOW), 1);
}
