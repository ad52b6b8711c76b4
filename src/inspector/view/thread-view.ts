/** One thread's page as data. Pure: it is made only from what was read. */

import type { BaseMessage } from "@langchain/core/messages";
import type { NextHistory } from "../../doctor/next-history.js";
import { ModelError } from "../../errors.js";
import { MARKS } from "../../history/marks.js";
import { isResult } from "../../history/result.js";
import type { DialectName } from "../../providers/contract/dialect-name.js";
import { readRefusedContent } from "../../providers/failure/refused-content.js";
import { explainPrepared, type InputExplanation } from "../../providers/input/explain-input.js";
import { prepareModelInput } from "../../providers/input/to-model-input.js";
import { mediaOf } from "../../providers/media/media-limits.js";
import { validateHistory } from "../../providers/rules/validate-history.js";
import { nameIn, ROLES, says, titleOf } from "./message-view.js";
import type { ThreadQuery } from "./query.js";
import type { ThreadReading } from "./read-threads.js";
import { differenceTo } from "./request.js";
import { foldRows, isOfNote, type Row, rowsOf } from "./rows.js";

export type ThreadView = ReturnType<typeof viewThread>;

export function viewThread(
  { history, before, metadata, ...read }: ThreadReading,
  { page: wantedPage, only, q = "" }: ThreadQuery,
) {
  const { moment, form } = read;
  const isAsked = moment.kind === "asked" || moment.kind === "next";
  const explanation =
    isAsked && read.isMade ? explainPrepared(history, form.options) : sentAsStored(history, isAsked);
  const { input } = explanation;
  const difference = isAsked && before !== undefined ? differenceTo(before, input) : undefined;
  const next = moment.kind === "next" ? moment : NOTHING_NEXT;
  const stored = history.filter((message) => !next.added.has(message));
  // Nobody knows what the user will say, so it has no row.
  const findings = read.isMade ? [] : read.findings;
  const refused = read.isMade ? [] : refusedMedia(read.errors, history, form.options.dialect);
  const novelty = difference?.novelty;
  const all = rowsOf({ history, explanation, next, novelty, isAsked, findings, refused }).filter(
    ({ message }) => message === undefined || next.added.get(message) !== "next-message",
  );
  const text = q.toLowerCase();
  const hasText = ({ message, sent }: Row) => [message, sent].some((one) => one && says(one, text));
  const wanted = all.filter((row) => (!only || isOfNote(row)) && (text === "" || hasText(row)));
  const page = pageOf(wanted.length, wantedPage ?? Number.POSITIVE_INFINITY);
  const rows = wanted.slice(page.start, page.end);
  const length = isAsked ? prepareModelInput(history, form.options).length : undefined;
  const countFate = (fate: string) => explanation.stored.filter((told) => told.fate === fate).length;
  return {
    ...read,
    history,
    /** Whether a model is or was asked with these messages. If not, there is no request. */
    isAsked,
    title: titleOf(stored, metadata),
    explanation,
    /** How many of the dialect's rules the request breaks: 0, unless this library has a fault. */
    brokenInRequest: isAsked ? validateHistory(input, form.options.dialect).length : 0,
    totals: {
      stored: stored.length,
      sent: input.length,
      leftOut: isAsked ? countFate("left-out") : 0,
      changed: countFate("changed"),
      added: explanation.added.length + next.added.size,
      /** What the provider will count for the request, as far as its reports and our estimate tell. */
      tokens: Math.ceil(length?.tokens ?? 0),
      /** Whether the provider reported a number, which includes the system prompt and the tools. */
      isReported: length?.isReported ?? false,
    },
    difference,
    /** The indexes of the messages whose picture or file the provider refused in the last run. */
    refused,
    story: storyOf(all),
    page,
    /** How many rows there are without the reader's choice. */
    allRows: all.length,
    rows: only || text !== "" ? rows : foldRows(rows, page.number === page.count),
    /** The page on which a message is, by its anchor: `stored-3`, `sent-2`. */
    pageOfPlace: pagesOfPlaces(wanted),
  };
}

const NOTHING_NEXT: Omit<NextHistory, "messages"> = { added: new Map(), guessed: new Set() };

