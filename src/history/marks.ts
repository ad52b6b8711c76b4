/**
 * The marks of this library in `additional_kwargs`. Code trusts them: a summary hides the messages that it names. So
 * they count only on messages that this library wrote, and are taken off those that a client sends.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { forAllCopies } from "../shared/for-all-copies.js";
import { toJson } from "../shared/json.js";
import { isRecord } from "../shared/values.js";
import { copyMessage } from "./message.js";

export const MARKS = {
  /** A result that was written because none was recorded. The value is the cause. */
  placeholder: "tether_placeholder",
  /**
   * Beside it, whether the call may be tried again. `not-started`: it may. `unknown` and `failed`: it may have taken
   * effect.
   */
  outcome: "tether_outcome",
  /** A result after which the model is not asked again. */
  endsRun: "tether_ends_run",
  /** The messages that a summary covers. */
  coverage: "tether_coverage",
  /**
   * A message that was recovered from an earlier run. In an update the value names its place: `{ after: id }`. In a
   * history, where the message has its place, it is `{}`.
   */
  recovered: "tether_recovered",
  /**
   * Beside the mark of a placeholder, where the result of a tool that is still running will be: the checkpoint that sent
   * its call, and the place of the call.
   */
  sent: "tether_sent",
  /** The text of a response that clients were shown before its run was aborted. The value is `true`. */
  interrupted: "tether_interrupted",
  /** A message that came through the inbox of the thread. The value is the key of its item. */
  steered: "tether_steered",
  /** A response to an input from which something was left out because it was too long. Its usage is not that of the history. */
  shortened: "tether_shortened",
  /** A message that is only in the model input, with pictures and files of the results before it. */
  resultMedia: "tether_result_media",
  /** What had to be changed in the input of a response before its model accepted it. The next input begins with it. */
  reduced: "tether_reduced",
  /** The origin of a summary. Other LangChain code uses this mark too. */
  source: "lc_source",
} as const;

/** The value of {@link MARKS.source} on a summary. */
export const SUMMARY_SOURCE = "summarization";

const MARK_NAMES: ReadonlySet<string> = new Set(Object.values(MARKS));

/** Asked for every message of a thread, so it makes no list. */
function hasMark(kwargs: unknown): boolean {
  if (!isRecord(kwargs)) return false;
  for (const name in kwargs) if (MARK_NAMES.has(name) && kwargs[name] !== undefined) return true;
  return false;
}

function marksOf({ additional_kwargs }: BaseMessage): [string, unknown][] {
  return Object.values(MARKS).flatMap((name) => {
    const value: unknown = additional_kwargs?.[name];
    return value === undefined ? [] : [[name, value]];
  });
}

/** A copy of the message with these marks, besides those that it has. */
export function withMarks<T extends BaseMessage>(message: T, marks: Readonly<Record<string, unknown>>): T {
  const additional_kwargs = { ...message.additional_kwargs, ...marks };
  return copyMessage<BaseMessage>(message, { additional_kwargs }) as T;
}

/** The message without marks. A message without any is returned as it is. */
export function withoutMarks<T extends BaseMessage>(message: T): T {
  if (!hasMark(message.additional_kwargs)) return message;
  const rest = Object.entries(message.additional_kwargs).filter(([name]) => !MARK_NAMES.has(name));
  return copyMessage<BaseMessage>(message, { additional_kwargs: Object.fromEntries(rest) }) as T;
}

/**
 * The message that replaces a stored one, with the marks of the stored one. Clients send stored messages back, and
 * their marks were taken off. An edited summary keeps its marks. Any other edited message does not.
 */
export function withStoredMarks<T extends BaseMessage>(message: T, stored: BaseMessage | undefined): T {
  if (stored === undefined || stored.type !== message.type || marksOf(message).length > 0) return message;
  const marks = marksOf(stored);
  if (marks.length === 0) return message;
  const isSummary = stored.additional_kwargs?.[MARKS.coverage] !== undefined;
  if (!isSummary && toJson(message.content) !== toJson(stored.content)) return message;
  return withMarks(message, Object.fromEntries(marks));
}

const trusted = /* @__PURE__ */ forAllCopies("trusted", () => new WeakSet<object>());

/** Remembers a value that this library returned, so that its marks count if a program sends it back. */
export function trust<T extends object>(value: T): T {
  trusted.add(value);
  return value;
}

/** Remembers those of the messages that have marks. */
export function trustMarked(messages: unknown): void {
  if (!Array.isArray(messages)) return;
  for (const message of messages) if (hasMark(message?.additional_kwargs)) trust(message);
}

export function isTrusted(value: unknown): boolean {
  return typeof value === "object" && value !== null && trusted.has(value);
}

/**
 * Whether the message came through the inbox in the middle of a turn, so that it is about the work of that turn. After a
 * response without calls such a message begins a turn.
 */
export function joinsTurn(messages: readonly BaseMessage[], index: number): boolean {
  const before = messages[index - 1];
  const isSteered = messages[index]?.additional_kwargs?.[MARKS.steered] !== undefined;
  return isSteered && before !== undefined && before.type !== "ai";
}
