/**
 * Puts back what ended runs wrote besides results. `getState` and streams have already shown these messages.
 *
 * - A new message is placed where the reader saw it: after the message that it followed.
 * - A response belongs to its question, the last user message before it. If the input since has edited or removed the
 *   question, the response is left out. With calls and a real result it stays, because the tools had their effect.
 * - A response at the end of the history would end the next turn without a request. There, only a whole one is put
 *   back, and only if it answered the history as it is now. Otherwise the question is asked again.
 * - A response that the client has sent back without its id is not put back a second time.
 * - A message that replaced another does so again, unless the other has changed since.
 * - A removal is repeated. `REMOVE_ALL_MESSAGES` removes what the history had then, and not the new input.
 *
 * With the durability `exit`, a killed run can have saved a result without its call. Such a result has no place in a
 * thread, so it is dropped. An event and a repair keep it, unless a summary stands for the call.
 */

import { type AIMessage, type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { callsOf, isAIMessage } from "../../history/call.js";
import { placeOfCall } from "../../history/group.js";
import { MARKS } from "../../history/marks.js";
import {
  contentText,
  hasSameWords,
  isSameMessage,
  REMOVE_ALL_MESSAGES,
  toPlain,
} from "../../history/message.js";
import { reduceMessages } from "../../history/reducer/reduce-messages.js";
import type { Repair } from "../../history/repair.js";
import { callIdOf, isPlaceholder, isResult, markRecovered, recoveredAfter } from "../../history/result.js";
import { archivedIds, archiveOf, coverageOf, isUserMessage } from "../../history/summary.js";
import type { LateResult } from "../diary.js";
import type { RecoverableRun } from "./leftovers.js";

/**
 * The update that puts the messages back, the history with it, and the results that have no place.
 *
 * @param asksAtOnce Whether the run asks the model before anything else comes, unless its history ends with a response.
 */
export function placeMessages(
  messages: readonly BaseMessage[],
  leftovers: readonly RecoverableRun[],
  asksAtOnce: boolean,
) {
  const refused: OrphanRefused[] = [];
  const passing = new Set<string | undefined>();
  let update: BaseMessage[] = [];
  let current = messages;
  for (const left of leftovers) {
    const { history, written, removed } = left;
    let shown: readonly BaseMessage[] = reduceMessages(history, update).messages;
    let known = byId(shown);
    for (const message of written) {
      const former = known.get(message.id ?? "");
      // A hook of LangChain writes the whole history again.
      if (former !== undefined && isSameMessage(former, message)) continue;
      const { messages: next, repairs } = reduceMessages(shown, [message]);
      for (const repair of repairs)
        if (repair.kind === "orphan-refused" && !isPlaceholder(message)) refused.push(repair);
      const isResponse = isAIMessage(message) && former === undefined;
      const fit = isResponse ? fitOf(message, next, left, current) : "answers";
      if (fit === "passes") passing.add(message.id);
      const isLeftOut = isResult(message) || removed.has(REMOVE_ALL_MESSAGES) || fit === "left-out";
      const changes = isLeftOut
        ? []
        : changesOf(message, shown, next, current).filter(({ id = "" }) => !removed.has(id));
      if (changes.length > 0) current = reduceMessages(current, changes).messages;
      update = [...update, ...changes];
      shown = next;
      known = byId(shown);
    }
  }
  while (asksAtOnce && passing.delete(current.at(-1)?.id)) {
    const last = current.at(-1)?.id;
    update = update.filter(({ id }) => id !== last);
    current = reduceMessages(messages, update).messages;
  }
  // A summary stands for the calls of archived messages.
  const archived = new Set(current.flatMap((message) => archiveOf(message)?.calls ?? []));
  const dropped = refused.filter(({ message }) => !archived.has(callIdOf(message)));
  return { update, current, dropped };
}

export type OrphanRefused = Extract<Repair, { kind: "orphan-refused" }>;

/**
 * What a response is to the thread as it is now. `answers`: it can be the last word of its turn. `passes`: it is put
 * back, but does not answer its question for good. `left-out`: its question is not the same any more, or the client has
 * sent it back.
 *
 * @param next The run's history with the response.
 */
function fitOf(
  response: AIMessage,
  next: readonly BaseMessage[],
  left: RecoverableRun,
  current: readonly BaseMessage[],
): "answers" | "passes" | "left-out" {
  const before = next.slice(
    0,
    Math.max(
      next.findIndex(({ id }) => id === response.id),
      0,
    ),
  );
  const question = before.findLast(isUserMessage);
  if (question === undefined || hasResult(response, left)) return "answers";
  const now = byId(current);
  const archived = archivedIds(current);
  const isAsItWas = (message: BaseMessage): boolean =>
    isResult(message) || archived.has(message.id ?? "") || hasSameWords(message, now.get(message.id ?? ""));
  if (!isAsItWas(question) || isSentBack(response, question, next, current)) return "left-out";
  const isCut = response.additional_kwargs[MARKS.interrupted] !== undefined;
  return isCut || !before.every(isAsItWas) ? "passes" : "answers";
}

/** Whether a tool has returned something for one of the response's calls. */
function hasResult(response: AIMessage, { written, late }: RecoverableRun): boolean {
  const places = new Set(late.map(({ place }) => place));
  const results = written.filter((message) => isResult(message) && !isPlaceholder(message));
  const answered = new Set(results.filter(isResult).map(callIdOf));
  return callsOf(response).some(
    ({ id }, index) => answered.has(id) || places.has(placeOfCall({ head: response }, index)),
  );
}

/**
 * Whether the input has the response under another id, after its question. A client may have read less of it than was
 * sent.
 */
function isSentBack(
  response: AIMessage,
  question: BaseMessage,
  next: readonly BaseMessage[],
  current: readonly BaseMessage[],
): boolean {
  const known = byId(next);
  const text = contentText(response).trim();
  return current.some((message, index) => {
    if (!isAIMessage(message) || known.has(message.id ?? "")) return false;
    const own = contentText(message).trim();
    if (own === "" || !(text.startsWith(own) || own.startsWith(text))) return false;
    return hasSameWords(question, current.slice(0, index).findLast(isUserMessage));
  });
}

/** The update that repeats on `current` what a message did to `shown`. `next` is `shown` after the message. */
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

/** A write to a key of the state. */
export type RecoveredValue = readonly [key: string, value: unknown];

/**
 * What ended runs' finished tasks wrote to own keys, in order, and then what came with late results. A key without a
 * reducer keeps a value that was written since.
 *
 * @param used The recovered results. Of a run's late results, only what came with these counts.
 * @param found The late results of calls that were closed before.
 */
export function recoverValues(
  runs: readonly RecoverableRun[],
  used: ReadonlySet<BaseMessage>,
  found: readonly Pick<LateResult, "values" | "rewritten">[],
  isReduced: (key: string) => boolean,
): RecoveredValue[] {
  const all = runs.map(({ values = [], written, late, rewritten }) => {
    // LangGraph has also saved what some of these tools wrote.
    const saved = new Set(written.filter(isResult).map(callIdOf));
    const isNews = ({ result }: LateResult) => used.has(result) && !saved.has(callIdOf(result));
    return { values: [...values, ...late.filter(isNews).flatMap((one) => one.values)], rewritten };
  });
  return [...all, ...found].flatMap(({ values, rewritten }) =>
    values.filter(([key]) => rewritten?.has(key) !== true || isReduced(key)),
  );
}

/**
 * LangGraph streams each message instance that a node writes. Clients already have the pieces of a response, and would
 * join them with it.
 */
export function asQuietUpdate(message: BaseMessage) {
  return isAIMessage(message) ? toPlain(message) : message;
}
