/** Checks that each tool call has one result, directly after its message. */

import { callIdOf, isResult } from "../../../history/messages/result.js";
import type { Check, Fault } from "./check.js";
import type { SentMessage } from "./sent-message.js";

export const checkPairing: Check = (messages) => {
  const faults: Fault[] = [];
  let head: SentMessage | undefined;
  let results: SentMessage[] = [];
  for (const sent of messages) {
    if (sent.role === "tool") {
      results.push(sent);
      continue;
    }
    for (const fault of checkGroup(head, results)) faults.push(fault);
    head = sent;
    results = [];
  }
  return faults.concat(checkGroup(head, results));
};

/** @param head Undefined if the results are the first messages. */
function checkGroup(head: SentMessage | undefined, results: readonly SentMessage[]): Fault[] {
  if (head === undefined) return results.map((result) => orphan(result, "system"));
  const faults: Fault[] = [];
  const waiting = new Waiting(head.calls.map(({ id }) => id));
  const answered = new Map<string, number>();
  for (const result of results) {
    const id = idOf(result);
    const former = answered.get(id);
    const order = waiting.answer(id);
    if (order === "later") faults.push({ rule: "result-order", index: result.index, id });
    else if (order === "none" && former === undefined) faults.push(orphan(result, head.role));
    else if (order === "none")
      faults.push({ rule: "duplicate-result", index: former ?? 0, next: result.index, id });
    if (former === undefined) answered.set(id, result.index);
  }
  const ids = waiting.left();
  if (ids.length > 0) {
    const next = head.index + results.length + 1;
    faults.push({ rule: "missing-result", index: head.index, ids, id: ids[0] ?? "", next });
  }
  return faults;
}

/** The calls of one message that have no result yet. */
class Waiting {
  readonly #ids: readonly string[];
  readonly #isAnswered: boolean[] = [];
  /** For each id, the indexes of its calls, the last one first. */
  readonly #places = new Map<string, number[]>();
  #first = 0;

  constructor(ids: readonly string[]) {
    this.#ids = ids;
    for (const [place, id] of [...ids.entries()].reverse()) {
      const sameId = this.#places.get(id);
      if (sameId === undefined) this.#places.set(id, [place]);
      else sameId.push(place);
    }
  }

  /** Answers the first call of this id, and tells whether it is the first of all that wait. */
  answer(id: string): "first" | "later" | "none" {
    const place = this.#places.get(id)?.pop();
    if (place === undefined) return "none";
    while (this.#isAnswered[this.#first]) this.#first += 1;
    this.#isAnswered[place] = true;
    return place === this.#first ? "first" : "later";
  }

  left(): string[] {
    return this.#ids.filter((_, place) => !this.#isAnswered[place]);
  }
}

function orphan(result: SentMessage, role: string): Fault {
  return { rule: "orphan-result", index: result.index, id: idOf(result), name: role };
}

function idOf({ message }: SentMessage): string {
  return isResult(message) ? callIdOf(message) : "";
}
