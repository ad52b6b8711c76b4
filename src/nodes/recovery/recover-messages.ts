import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { isSameMessage } from "../../history/messages/clone-message.js";
import { markRecovered, recoveredAfter } from "../../history/messages/recovered.js";
import { REMOVE_ALL_MESSAGES } from "../../history/messages/remove-all-messages.js";
import type { Repair } from "../../history/messages/repair.js";
import { callIdOf, isPlaceholder, isResult } from "../../history/messages/result.js";
import { coverageOf } from "../../history/messages/summary.js";
import { toPlain } from "../../history/messages/to-plain.js";
import { publishRepairs } from "../../history/reducer/paired-messages.js";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import { emitEvent } from "../run/agent-event.js";
import type { Leftovers } from "./leftovers.js";

/**
 * The update that gives a thread the messages of ended runs, besides results. A reader of the thread has seen them:
 * `getState` shows the writes of finished tasks.
 *
 * - A new message is placed where the reader saw it: after the message that it followed.
 * - A message that replaced another one does so again, unless the other one has changed since.
 * - A removal is repeated. `REMOVE_ALL_MESSAGES` removes what the history had then, and not the new input.
 *
 * With the durability `exit`, a killed run can have saved a result and not its call. Such a result has no place in any
 * thread, so it is dropped, and an event and a repair have it.
 */
export function recoverMessages(
  messages: readonly BaseMessage[],
  leftovers: readonly Leftovers[],
  config: LangGraphRunnableConfig,
): BaseMessage[] {
  const update: BaseMessage[] = [];
  let current = messages;
  for (const { history, written, removed } of leftovers) {
    let shown: readonly BaseMessage[] = reduce(history, update);
    for (const message of written) {
      const { messages: next, repairs } = reduceMessages(shown, [message]);
      for (const repair of repairs)
        if (repair.kind === "orphan-refused" && !isPlaceholder(message)) tellDropped(repair, config);
      const changes = isResult(message)
        ? []
        : changesOf(message, shown, next, current).filter(isWanted(removed));
      if (changes.length > 0) current = reduce(current, changes);
      update.push(...changes);
      shown = next;
    }
  }
  return update;
}

function tellDropped(repair: Extract<Repair, { kind: "orphan-refused" }>, config: LangGraphRunnableConfig) {
  const { message } = repair;
  publishRepairs([repair]);
  emitEvent(config, { type: "result-dropped", callId: callIdOf(message), message: toPlain(message) });
}

/** Whether no later input removed the message. A removal of one that is gone changes nothing. */
function isWanted(removed: ReadonlySet<string>) {
  const isAllRemoved = removed.has(REMOVE_ALL_MESSAGES);
  return ({ id = "" }: BaseMessage): boolean => !isAllRemoved && !removed.has(id);
}

function reduce(history: readonly BaseMessage[], update: readonly BaseMessage[]): readonly BaseMessage[] {
  return reduceMessages(history, update).messages;
}

/** What a message that led from one history to the next means for the current history. */
function changesOf(
  message: BaseMessage,
  shown: readonly BaseMessage[],
  next: readonly BaseMessage[],
  current: readonly BaseMessage[],
): BaseMessage[] {
  const now = byId(current);
  const before = byId(shown);
  if (RemoveMessage.isInstance(message)) {
    const removed = message.id === REMOVE_ALL_MESSAGES ? [...before.keys()] : [message.id ?? ""];
    return removed.filter((id) => before.has(id) && now.has(id)).map((id) => new RemoveMessage({ id }));
  }
  const former = before.get(message.id ?? "");
  if (former !== undefined) {
    return isSameMessage(now.get(message.id ?? ""), former) && !isSameMessage(former, message)
      ? [message]
      : [];
  }
  const index = next.findIndex(({ id }) => !before.has(id ?? ""));
  const placed = next[index];
  if (placed === undefined || now.has(placed.id ?? "")) return [];
  if (coverageOf(placed) !== undefined || now.has(recoveredAfter(placed) ?? "")) return [placed];
  const follows = next.slice(0, index).findLast((earlier) => !isResult(earlier) && now.has(earlier.id ?? ""));
  return [markRecovered(placed, follows?.id ?? "")];
}

function byId(messages: readonly BaseMessage[]): ReadonlyMap<string, BaseMessage> {
  return new Map(messages.map((message) => [message.id ?? "", message]));
}
