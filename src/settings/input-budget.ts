/** The limit of a model input, above which it is summarised. */

import { learnedWindowOf, windowOf } from "../providers/failure/input-window.js";

/** Token counts are estimates, so a part of the window stays free. */
const SHARE_OF_WINDOW = 0.8;

/** The limit in tokens. Undefined for a model that states no input window, and has refused no request as too long. */
export function budgetOf(model: object): number | undefined {
  const window = windowOf(model);
  return window === undefined ? undefined : shareOf(window);
}

/** A limit that is set, or a smaller one if the model has refused a request as too long. 0, which means no limit, stays. */
export function withinLearned(budget: number, model: object): number {
  const learned = learnedWindowOf(model);
  return learned === undefined || budget === 0 ? budget : Math.min(budget, shareOf(learned));
}

function shareOf(window: number): number {
  return Math.max(Math.floor(window * SHARE_OF_WINDOW), 1);
}
