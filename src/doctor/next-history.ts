/** What a thread has when its user's next message comes: what the next run recovers, closes and sends. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { reduceMessages } from "../history/reducer/reduce-messages.js";
import { isPlaceholder, isResult } from "../history/result.js";
import { type Recovery, recover } from "../threads/ended-runs/recover.js";
import { leftoversOf, readList } from "./examine.js";
import { type StoredThread, storedListOf } from "./thread-store.js";

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
  const stored = readList(storedListOf(thread) ?? []).messages.map(({ message }) => message);
  const given = next === null ? stored : [...stored, next];
  const { messages: written, calls } = nextRecovery(thread, given, next !== null);
  // The reducer copies messages that another graph stored in another form.
  const sound = written.length === 0 ? given : reduceMessages(given, []).messages;
  const messages = written.length === 0 ? given : reduceMessages(sound, written).messages;
  const mayGuess = !isOfAgent(thread) && thread.tellsStarts !== true && next !== null;
  const guessed = calls.flatMap(({ call, remains, result }) =>
    mayGuess && remains === undefined && call.kind !== "invalid" ? (result ?? []) : [],
  );
  const known = new Set<BaseMessage>(sound);
  const kindOf = (message: BaseMessage): Addition =>
    message === next ? "next-message" : isPlaceholder(message) ? "closed" : "recovered";
  return {
    messages,
    guessed: new Set(guessed),
    added: new Map(
      messages
        .filter((message) => message === next || !known.has(message))
        .map((message) => [message, kindOf(message)]),
    ),
  };
}

/**
 * What the next run recovers.
 *
 * @param hasInput Whether the run begins with a message. Otherwise it continues the thread.
 */
export function nextRecovery(
  thread: StoredThread,
  history: readonly BaseMessage[],
  hasInput: boolean,
): Recovery {
  // What an update took over is in the thread, or somebody has removed it since. A result is never left out.
  const runs = leftoversOf(thread).map((run) =>
    run.fate === "applied" ? { ...run, written: run.written.filter(isResult) } : run,
  );
  const late = new Map(runs.map((run) => [run.checkpointId, run.late]));
  return recover(history, hasInput ? { runs, late } : { runs }, {
    putsBack: isOfAgent(thread) ? "in-place" : "all",
    asksAtOnce: hasInput,
  });
}

/** Whether LangChain or LangGraph runs the thread. */
const isOfAgent = ({ repairedBy }: StoredThread): boolean =>
  repairedBy === "middleware" || repairedBy === "nobody";

/** Nobody knows what the user will say. */
export const nextMessage = (): BaseMessage => new HumanMessage({ id: "next-message", content: "…" });
