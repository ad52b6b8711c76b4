/** The page of one thread as data. Pure: it is made from what was read, and nothing else. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { readList } from "../../doctor/examine.js";
import type { ThreadReport } from "../../doctor/finding.js";
import type { NextHistory } from "../../doctor/next-history.js";
import type { StoredThread } from "../../doctor/thread-store.js";
import { isResult } from "../../history/result.js";
import { countTokens } from "../../history/size.js";
import { isUserMessage } from "../../history/summary.js";
import { DIALECT_NAMES, type DialectName } from "../../providers/dialects.js";
import { explainInput, type InputExplanation } from "../../providers/input/explain-input.js";
import { validateHistory } from "../../providers/validate-history.js";
import { printableLine } from "../../shared/text.js";
import { excerptOf, type MessageView, nameIn, type Question, ROLES, viewMessage } from "./message-view.js";
import {
  compareInputs,
  type InputDifference,
  type Novelty,
  type Page,
  pageOf,
  pageWith,
  type RequestForm,
} from "./request-form.js";
import {
  type AlignedRow,
  alignmentOf,
  anchorOf,
  foldRows,
  isOfNote,
  type Mark,
  marksOfStored,
  OR_NOT_STARTED,
  type RowSource,
  type ShownRow,
  sourceOf,
  viewRow,
} from "./rows.js";
import type { Step } from "./steps.js";

/** How many rows a page has. */
const ROWS_PER_PAGE = 100;
/** How many messages that are not sent any more are shown. */
const MOST_GONE = 20;

/** What happens with the messages of the step that is shown. */
export type Moment =
  /** The model was asked with them, or is asked at the moment. */
  | { readonly kind: "asked" }
  /** The latest step: what is sent when the next message of the user comes. */
  | ({ readonly kind: "next" } & Omit<NextHistory, "messages">)
  /** A human is asked. */
  | { readonly kind: "waiting"; readonly questions: readonly Question[]; readonly nodes: readonly string[] }
  /** A run goes on, and does not ask the model at the moment. */
  | { readonly kind: "running"; readonly nodes: readonly string[]; readonly since: string | null }
  /** An earlier step at which the model was not asked, or a thread without messages. */
  | { readonly kind: "silent" };

/** The messages of a summary that are in a store. */
export interface Archive {
  /** Those that were read. */
  readonly messages: readonly BaseMessage[];
  readonly total: number;
  readonly namespace: readonly string[];
}

/** What was read of a thread. */
export interface ThreadReading {
  readonly threadId: string;
  readonly graph: string | undefined;
  readonly updatedAt: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>> | null | undefined;
  readonly report: ThreadReport;
  readonly mendedBy: StoredThread["mendedBy"];
  /** The errors of the tasks that failed last. */
  readonly errors: readonly { readonly node: string; readonly text: string }[];
  /** The steps that were read, the latest first. */
  readonly steps: readonly Step[];
  /** The step that is shown. Undefined for a thread without a readable state. */
  readonly step: Step | undefined;
  readonly isLatest: boolean;
  readonly moment: Moment;
  /** With the messages that the next run adds, if that is the moment. */
  readonly history: readonly BaseMessage[];
  readonly form: RequestForm;
  /** By the id of the summary that covers the messages. */
  readonly archived: ReadonlyMap<string, Archive>;
  /** The request before; undefined if there is none, or if it was not read. */
  readonly before:
    | { readonly step: Step; readonly history: readonly BaseMessage[]; readonly form: RequestForm }
    | undefined;
}

/** A place on the page, with the words for its link. */
export interface Place {
  readonly anchor: string;
  readonly label: string;
}

/** What became of calls and their results, in the order of the messages. */
export interface Story {
  readonly recovered: readonly Place[];
  readonly closed: readonly Place[];
  readonly willBeRecovered: readonly Place[];
  readonly willBeClosed: readonly Place[];
  /** Stored results and values that have no place in a request. */
  readonly unplaced: readonly Place[];
}

export interface StepDifference extends InputDifference {
  readonly to: Step;
  readonly counts: Readonly<Record<Novelty | "gone", number>>;
  readonly goneMessages: readonly { readonly position: number; readonly message: MessageView }[];
}

