/** A summary: a human message that stands for earlier messages and names them. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { isRecord } from "../shared/is-record.js";
import { copyMessage } from "./copy-message.js";
import { deriveId } from "./message-id.js";
import { HIDDEN_ID_PREFIX } from "./result.js";

/** The ecosystem's mark of a summary, in `additional_kwargs`. */
const SOURCE_KEY = "lc_source";
const SOURCE = "summarization";
const COVERAGE_KEY = "tether_coverage";

interface Covered {
  readonly messages: readonly string[];
  /** The last message there was when the summary was made: usage numbers from before it speak of a longer input. */
  readonly asOf?: string | undefined;
}

interface Kept extends Covered {
  readonly kind: "keep";
}

interface Archived extends Covered {
  readonly kind: "archive";
  readonly calls: readonly string[];
  /** Those of the calls that had no real result, also of earlier summaries; all, where it is not said. */
  readonly unanswered?: readonly string[] | undefined;
  /** The covered messages and those between them that stayed, in the order of the history. */
  readonly order?: readonly string[] | undefined;
}

/**
 * What a summary covers, by message id and in order. With `"keep"` the covered messages stay in the state before
 * it. With `"archive"` they leave the state in the write that brings the summary; `calls` are the ids of the calls
 * that left with them, so that a result that comes later still has a place.
 */
export type Coverage = Kept | Archived;

/** Its id tells chat UIs not to draw it: it is a human message, and no user wrote it. */
export function createSummary(text: string, coverage: Coverage): HumanMessage {
  const summary = new HumanMessage({
    content: text,
    additional_kwargs: { [SOURCE_KEY]: SOURCE, [COVERAGE_KEY]: coverage },
  });
  return copyMessage(summary, { id: HIDDEN_ID_PREFIX + deriveId(summary, coverage.messages.join("\n")) });
}

/** A message of ours beside a summary, which no user wrote. Part of the model input only. */
export function createSummaryNote(text: string): HumanMessage {
  return new HumanMessage({ content: text, additional_kwargs: { [SOURCE_KEY]: SOURCE } });
}

/** What the message covers; undefined for a message that is no summary, or one that does not name what it covers. */
export function coverageOf(message: BaseMessage): Coverage | undefined {
  if (!isSummaryText(message)) return undefined;
  const value: unknown = message.additional_kwargs[COVERAGE_KEY];
  return isCoverage(value) ? value : undefined;
}

/** Whether a user wrote the message: it is a human message and carries nobody's mark of a summary. */
export function isUserMessage(message: BaseMessage): boolean {
  return message.type === "human" && !isSummaryText(message);
}

/** A state may have been written by anybody: the mark is read only where it is whole. */
function isCoverage(value: unknown): value is Coverage {
  if (!isRecord(value)) return false;
  const { kind, messages, asOf, calls, unanswered, order } = value;
  if (!isTexts(messages) || (asOf !== undefined && typeof asOf !== "string")) return false;
  if (kind === "keep") return true;
  const isWhole = (ids: unknown): boolean => ids === undefined || isTexts(ids);
  return kind === "archive" && isTexts(calls) && isWhole(unanswered) && isWhole(order);
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && [...value].every((item) => typeof item === "string");
}

function isSummaryText(message: BaseMessage): boolean {
  return message.type === "human" && message.additional_kwargs?.[SOURCE_KEY] === SOURCE;
}
