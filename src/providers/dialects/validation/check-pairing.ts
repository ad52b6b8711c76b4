/** Checks that each tool call has one result, directly after its message. */

import { callIdOf, isResult } from "../../../history/messages/result.js";
import type { Check, Fault } from "./check.js";
import type { SentMessage } from "./sent-message.js";

export const checkPairing: Check = (messages) => {
  const faults: Fault[] = [];
  for (const [index, head] of messages.entries()) {
    if (head.role === "tool") continue;
    faults.push(...checkGroup(head, resultsBehind(messages, index)));
  }
  const first = messages.findIndex(({ role }) => role !== "tool");
  const leading = first < 0 ? messages : messages.slice(0, first);
  return [...leading.map((result) => orphan(result, "system")), ...faults];
};

function checkGroup(head: SentMessage, results: readonly SentMessage[]): Fault[] {
  const faults: Fault[] = [];
  const waiting = head.calls.map(({ id }) => id);
  const answered: { readonly id: string; readonly index: number }[] = [];
  for (const result of results) {
    const id = idOf(result);
    const place = waiting.indexOf(id);
    const former = answered.find((one) => one.id === id);
    if (place > 0) faults.push({ rule: "result-order", index: result.index, id });
    if (place >= 0) waiting.splice(place, 1);
    else if (former === undefined) faults.push(orphan(result, head.role));
    else faults.push({ rule: "duplicate-result", index: former.index, next: result.index, id });
    answered.push({ id, index: result.index });
  }
  if (waiting.length > 0) {
    const next = head.index + results.length + 1;
    faults.push({ rule: "missing-result", index: head.index, ids: waiting, id: waiting[0] ?? "", next });
  }
  return faults;
}

function orphan(result: SentMessage, role: string): Fault {
  return { rule: "orphan-result", index: result.index, id: idOf(result), name: role };
}

function idOf({ message }: SentMessage): string {
  return isResult(message) ? callIdOf(message) : "";
}

function resultsBehind(messages: readonly SentMessage[], index: number): SentMessage[] {
  const end = messages.findIndex(({ role }, place) => place > index && role !== "tool");
  return messages.slice(index + 1, end < 0 ? undefined : end);
}