/** An error is stored as a text, which the client of the provider begins with the status. */
function refusedMedia(
  errors: ThreadReading["errors"],
  history: readonly BaseMessage[],
  dialect: DialectName,
): readonly number[] {
  for (const { text, isCancelled } of errors) {
    const [status] = /^\d{3}(?= )/.exec(text) ?? [];
    const error = new ModelError(text, {
      cause: new Error(text),
      status: status ? Number(status) : undefined,
    });
    const content = isCancelled ? undefined : readRefusedContent(error, history, dialect);
    if (content?.kind !== "media") continue;
    const named = new Set(content.named.map(({ fingerprint }) => fingerprint));
    const found = mediaOf(history).filter(({ shown }) => named.size === 0 || named.has(shown.fingerprint));
    return [...new Set(found.map(({ index }) => index))];
  }
  return [];
}

/** What is sent if this library makes no request: everything, or nothing. */
function sentAsStored(history: readonly BaseMessage[], isAsked: boolean): InputExplanation {
  const told = { fate: "sent", reasons: [] } as const;
  const stored = history.map(({ id }, index) => ({
    ...told,
    index,
    inputIndexes: isAsked ? [index] : [],
    id,
  }));
  return { input: isAsked ? [...history] : [], stored, added: [] };
}

/** How many rows a page has. */
const ROWS_PER_PAGE = 100;

/**
 * A page's rows. Pages count from the end, so that the last one is full.
 *
 * @param wanted The page, from 1. A number beyond the last page means the last one.
 */
function pageOf(length: number, wanted: number) {
  const count = Math.max(1, Math.ceil(length / ROWS_PER_PAGE));
  const number = Math.min(wanted, count);
  const end = length - (count - number) * ROWS_PER_PAGE;
  return { number, count, start: Math.max(0, end - ROWS_PER_PAGE), end };
}

function pagesOfPlaces(rows: readonly Row[]): (anchor: string) => number {
  const pages = new Map<string, number>();
  const count = Math.ceil(rows.length / ROWS_PER_PAGE);
  for (const [index, { anchor, sentPosition }] of rows.entries()) {
    const page = count - Math.floor((rows.length - 1 - index) / ROWS_PER_PAGE);
    pages.set(anchor, page).set(`sent-${sentPosition}`, page);
  }
  return (anchor) => pages.get(anchor) ?? 1;
}

/*
 * What became of calls and their results, in message order.
 */

/** A place on the page, with the words for its link. */
export interface PageLink {
  readonly anchor: string;
  readonly label: string;
}

/** A message's mark tells its story. The first of these counts. */
const STORIES = [
  ["will-be-recovered", "willBeRecovered"],
  ["will-be-closed", "willBeClosed"],
  ["placeholder", "closed"],
  ["recovered", "recovered"],
] as const;
const UNPLACED: ReadonlySet<string> = new Set(["orphan-result", "duplicate-result", "not-a-message"]);

function storyOf(rows: readonly Row[]) {
  const story = {
    recovered: [] as PageLink[],
    closed: [] as PageLink[],
    willBeRecovered: [] as PageLink[],
    willBeClosed: [] as PageLink[],
    /** Stored results and values that have no place in a request. */
    unplaced: [] as PageLink[],
    /** How many of the closed calls may have taken effect. */
    unknown: 0,
  };
  for (const { kind, message, anchor, own, fate } of rows) {
    if (message === undefined) continue;
    const marks = new Map(own.map(({ code, word }) => [code, word]));
    const [code = "", told] = STORIES.find(([code]) => marks.has(code)) ?? [];
    const cause = (marks.get(code) ?? "").replace(/^[^:]*/, "");
    const name =
      nameIn(message.name) || (isResult(message) ? "a tool" : (ROLES[message.type] ?? message.type));
    const place = { anchor, label: `${name}${cause}` };
    if (told !== undefined) story[told].push(place);
    if (told?.endsWith("losed") && message.additional_kwargs?.[MARKS.outcome] !== "not-started")
      story.unknown += 1;
    if (kind === "left-out" && fate.some((mark) => UNPLACED.has(mark.code))) story.unplaced.push(place);
  }
  return story;
}
