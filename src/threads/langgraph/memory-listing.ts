/** What is the latest checkpoint of a thread in a `MemorySaver`, without reading its messages. */

import { forAllCopies } from "../../shared/for-all-copies.js";
import { isRecord } from "../../shared/values.js";

/** The object that holds a `MemorySaver`'s threads. Other classes can also have a field with this name. */
export function threadsIn(saver: object): Readonly<Record<string, unknown>> | undefined {
  const storage: unknown = Reflect.get(saver, "storage");
  return isRecord(storage) ? storage : undefined;
}

/** A thread's checkpoints in a `MemorySaver`, by id. */
export function checkpointsIn(saver: object, threadId: string | number): object | undefined {
  const thread = threadsIn(saver)?.[threadId];
  const checkpoints = isRecord(thread) ? thread[""] : undefined;
  return isRecord(checkpoints) ? checkpoints : undefined;
}

/**
 * What a listing of checkpoints found, and what this process has written since. A `MemorySaver` can only list all of a
 * thread's checkpoints, and a run checks before each write. So a long thread's listing is reused for ten times as long
 * as it took.
 */
interface Listing {
  latest: string | undefined;
  /** When it was made, from `performance.now()`. */
  since: number;
  /** For how many milliseconds it is reused. */
  readonly lasts: number;
}

/** By the object that holds a thread's checkpoints. */
const listings = forAllCopies("listings", () => new WeakMap<object, Listing>());

export function listingOf(saver: object, threadId: string | number): Listing | undefined {
  const checkpoints = checkpointsIn(saver, threadId);
  return checkpoints && listings.get(checkpoints);
}

/** At least this many checkpoints are listed in a millisecond. */
const LISTED_IN_A_MILLISECOND = 5_000;

/**
 * Whether this is the last id added to a thread in `MemorySaver`, whose `getTuple` would read all messages. The last
 * added checkpoint is the latest, because a run begins after the latest one and checks before each write.
 */
export function isLastAdded(checkpoints: object, id: string): boolean {
  const known = listings.get(checkpoints);
  const since = performance.now();
  if (known?.latest === id && since < known.since + known.lasts) return true;
  const ids = Object.keys(checkpoints);
  const latest = ids.at(-1);
  listings.set(checkpoints, { latest, since, lasts: 10 * Math.floor(ids.length / LISTED_IN_A_MILLISECOND) });
  return latest === id;
}
