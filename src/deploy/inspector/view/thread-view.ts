/** The page of one thread as data. Pure: it is made from what was read, and nothing else. */

import type { BaseMessage } from "@langchain/core/messages";
import type { ThreadReport } from "../../../doctor/finding.js";
import { countTokens } from "../../../history/size.js";
import { explainInput, type InputExplanation } from "../../../providers/input/explain-input.js";
import { validateHistory } from "../../../providers/validate-history.js";
import type { AlignedRow } from "./align-rows.js";
import { compareInputs, type InputDifference } from "./compare-inputs.js";
import { foldRows, type ShownRow } from "./fold-rows.js";
import type { Mark } from "./mark.js";
import { type MessageView, viewMessage } from "./message-view.js";
import { type Page, pageOf, pageWith } from "./pages.js";
import type { RequestForm } from "./request-form.js";
import { alignmentOf, marksOfRow, type RowSource, viewRow } from "./rows.js";
import { type DialectSoundness, soundnessOf } from "./soundness.js";
import type { Step } from "./steps.js";
import { titleOf } from "./thread-parts.js";

/** How many rows a page has. */
const ROWS_PER_PAGE = 100;
/** How many places of a mark are linked. */
const MOST_PLACES = 12;
/** How many messages that are not sent any more are shown. */
const MOST_GONE = 20;

/** What was read of a thread. */
export interface ThreadReading {
  readonly threadId: string;
  readonly graph: string | undefined;
  readonly updatedAt: string | undefined;
  readonly metadata: Readonly<Record<string, unknown>> | null | undefined;
  readonly report: ThreadReport;
  /** The steps that were read, the latest first. */
  readonly steps: readonly Step[];
  /** The step that is shown. Undefined for a thread without a readable state. */
  readonly step: Step | undefined;
  readonly isLatest: boolean;
  readonly history: readonly BaseMessage[];
  readonly form: RequestForm;
  /** The request before; undefined if there is none, or if it was not read. */
  readonly before:
    | { readonly step: Step; readonly history: readonly BaseMessage[]; readonly form: RequestForm }
    | undefined;
}

/** Where the messages with a mark are. */
export interface MarkPlaces {
  readonly mark: Mark;
  readonly count: number;
  readonly places: readonly { readonly page: number; readonly anchor: string; readonly label: string }[];
}

export interface StepDifference extends InputDifference {
  readonly to: Step;
  readonly counts: {
    readonly same: number;
    readonly new: number;
    readonly changed: number;
    readonly gone: number;
  };
  readonly goneMessages: readonly { readonly position: number; readonly message: MessageView }[];
}

export interface ThreadView extends Omit<ThreadReading, "before" | "metadata"> {
  readonly title: string;
  readonly explanation: InputExplanation;
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
  readonly marks: readonly MarkPlaces[];
  readonly page: Page;
  readonly rows: readonly ShownRow[];
  /** The page on which a message is, by its anchor: `stored-3`, `sent-2`. */
  readonly pageOfPlace: (anchor: string) => number;
}

/** @param wantedPage The page of rows, from 1; undefined for the last one. */
export function viewThread(reading: ThreadReading, wantedPage: number | undefined): ThreadView {
  const { history, before, metadata, ...read } = reading;
  const explanation = explainInput(history, read.form.options);
  const difference = before && differenceTo(before, explanation.input);
  const source: RowSource = { history, explanation, novelty: difference?.novelty };
  const aligned = alignmentOf(source);
  const page = pageOf(aligned.length, ROWS_PER_PAGE, wantedPage ?? Number.POSITIVE_INFINITY);
  const countFate = (fate: string) => explanation.stored.filter((told) => told.fate === fate).length;
  return {
    ...read,
    history,
    title: titleOf(history, metadata),
    explanation,
    soundness: soundnessOf(history),
    brokenInRequest: validateHistory(explanation.input, read.form.options.dialect).length,
    totals: {
      stored: history.length,
      sent: explanation.input.length,
      leftOut: countFate("left-out"),
      changed: countFate("changed"),
      added: explanation.added.length,
      tokens: explanation.input.reduce((sum, message) => sum + countTokens(message), 0),
    },
    difference,
    marks: placesOfMarks(aligned, source),
    page,
    rows: foldRows(aligned.slice(page.start, page.end).map((row) => viewRow(row, source))),
    pageOfPlace: pagesOfPlaces(aligned),
  };
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

function pagesOfPlaces(aligned: readonly AlignedRow[]): ThreadView["pageOfPlace"] {
  const pages = new Map<string, number>();
  for (const [index, { stored, sent }] of aligned.entries()) {
    const page = pageWith(index, ROWS_PER_PAGE);
    if (stored !== undefined) pages.set(`stored-${stored + 1}`, page);
    for (const place of sent) pages.set(`sent-${place + 1}`, page);
  }
  return (anchor) => pages.get(anchor) ?? 1;
}

function placesOfMarks(aligned: readonly AlignedRow[], source: RowSource): readonly MarkPlaces[] {
  const found = new Map<string, { mark: Mark; count: number; places: MarkPlaces["places"][number][] }>();
  for (const [index, row] of aligned.entries())
    for (const mark of marksOfRow(row, source)) {
      const entry = found.get(mark.word) ?? { mark, count: 0, places: [] };
      entry.count += 1;
      if (entry.places.length < MOST_PLACES)
        entry.places.push({
          page: pageWith(index, ROWS_PER_PAGE),
          ...(row.stored === undefined
            ? { anchor: `sent-${(row.sent[0] ?? 0) + 1}`, label: `sent ${(row.sent[0] ?? 0) + 1}` }
            : { anchor: `stored-${row.stored + 1}`, label: `${row.stored + 1}` }),
        });
      found.set(mark.word, entry);
    }
  return [...found.values()];
}
