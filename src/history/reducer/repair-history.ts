import type { BaseMessage } from "@langchain/core/messages";
import { type Group, placeOfCall } from "../calls/group.js";
import { isPairedList } from "../following/survey.js";
import { callsOf } from "../messages/call.js";
import { createRepair, type Repair } from "../messages/repair.js";
import { causeInHistory, createPlaceholder } from "../messages/result.js";
import { isMessageList, listOf, readMessages } from "../reading/read-messages.js";
import { arrangeMessages } from "./arrange-messages.js";

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
 * without a result is closed with a placeholder that says why, as far as that is known. Each change is
 * reported. Never throws, and does not change any message.
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
  if (isPairedList(list)) return { messages: list, repairs: [] };
  const repairs: Repair[] = [];
  const report = (repair: Repair): void => {
    repairs.push(repair);
  };
  const isSound = isMessageList(list);
  const given = isSound ? list : readMessages(list, report);
  const groups = arrangeMessages(given, callsOf, report);
  const repaired = groups.flatMap((group, index) => closeGroup(group, groups[index + 1], report));
  return { messages: repairs.length === 0 && isSound ? given : repaired, repairs };
}

function closeGroup(group: Group, next: Group | undefined, report: (repair: Repair) => void): BaseMessage[] {
  const messages: BaseMessage[] = [group.head];
  for (const [index, call] of group.calls.entries()) {
    const result = group.results[index];
    if (result !== undefined) {
      messages.push(result);
      continue;
    }
    const message = createPlaceholder(call, causeInHistory(call, next?.head), placeOfCall(group, index));
    report(createRepair({ kind: "call-closed", call, message }));
    messages.push(message);
  }
  return messages;
}
