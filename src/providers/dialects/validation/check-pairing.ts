/**
 * Checks that each tool call has one result, directly after its message, and in the same message for a tool that the
 * provider runs.
 */

import { callIdOf, isResult } from "../../../history/messages/result.js";
import { serverCallId, serverResultId } from "../../../history/messages/server-tools.js";
import { listOf } from "../../../history/reading/read-messages.js";
import { addToList } from "../../../shared/add-to-list.js";
import type { Check, ReportFault } from "./check.js";
import { blockType, type SentMessage } from "./sent-message.js";

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
  checkServerTools(messages, report);
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

/** A response that the provider has paused may end with a call. The next response then begins with its result. */
function checkServerTools(messages: readonly SentMessage[], report: ReportFault): void {
  const open = new Map<string, { readonly index: number; readonly name: string }>();
  for (const { content, role, index } of messages) {
    for (const block of role === "assistant" ? listOf(content) : []) {
      const call = serverCallId(block);
      const answered = serverResultId(block);
      if (call !== undefined) open.set(call, { index, name: String(Reflect.get(Object(block), "name")) });
      if (answered !== undefined && !open.delete(answered))
        report("server-result-without-call", index, { id: answered, name: blockType(block) });
    }
    if (role === "assistant") continue;
    for (const [id, call] of open) report("server-call-without-result", call.index, { id, name: call.name });
    open.clear();
  }
}

function idOf({ message }: SentMessage): string {
  return isResult(message) ? callIdOf(message) : "";
}