export interface ThreadView extends Omit<ThreadReading, "before" | "metadata"> {
  readonly title: string;
  readonly explanation: InputExplanation;
  /** The position of each message of the history in the thread, from 1; undefined for one that it gets. */
  readonly positions: readonly (number | undefined)[];
  /** What each provider would refuse of the stored messages. */
  readonly soundness: readonly DialectSoundness[];
  /** How many rules of the dialect the request breaks: 0, unless there is a fault in this library. */
  readonly brokenInRequest: number;
  readonly totals: {
    readonly stored: number;
    readonly sent: number;
    readonly leftOut: number;
    readonly changed: number;
    readonly added: number;
    /** Our estimate for the request. */
    readonly tokens: number;
  };
  readonly difference: StepDifference | undefined;
  readonly story: Story;
  readonly page: Page;
  readonly onlyChanges: boolean;
  readonly rows: readonly ShownRow[];
  /** The page on which a message is, by its anchor: `stored-3`, `sent-2`. */
  readonly pageOfPlace: (anchor: string) => number;
}

/** @param wantedPage The page of rows, from 1; undefined for the last one. */
export function viewThread(
  reading: ThreadReading,
  {
    page: wantedPage,
    onlyChanges = false,
  }: { readonly page?: number | undefined; readonly onlyChanges?: boolean | undefined } = {},
): ThreadView {
  const { history, before, metadata, ...read } = reading;
  const { moment } = read;
  const isAsked = moment.kind === "asked" || moment.kind === "next";
  const explanation = isAsked ? explainInput(history, read.form.options) : unasked(history);
  const difference = isAsked && before !== undefined ? differenceTo(before, explanation.input) : undefined;
  const { added: additions, guessed } = moment.kind === "next" ? moment : NOTHING_NEXT;
  const source = sourceOf({
    history,
    explanation,
    novelty: difference?.novelty,
    additions,
    guessed,
    isAsked,
  });
  const { positions } = source;
  const stored = history.filter((message) => !additions.has(message));
  const all = alignmentOf(source);
  const aligned = onlyChanges ? all.filter((row) => isOfNote(row, source)) : all;
  const page = pageOf(aligned.length, ROWS_PER_PAGE, wantedPage ?? Number.POSITIVE_INFINITY);
  const rows = aligned.slice(page.start, page.end).map((row) => viewRow(row, source));
  const countFate = (fate: string) => explanation.stored.filter((told) => told.fate === fate).length;
  return {
    ...read,
    history,
    title: titleOf(stored, metadata),
    explanation,
    positions,
    soundness: soundnessOf(stored),
    brokenInRequest: validateHistory(explanation.input, read.form.options.dialect).length,
    totals: {
      stored: stored.length,
      sent: explanation.input.length,
      leftOut: isAsked ? countFate("left-out") : 0,
      changed: countFate("changed"),
      added: explanation.added.length + additions.size,
      tokens: explanation.input.reduce((sum, message) => sum + countTokens(message), 0),
    },
    difference,
    story: storyOf(all, source),
    page,
    onlyChanges,
    rows: onlyChanges
      ? rows.map((row) => ({ kind: "row", row }))
      : foldRows(rows, page.number === page.count),
    pageOfPlace: pagesOfPlaces(aligned, source),
  };
}

const NOTHING_NEXT: Omit<NextHistory, "messages"> = { added: new Map(), guessed: new Set() };

/** Nothing is sent. */
function unasked(history: readonly BaseMessage[]): InputExplanation {
  const told = { fate: "sent", inputIndexes: [], reasons: [] } as const;
  return { input: [], stored: history.map(({ id }, index) => ({ ...told, index, id })), added: [] };
}

function differenceTo(
  { step, history, form }: NonNullable<ThreadReading["before"]>,
  input: readonly BaseMessage[],
): StepDifference {
  const sentBefore = explainInput(history, form.options).input;
  const difference = compareInputs(input, sentBefore);
  const count = (wanted: string) => difference.novelty.filter((novelty) => novelty === wanted).length;
  return {
    ...difference,
    to: step,
    counts: {
      same: count("same"),
      new: count("new"),
      changed: count("changed"),
      gone: difference.gone.length,
    },
    goneMessages: difference.gone.slice(0, MOST_GONE).flatMap((place) => {
      const message = sentBefore[place];
      return message === undefined ? [] : [{ position: place + 1, message: viewMessage(message) }];
    }),
  };
}

