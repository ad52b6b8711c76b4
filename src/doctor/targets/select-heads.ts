/** The threads of a database that a selection names, without loading any messages. */

import type { ThreadRef, ThreadSelection } from "../thread-store.js";
import type { Head, ThreadTable } from "./thread-table.js";

const PAGE = 500;
/** Between the beginning of the Gregorian calendar, where the time of a UUID begins, and 1970. */
const GREGORIAN_OFFSET_MS = 12_219_292_800_000;

/** Contract: reads page by page, and keeps one page. */
export async function* selectHeads(
  table: ThreadTable,
  selection: ThreadSelection,
): AsyncGenerator<ThreadRef> {
  const { threadIds, metadata, since, limit = Number.POSITIVE_INFINITY } = selection;
  let chosen: string | undefined;
  let count = 0;
  let after: ThreadRef | undefined;
  for (;;) {
    const heads = await table.heads(after, PAGE, threadIds);
    for (const head of heads) {
      after = head;
      // The subgraphs of a thread directly follow it.
      const isOfChosen = head.threadId === chosen;
      if (!isOfChosen && !(await isSelected(head))) continue;
      if (!isOfChosen) {
        if (count === limit) return;
        count += 1;
        chosen = head.threadId;
      }
      yield { threadId: head.threadId, namespace: head.namespace };
    }
    if (heads.length < PAGE) return;
  }

  async function isSelected(head: Head): Promise<boolean> {
    if (since !== undefined && (timeOf(head.checkpointId) ?? Number.POSITIVE_INFINITY) < since.getTime())
      return false;
    if (metadata === undefined) return true;
    const own = await table.metadataOf(head);
    return Object.entries(metadata).every(([key, value]) => String(own[key]) === value);
  }
}

/** When a checkpoint was made, by its id, which is a UUID of version 6; undefined for another id. */
export function timeOf(checkpointId: string): number | undefined {
  const [, high, middle, low] = /^([0-9a-f]{8})-([0-9a-f]{4})-6([0-9a-f]{3})-/i.exec(checkpointId) ?? [];
  if (high === undefined) return undefined;
  return Number(BigInt(`0x${high}${middle}${low}`) / 10_000n) - GREGORIAN_OFFSET_MS;
}
