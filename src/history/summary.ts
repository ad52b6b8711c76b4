/** A summary: a human message that replaces earlier messages in the model input and names them. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { isRecord } from "../shared/values.js";
import { MARKS, SUMMARY_SOURCE } from "./marks.js";
import { copyMessage, deriveId } from "./message.js";
import { type AwaitedCall, HIDDEN_ID_PREFIX } from "./result.js";

interface Covered {
  readonly messages: readonly string[];
  /** The last message when the summary was made. Usage numbers from before it describe a longer input. */
  readonly asOf?: string | undefined;
}

interface Kept extends Covered {
  readonly kind: "keep";
}

/** A covered call whose tool may still return. */
export interface ArchivedCall extends AwaitedCall {
  /** How many user messages came after its placeholder, up to the summary. If absent, none. */
  readonly turns?: number | undefined;
}

export interface Archived extends Covered {
  readonly kind: "archive";
  /** The id of a saved checkpoint of the thread. Its messages include all that are covered, in order. */
  readonly checkpoint: string;
  readonly calls: readonly string[];
  /** The entries in `calls` without a real result, including calls of earlier summaries. If absent, all of `calls`. */
  readonly unanswered?: readonly string[] | undefined;
  /** The calls whose tools may still return, including those of earlier summaries. If absent, none. */
  readonly awaited?: readonly ArchivedCall[] | undefined;
}

/**
 * The messages that a summary covers, by id and in order. `"keep"`: they stay in the state, before the summary.
 * `"archive"`: they leave the state in the write that adds the summary, and a checkpoint still has them. `calls` are
 * the ids of the calls that left, so that their late results still have a place.
 */
export type Coverage = Kept | Archived;

/** The id hides the summary in chat UIs, because it is a human message that no user wrote. */
export function createSummary(text: string, coverage: Coverage): HumanMessage {
  const summary = new HumanMessage({
    content: text,
    additional_kwargs: { [MARKS.source]: SUMMARY_SOURCE, [MARKS.coverage]: coverage },
  });
  return copyMessage(summary, { id: HIDDEN_ID_PREFIX + deriveId(summary, coverage.messages.join("\n")) });
}

/** A message about summarised content that this library wrote. It is only in the model input. */
export function createSummaryNote(text: string): HumanMessage {
  return new HumanMessage({ content: text, additional_kwargs: { [MARKS.source]: SUMMARY_SOURCE } });
}

/** What the message covers. Undefined if it is not a summary, or does not name what it covers. */
export function coverageOf(message: BaseMessage): Coverage | undefined {
  if (!isSummaryText(message)) return undefined;
  const value: unknown = message.additional_kwargs[MARKS.coverage];
  return isCoverage(value) ? value : undefined;
}

/** What a summary has archived. Undefined for every other message. */
export function archiveOf(message: BaseMessage | undefined): Archived | undefined {
  const coverage = message && coverageOf(message);
  return coverage?.kind === "archive" ? coverage : undefined;
}

/** The ids that a history's summaries have archived, without those that earlier summaries inside them name. */
export function archivedIds(history: readonly BaseMessage[]): ReadonlySet<string> {
  return new Set(history.flatMap((message) => archiveOf(message)?.messages ?? []));
}

/** The prefix of an archived message's id if a later one in its thread has the same id. */
export const EARLIER = "earlier:";
const EARLIER_IDS = new RegExp(`^(?:${EARLIER})+`);

/**
 * Copies of archived messages among those that an input appended to a history. A client that sends its whole list each
 * time would bring them back. A summary names only what it covers itself, and everything before that in the list is
 * older. So everything up to the last named message is a copy. The exceptions are system messages, which no summary
 * covers, and messages without an id, which no thread has.
 *
 * @param appended What an input appended. Contract: no model or tool wrote any of it, because their ids can repeat.
 */
export function findReturned<Message extends BaseMessage>(
  appended: readonly Message[],
  history: readonly BaseMessage[],
): ReadonlySet<Message> {
  const archived = archivedIds(history);
  const end = appended.findLastIndex(({ id = "" }) => archived.has(id.replace(EARLIER_IDS, ""))) + 1;
  return new Set(appended.slice(0, end).filter(({ id, type }) => id !== undefined && type !== "system"));
}

/** Whether a user wrote the message: a human message without a summary's mark. */
export function isUserMessage(message: BaseMessage): boolean {
  return message.type === "human" && !isSummaryText(message);
}

/** Anyone can write to a state, so the mark counts only if it is complete. */
function isCoverage(value: unknown): value is Coverage {
  if (!isRecord(value)) return false;
  const { kind, messages, asOf, checkpoint, calls, unanswered, awaited = [] } = value;
  if (!isTexts(messages) || (asOf !== undefined && typeof asOf !== "string")) return false;
  if (kind === "keep") return true;
  const hasCalls = isTexts(calls) && (unanswered === undefined || isTexts(unanswered));
  return kind === "archive" && typeof checkpoint === "string" && hasCalls && isAwaited(awaited);
}

function isAwaited(value: unknown): boolean {
  if (!Array.isArray(value)) return false;
  return value.every((call) => {
    if (!isRecord(call)) return false;
    const { checkpoint, place, callId, turns = 0 } = call;
    return isTexts([checkpoint, place, callId]) && Number.isSafeInteger(turns) && Number(turns) >= 0;
  });
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && [...value].every((item) => typeof item === "string");
}

function isSummaryText(message: BaseMessage): boolean {
  return message.type === "human" && message.additional_kwargs?.[MARKS.source] === SUMMARY_SOURCE;
}