function pagesOfPlaces(aligned: readonly AlignedRow[], source: RowSource): ThreadView["pageOfPlace"] {
  const pages = new Map<string, number>();
  for (const [index, row] of aligned.entries()) {
    const page = pageWith(index, aligned.length, ROWS_PER_PAGE);
    pages.set(anchorOf(row, source), page);
    for (const place of row.sent) pages.set(`sent-${place + 1}`, page);
  }
  return (anchor) => pages.get(anchor) ?? 1;
}

const UNPLACED: ReadonlySet<string> = new Set(["orphan-result", "duplicate-result", "not-a-message"]);

function storyOf(aligned: readonly AlignedRow[], source: RowSource): Story {
  const { history, explanation, additions } = source;
  const story = {
    recovered: [] as Place[],
    closed: [] as Place[],
    willBeRecovered: [] as Place[],
    willBeClosed: [] as Place[],
    unplaced: [] as Place[],
  };
  for (const row of aligned) {
    const message = row.stored === undefined ? undefined : history[row.stored];
    if (row.stored === undefined || message === undefined) continue;
    const addition = additions.get(message);
    const marks = new Map(marksOfStored(message).map((mark) => [mark.code, mark]));
    const placeholder = marks.get("placeholder");
    const guess = source.guessed.has(message) ? OR_NOT_STARTED : "";
    const cause = placeholder && `${placeholder.word.replace("placeholder", "")}${guess}`;
    const label =
      nameIn(message.name) || (isResult(message) ? "a tool" : (ROLES[message.type] ?? message.type));
    const place = { anchor: anchorOf(row, source), label: `${label}${cause ?? ""}` };
    if (addition === "recovered") story.willBeRecovered.push(place);
    else if (addition === "closed") story.willBeClosed.push(place);
    else if (addition === undefined && placeholder !== undefined) story.closed.push(place);
    else if (addition === undefined && marks.has("recovered")) story.recovered.push(place);
    const reasons = explanation.stored[row.stored]?.reasons ?? [];
    if (reasons.some(({ code }) => UNPLACED.has(code))) story.unplaced.push(place);
  }
  return story;
}

/*
 * What the pages show of a whole thread.
 */

const REPAIRS: ReadonlySet<string> = new Set(["recovered", "placeholder", "made-up"]);

export interface LastRepair {
  readonly mark: Mark;
  /** The position of the message, from 1. */
  readonly position: number;
}

/** The last message that a repair has written; null if there is none. */
export function lastRepairIn(messages: readonly BaseMessage[]): LastRepair | null {
  for (let index = messages.length - 1; index >= 0; index -= 1) {
    const message = messages[index];
    const mark = message && marksOfStored(message).find(({ code }) => REPAIRS.has(code));
    if (mark !== undefined) return { mark, position: index + 1 };
  }
  return null;
}

/** A name for people: what the metadata calls it, or the first words of its user. */
export function titleOf(
  messages: readonly BaseMessage[],
  metadata: Readonly<Record<string, unknown>> | null | undefined,
): string {
  const given = metadata?.["title"];
  if (typeof given === "string" && given.trim() !== "") return printableLine(given.slice(0, 120));
  const first = messages.find(isUserMessage);
  return first === undefined ? "" : excerptOf(first);
}

/*
 * Which providers would take the stored messages as they are.
 */

export interface DialectSoundness {
  readonly dialect: DialectName;
  /** How many rules the messages break. 0: no known rule refuses them. */
  readonly broken: number;
}

/**
 * What each provider family would refuse if the next message of a user came and the stored messages were sent as they
 * are. What is sent is another form of them, which no known rule refuses.
 */
function soundnessOf(messages: readonly BaseMessage[]): readonly DialectSoundness[] {
  const sent = [...messages, new HumanMessage("…")];
  return DIALECT_NAMES.map((dialect) => ({ dialect, broken: validateHistory(sent, dialect).length }));
}

/** The messages of a stored list. Values that are not messages are left out: the doctor names them. */
export function messagesIn(list: readonly unknown[] = []): readonly BaseMessage[] {
  return readList(list).messages.map(({ message }) => message);
}
