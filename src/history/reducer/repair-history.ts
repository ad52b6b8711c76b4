import type { BaseMessage } from "@langchain/core/messages";
import { callsOf, countCalls } from "../call.js";
import { withSentCalls } from "../change-calls.js";
import { placeOfCall } from "../group.js";
import { isMessageList, listOf, readMessages } from "../read-messages.js";
import { callIdOf, causeInHistory, createPlaceholder, isResult } from "../result.js";
import { type Arranged, arrangeMessages, type Report } from "./normalize-history.js";
import { createRepair, type Repair } from "./repair.js";

/** What `repairHistory` returns. */
export interface RepairedHistory {
  /** A list that passes every strict check of order and pairing; the same array if it already did. */
  readonly messages: BaseMessage[];
  /** What was changed, in order; empty if the array is the same. */
  readonly repairs: readonly Repair[];
}

/**
 * Repairs any list of messages so that each tool call has exactly one result, directly after its message and
 * in call order. Results are moved to their calls. Orphan results and second results are dropped. A call
 * without a result is closed with a placeholder that says why, as far as that is known. If its message has calls
 * outside `tool_calls`, which not every client sends, a copy with all of them in `tool_calls` takes its place. Each
 * change is reported. Never throws, and does not change any message.
 *
 * @param messages Messages or message-likes, in any order.
 * @example
 * ```ts
 * import { AIMessage, HumanMessage } from "@langchain/core/messages";
 * import { repairHistory } from "langgraph-tether";
 *
 * const { messages, repairs } = repairHistory([
 *   new AIMessage({ content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] }),
 *   new HumanMessage("Are you there?"),
 * ]);
 * console.log(messages.map((message) => message.type)); // [ 'ai', 'tool', 'human' ]
 * console.log(repairs.map((repair) => repair.kind)); // [ 'call-closed' ]
 * ```
 */
export function repairHistory(messages: readonly unknown[]): RepairedHistory {
  const list = listOf(messages);
  const repairs: Repair[] = [];
  const report = (repair: Repair) => void repairs.push(repair);
  const given = arrangeMessages(isMessageList(list) ? list : readMessages(list, report), callsOf, report);
  return { messages: closeCalls(given, report) as BaseMessage[], repairs };
}

/** Adds a placeholder for each call without a result. The same array if all have one. */
function closeCalls({ arranged, groups }: Arranged, report: Report): readonly BaseMessage[] {
  let closed: BaseMessage[] | undefined;
  for (let start = 0, end = 0, group = 0; start < arranged.length; start = end, group += 1) {
    const head = arranged[start] as BaseMessage;
    for (end = start + 1; arranged[end]?.type === "tool"; ) end += 1;
    // As the results are in order, each answers another call.
    if (countCalls(head) === end - start - 1) {
      if (closed !== undefined)
        for (let at = start; at < end; at += 1) closed.push(arranged[at] as BaseMessage);
      continue;
    }
    closed ??= arranged.slice(0, start);
    const sent = withSentCalls(head);
    closed.push(sent);
    const place = { head, start: groups?.[group]?.start ?? start };
    let next = start + 1;
    for (const [index, call] of callsOf(head).entries()) {
      const result = arranged[next];
      if (next < end && result !== undefined && isResult(result) && callIdOf(result) === call.id) {
        closed.push(result);
        next += 1;
        continue;
      }
      const message = createPlaceholder(call, causeInHistory(call, arranged[end]), placeOfCall(place, index));
      closed.push(message);
      report(createRepair({ kind: "call-closed", call, message }));
    }
    if (sent !== head) report(createRepair({ kind: "message-mended", message: head, by: sent }));
  }
  return closed ?? arranged;
}
