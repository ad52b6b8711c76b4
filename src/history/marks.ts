/**
 * This library's marks in `additional_kwargs`. Code trusts them: a summary hides the messages that it names. So they
 * count only on messages that this library wrote, and are removed from those that a client sends.
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
   * Whether a placeholder's call may be tried again. `not-started`: it may. `unknown` and `failed`: it may have taken
   * effect.
   */
  outcome: "tether_outcome",
  /** A result after which the model is not asked again. */
  endsRun: "tether_ends_run",
  /** The messages that a summary covers. */
  coverage: "tether_coverage",
  /**
   * A message that was recovered from an earlier run. In an update the value names its place: `{ after: id }`. In a
   * history, where the message already has its place, it is `{}`.
   */
  recovered: "tether_recovered",
  /**
   * On a placeholder: where the result of a tool that is still running will be. It names the checkpoint that sent the
   * call, and the call's place.
   */
  sent: "tether_sent",
  /** The text of a response that clients saw before its run was aborted. The value is `true`. */
  interrupted: "tether_interrupted",
  /** A message that came through the thread's inbox. The value is its item's key. */
  steered: "tether_steered",
  /**
   * A response to an input from which something was left out because it was too long. Its usage is not the history's.
   */
  shortened: "tether_shortened",
  /** A message that is only in the model input, with the pictures and files of the results before it. */
  resultMedia: "tether_result_media",
  /** What had to change in a response's input before its model accepted it. The next input begins with it. */
  reduced: "tether_reduced",
  /** A summary's origin. Other LangChain code also uses this mark. */
  source: "lc_source",
} as const;

/** The value of {@link MARKS.source} on a summary. */
export const SUMMARY_SOURCE = "summarization";

const MARK_NAMES: ReadonlySet<string> = new Set(Object.values(MARKS));

export function isMarkName(name: string): boolean {
  return MARK_NAMES.has(name);
}

/** Called for every message of a thread, so it makes no list. */
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

/** A copy of the message with these marks added. */
export function withMarks<T extends BaseMessage>(message: T, marks: Readonly<Record<string, unknown>>): T {
  const additional_kwargs = { ...message.additional_kwargs, ...marks };
  return copyMessage<BaseMessage>(message, { additional_kwargs }) as T;
}

/** The message without marks. A message that has none is returned as it is. */
export function withoutMarks<T extends BaseMessage>(message: T): T {
  if (!hasMark(message.additional_kwargs)) return message;
  const rest = Object.entries(message.additional_kwargs).filter(([name]) => !MARK_NAMES.has(name));
  return copyMessage<BaseMessage>(message, { additional_kwargs: Object.fromEntries(rest) }) as T;
}

/**
 * The message that replaces a stored one, with the stored one's marks. Clients send stored messages back without them.
 * An edited summary keeps its marks; any other edited message does not.
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

export function trustMarked(messages: unknown): void {
  if (!Array.isArray(messages)) return;
  for (const message of messages) if (hasMark(message?.additional_kwargs)) trust(message);
}

export function isTrusted(value: unknown): boolean {
  return typeof value === "object" && value !== null && trusted.has(value);
}

/**
 * Whether the message came through the inbox in the middle of a turn, and so belongs to that turn. After a response
 * without calls such a message begins a turn.
 */
export function joinsTurn(messages: readonly BaseMessage[], index: number): boolean {
  const before = messages[index - 1];
  const isSteered = messages[index]?.additional_kwargs?.[MARKS.steered] !== undefined;
  return isSteered && before !== undefined && before.type !== "ai";
}
