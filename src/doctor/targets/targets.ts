/** The kinds of places that store threads, as one table. A further kind is a row here, and a file. */

import type { OptionValues } from "commander";
import { listWithOr } from "../../shared/text.js";
import type { ThreadStore } from "../thread-store.js";
import { fileTarget } from "./file-target.js";
import { postgresTarget } from "./postgres-target.js";
import { serverTarget } from "./server-target.js";
import { sqliteTarget } from "./sqlite-target.js";
import { HIDDEN, type OpenContext, type TargetKind, UsageError } from "./target.js";

export const TARGETS: readonly TargetKind[] = [serverTarget, postgresTarget, sqliteTarget, fileTarget];

/**
 * Works with a target's threads, and closes the target after the work.
 *
 * @throws UsageError if the options name no target, several, or one that cannot be opened; and the work's error.
 */
export async function withTarget<Result>(
  options: OptionValues,
  context: OpenContext,
  work: (store: ThreadStore) => Promise<Result>,
): Promise<Result> {
  const store = await targetIn(options).open(options, context);
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

/** @throws UsageError if the options name no target, several, or another target's further options. */
export function targetIn(options: OptionValues): TargetKind {
  const isGiven = ({ option }: TargetKind): boolean => options[option.key] !== undefined;
  const [target, ...others] = TARGETS.filter(isGiven);
  if (target === undefined)
    throw new UsageError(
      `Expected a target: one of ${listWithOr(TARGETS.map(({ option }) => option.flags))}.`,
    );
  const nameOf = ({ option }: TargetKind): string => option.long;
  if (others.length > 0)
    throw new UsageError(`Expected one target, got ${[target, ...others].map(nameOf).join(" and ")}.`);
  for (const option of new Set(TARGETS.flatMap(({ further }) => further)))
    if (options[option.key] !== undefined && !target.further.includes(option)) {
      const owners = TARGETS.filter(({ further }) => further.includes(option)).map(nameOf);
      throw new UsageError(`${option.long} belongs to ${owners.join(" and ")}, not to ${nameOf(target)}.`);
    }
  return target;
}

/** The options that name a receipt's target. Undefined if its name says too little, such as without the password. */
export function optionsForReceipt(target: string): OptionValues | undefined {
  if (target.includes(HIDDEN)) return undefined;
  return TARGETS.map(({ fromReceipt }) => fromReceipt(target)).find((options) => options !== undefined);
}
