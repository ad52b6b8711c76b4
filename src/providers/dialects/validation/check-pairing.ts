/** Checks that each tool call has one result, directly after its message. */

import { callIdOf, isResult } from "../../../history/messages/result.js";
import { addToList } from "../../../shared/add-to-list.js";
import type { Check, ReportFault } from "./check.js";
import type { SentMessage } from "./sent-message.js";

export const checkPairing: Check = (messages, _dialect, report) => {
  let head: SentMessage | undefined;
  let results: SentMessage[] = [];
  for (const sent of messages) {
    if (sent.role === "tool") {
      results.push(sent);
      continue;
    }
    checkGroup(head, results, report);
    head = sent;
    results = [];
  }
  checkGroup(head, results, report);
};

/** @param head Undefined if the results are the first messages. */
function checkGroup(
  head: SentMessage | undefined,
  results: readonly SentMessage[],
  report: ReportFault,
): void {
  const ids = head?.calls.map(({ id }) => id) ?? [];
  /** For each id, the places of its calls without a result, the last one first. */
  const waiting = new Map<string, number[]>();
  for (const [place, id] of [...ids.entries()].reverse()) addToList(waiting, id, place);
  const isAnswered: boolean[] = [];
  const answered = new Map<string, number>();
  let first = 0;
  for (const result of results) {
    const id = idOf(result);
    const former = answered.get(id);
    const place = waiting.get(id)?.pop();
    if (place !== undefined) {
      while (isAnswered[first]) first += 1;
      isAnswered[place] = true;
      if (place !== first) report("result-order", result.index, { id });
    } else if (head !== undefined && former !== undefined) {
      report("duplicate-result", former, { next: result.index, id });
    } else {
      report("orphan-result", result.index, { id, name: head?.role ?? "system" });
    }
    if (former === undefined) answered.set(id, result.index);
  }
  const left = ids.filter((_, place) => !isAnswered[place]);
  if (head === undefined || left[0] === undefined) return;
  const next = head.index + results.length + 1;
  report("missing-result", head.index, { ids: left.join(", "), id: left[0], next });
}

function idOf({ message }: SentMessage): string {
  return isResult(message) ? callIdOf(message) : "";
}
