/** What a thread has when its user's next message comes: what the next run recovers, closes and sends. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import type { Group } from "../history/group.js";
import { type UnansweredCall, unansweredCalls } from "../history/open-calls.js";
import { reduceMessages } from "../history/reducer/reduce-messages.js";
import { isPlaceholder } from "../history/result.js";
import { addToList, madeOnce } from "../shared/values.js";
import {
  closingResult,
  examineCalls,
  leftoversInPlace,
  mayLackResponse,
  placeLateResults,
  placeMessages,
} from "../threads/ended-runs.js";
import { leftoversOf, readList } from "./examine.js";
import { type StoredThread, valuesOf } from "./thread-store.js";

/** Why the next run puts a message into the history. */
export type Addition = "recovered" | "closed" | "next-message";

export interface NextHistory {
  /** The stored messages and the added ones, in the order in which the model input is made. */
  readonly messages: readonly BaseMessage[];
  /** The messages that the thread does not have yet. */
  readonly added: ReadonlyMap<BaseMessage, Addition>;
  /** Placeholders of calls that may not have started: the store does not tell. The next run knows and says so. */
  readonly guessed: ReadonlySet<BaseMessage>;
}

/**
 * The next request's history, made by the next run's functions from what the doctor examines.
 *
 * @param next The message that the run begins with; null for a list that is sent as it is.
 */
export function nextHistoryOf(thread: StoredThread, next: BaseMessage | null = nextMessage()): NextHistory {
  const stored = readList(valuesOf(thread) ?? []).messages.map(({ message }) => message);
  const leftovers = leftoversOf(thread);
  const given = next === null ? stored : [...stored, next];
  // What an update took over is in the thread, or somebody has removed it since.
  const placed = leftovers.filter(({ fate }) => fate !== "applied");
  const isOfAgent = thread.mendedBy === "middleware" || thread.mendedBy === "nobody";
  const inPlace = mayLackResponse(given) ? leftoversInPlace(given, placed) : [];
  const { update } = placeMessages(given, isOfAgent ? inPlace : placed, next !== null);
  const found = new Map(leftovers.map(({ checkpointId, late }) => [checkpointId, late]));
  const late = next === null ? [] : placeLateResults(given, found).map(({ result }) => result);
  const written = [...update, ...late];
  const history = written.length === 0 ? given : reduceMessages(given, written).messages;
  const calls = examineCalls(unansweredCalls(history).all, leftovers, history);
  const guessed = new Set<BaseMessage>();
  const mayGuess = !isOfAgent && thread.tellsStarts !== true && next !== null;
  const results = calls.map((examined): [UnansweredCall, BaseMessage] => {
    const result = closingResult(examined);
    if (mayGuess && examined.remains === undefined && examined.call.kind !== "invalid") guessed.add(result);
    return [examined, result];
  });
  const messages = withResults(history, results);
  const known = new Set<BaseMessage>(stored);
  const kindOf = (message: BaseMessage): Addition =>
    message === next ? "next-message" : isPlaceholder(message) ? "closed" : "recovered";
  return {
    messages,
    guessed,
    added: new Map(
      messages.filter((message) => !known.has(message)).map((message) => [message, kindOf(message)]),
    ),
  };
}

/** Nobody knows what the user will say. */
export const nextMessage = (): BaseMessage => new HumanMessage({ id: "next-message", content: "…" });

/** Puts each result after its message, before later calls' results. Anything elsewhere stays there. */
function withResults(
  history: readonly BaseMessage[],
  results: readonly (readonly [UnansweredCall, BaseMessage])[],
): BaseMessage[] {
  const messages = [...history];
  /** The results of calls without one, by the index of the message that they precede. */
  const missing = new Map<number, BaseMessage[]>();
  const places = new Map<Group, readonly number[]>();
  for (const [{ group, place }, result] of results) {
    const former = group.answeredAt[place];
    const at = madeOnce(places, group, () => placesOfMissing(group))[place] ?? group.end;
    if (former === undefined) addToList(missing, at, result);
    else if (!isPlaceholder(result)) messages[former] = result;
  }
  if (missing.size === 0) return messages;
  return [...messages.keys(), messages.length].flatMap((at) => [
    ...(missing.get(at) ?? []),
    ...messages.slice(at, at + 1),
  ]);
}

/** For each call, the index after its message and the results of earlier calls that directly follow the message. */
function placesOfMissing({ start, answeredAt }: Group): readonly number[] {
  const earlier = new Set<number | undefined>();
  let at = start + 1;
  return answeredAt.map((answered) => {
    while (earlier.has(at)) at += 1;
    earlier.add(answered);
    return at;
  });
}
