import type { OwnState } from "../../settings/schemas/own-state.js";
import type { Leftovers } from "./leftovers.js";

/**
 * What the finished tools of ended runs wrote to own keys of the state, in order: one update for each write. A key
 * without a reducer keeps the value of later input.
 */
export function recoverValues(
  leftovers: readonly Leftovers[],
  { reducedKeys }: OwnState,
): Record<string, unknown>[] {
  return leftovers.flatMap(({ values, rewritten }) =>
    values
      .filter(([key]) => reducedKeys.has(key) || !rewritten.has(key))
      .map(([key, value]) => ({ [key]: value })),
  );
}
