/** Makes a list of messages sound, outside any graph. */

import type { BaseMessage } from "@langchain/core/messages";
import { InvalidMessageError } from "../../errors.js";
import { callsOf } from "../call.js";
import { withSentCalls } from "../change-calls.js";
import { type Group, placeOfCall } from "../group.js";
import { isMessage, isMessageList, listOf, readMessages } from "../read-messages.js";
import { createRepair, type NoteRepair, type Repair } from "../repair.js";
import { causeInHistory, createPlaceholder } from "../result.js";
import { arrangeMessages } from "./normalize-history.js";

/** What `repairHistory` returns. */
export interface RepairedHistory {
  /** A list that passes every strict check of order and pairing; the same array if it already did. */
  readonly messages: BaseMessage[];
  /** What was changed, in order; empty if the array is the same. */
  readonly repairs: readonly Repair[];
}

/**
 * Repairs any list of messages so that each tool call has exactly one result, directly after its message and in call
 * order. Results move to their calls. Orphan results and second results are dropped. A call without a result gets a
 * placeholder that says why, if that is known. Calls outside `tool_calls` move there, in a copy of their message. Each
 * change is reported. The given messages do not change.
 *
 * @param messages Messages or message-likes, in any order.
 * @throws InvalidMessageError only for a value that is not a list.
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
  const list = listIn(messages);
  const repairs: Repair[] = [];
  const report = (repair: Repair) => void repairs.push(repair);
  const read = isMessageList(list) ? list : readMessages(list, report);
  const { arranged, groups } = arrangeMessages(read, callsOf, report);
  const closed = withPlaceholders(groups, report);
  return { messages: (closed.length > arranged.length ? closed : arranged) as BaseMessage[], repairs };
}

/** @throws InvalidMessageError for a value that is not a list. */
function listIn(messages: unknown): readonly unknown[] {
  const list = listOf(messages);
  if (list === messages) return list;
  const hint = Array.isArray(Object(messages).messages)
    ? " Did you mean its `messages`?"
    : isMessage(messages)
      ? " Did you mean `[message]`?"
      : "";
  throw new InvalidMessageError("messages", messages, "a list of messages", hint);
}

/** The list that the groups describe, with a placeholder for each call without a result. */
function withPlaceholders(groups: readonly Group[], report: NoteRepair): BaseMessage[] {
  const closed: BaseMessage[] = [];
  for (const [position, group] of groups.entries()) {
    const { head, calls, results } = group;
    const sent = results.includes(undefined) ? withSentCalls(head) : head;
    closed.push(sent);
    for (const [index, call] of calls.entries()) {
      const result = results[index];
      if (result !== undefined) {
        closed.push(result);
        continue;
      }
      const cause = causeInHistory(call, groups[position + 1]?.head);
      const message = createPlaceholder(call, cause, placeOfCall(group, index));
      closed.push(message);
      report(createRepair({ kind: "call-closed", call, message }));
    }
    if (sent !== head) report(createRepair({ kind: "message-repaired", message: head, by: sent }));
  }
  return closed;
}
