import type { BaseMessage } from "@langchain/core/messages";
import { placeOfCall } from "../calls/group.js";
import { withSentCalls } from "../calls/listed-calls.js";
import { callsOf } from "../messages/call.js";
import { createRepair, type Repair } from "../messages/repair.js";
import { causeInHistory, createPlaceholder } from "../messages/result.js";
import { isMessageList, listOf, readMessages } from "../reading/read-messages.js";
import { arrangeMessages } from "./arrange-messages.js";
import { closeInOrder } from "./close-in-order.js";

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
  const inOrder = closeInOrder(list, report);
  if (inOrder !== undefined) return { messages: inOrder, repairs };
  const isSound = isMessageList(list);
  const repaired = arranged(isSound ? list : readMessages(list, report), report);
  return { messages: repairs.length === 0 && isSound ? list : repaired, repairs };
}

function arranged(given: readonly BaseMessage[], report: (repair: Repair) => void): BaseMessage[] {
  const groups = arrangeMessages(given, callsOf, report);
  return groups.flatMap((group, index) => {
    const { head, calls, results } = group;
    const closed = calls.map((call, place) => {
      const result = results[place];
      if (result !== undefined) return result;
      const cause = causeInHistory(call, groups[index + 1]?.head);
      const message = createPlaceholder(call, cause, placeOfCall(group, place));
      report(createRepair({ kind: "call-closed", call, message }));
      return message;
    });
    const sent = results.includes(undefined) ? withSentCalls(head) : head;
    if (sent !== head) report(createRepair({ kind: "message-mended", message: head, by: sent }));
    return [sent, ...closed];
  });
}
