/**
 * What a client's input says that its thread does not have: new messages, an edit of a user's message, words under the
 * id of another message, and a late result of a call. Each is answered.
 */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { copyMessage, deriveUnusedId, hasSameWords, REMOVE_ALL_MESSAGES } from "../history/message.js";
import { isIdTaken } from "../history/reducer/taken-ids.js";
import { callIdOf, isPlaceholder, isResult } from "../history/result.js";
import { isUserMessage } from "../history/summary.js";

interface NewWords {
  /** The input's messages, with what must go before them. */
  readonly messages: readonly BaseMessage[];
  /** Whether a message of the thread gets other words. */
  readonly isEdit: boolean;
  /** Whether a call gets a result that the thread does not have, in place of its placeholder. */
  readonly hasLateResult: boolean;
}

/**
 * An edit leaves out what followed the message, unless the client sends that too, or a new message after the edit.
 * Earlier checkpoints keep it. Words under the id of a message that is not a user's get an id of their own, so that this
 * message stays.
 *
 * @param history The messages that the run begins on.
 * @param sent The input's messages. The same list is returned if the thread has none of their ids.
 */
export function newWords(history: readonly BaseMessage[], sent: readonly BaseMessage[]): NewWords {
  const places = new Map(history.map(({ id }, index) => [id, index]));
  const removed = new Set<unknown>();
  let isEdit = false;
  /** Where the first message stands that is edited after the last new one. */
  let edited = history.length;
  const messages = sent.map((message) => {
    if (message.type === "remove") removed.add(message.id);
    const place = isUserMessage(message) && message.id !== undefined ? places.get(message.id) : undefined;
    const isGone = removed.has(message.id) || removed.has(REMOVE_ALL_MESSAGES);
    const stored = place === undefined || isGone ? undefined : history[place];
    // A client that sends its whole list sends a summary as a user's message.
    if (stored !== undefined && hasSameWords(message, stored)) return message;
    if (place === undefined || stored === undefined || !isUserMessage(stored)) {
      if (isUserMessage(message)) edited = history.length;
      return stored === undefined ? message : withOwnId(message, history);
    }
    isEdit = true;
    edited = Math.min(edited, place);
    return message;
  });
  const kept = new Set([...removed, ...sent.map(({ id }) => id)]);
  const removals = history
    .slice(edited + 1)
    .flatMap(({ id }) => (id === undefined || kept.has(id) ? [] : new RemoveMessage({ id })));
  const isChanged = removals.length > 0 || messages.some((message, index) => message !== sent[index]);
  return {
    messages: isChanged ? [...removals, ...messages] : sent,
    isEdit,
    hasLateResult: hasLateResult(history, sent),
  };
}

/** The same id for the same words, so that a client can send them again. */
function withOwnId(message: BaseMessage, history: readonly BaseMessage[]): BaseMessage {
  const isOther = (id: string) =>
    isIdTaken(history, id) && !history.some((one) => one.id === id && hasSameWords(message, one));
  return copyMessage(message, { id: deriveUnusedId(message, message.id ?? "", isOther) });
}

function hasLateResult(history: readonly BaseMessage[], sent: readonly BaseMessage[]): boolean {
  const results = sent.filter((message) => isResult(message) && !isPlaceholder(message)).filter(isResult);
  if (results.length === 0) return false;
  const closed = new Map(history.filter(isResult).map((result) => [callIdOf(result), isPlaceholder(result)]));
  return results.some((result) => closed.get(callIdOf(result)) === true);
}
