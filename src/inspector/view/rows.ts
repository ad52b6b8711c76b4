/** The rows of a thread's page. */

import type { BaseMessage } from "@langchain/core/messages";
import type { Addition } from "../../doctor/next-history.js";
import { MARKS } from "../../history/marks.js";
import { causeInText, isMadeUpResult, PLACEHOLDER_KEY } from "../../history/result.js";
import { coverageOf } from "../../history/summary.js";
import type { InputExplanation, StoredMessageExplanation } from "../../providers/input/explain-input.js";
import type { InputReason, InputReasonCode } from "../../providers/input/step.js";
import { type MessageView, nameIn, viewMessage } from "./message-view.js";
import type { Novelty } from "./request-form.js";

/** A stored message. Positions count from 1. */
interface StoredCell {
  readonly position: number;
  readonly message: MessageView;
  readonly marks: readonly Mark[];
}

/** A message of the request. Positions count from 1 too. */
interface SentCell extends StoredCell {
  /** Compared with the step before; null if there is none. */
  readonly novelty: Novelty | null;
}

/**
 * - `as-stored`: it is sent exactly as it is stored, or the model is not asked.
 * - `changed`: it is sent in another form, or elsewhere.
 * - `added`: it is not stored.
 * - `left-out`: it is not sent.
 */
type RowKind = "as-stored" | "changed" | "added" | "left-out";

export interface Row {
  readonly kind: RowKind;
  readonly anchor: string;
  /** What the next run adds to the thread. */
  readonly addition: MessageView | undefined;
  readonly stored: StoredCell | undefined;
  readonly sent: readonly SentCell[];
  readonly sentElsewhere: readonly number[];
  readonly storedElsewhere: readonly number[];
  /** Why the stored message is not sent on this row. */
  readonly absence: readonly Mark[];
  /** The position of the summary that represents the message. */
  readonly summary: number | undefined;
}

/** What the rows of a page are made of. */
interface RowInput {
  readonly history: readonly BaseMessage[];
  readonly explanation: InputExplanation;
  readonly novelty: readonly Novelty[] | undefined;
  /** The messages of the history that the thread gets with its next run. */
  readonly additions: ReadonlyMap<BaseMessage, Addition>;
  /** See `NextHistory`. */
  readonly guessed: ReadonlySet<BaseMessage>;
  /** Whether the model is asked. If not, there is no request, and each row is as it is stored. */
  readonly isAsked: boolean;
}

/** The same, with what is looked up for each row. */
export interface RowSource extends RowInput {
  /** The position of each message in the thread, from 1. Undefined for one that is not there yet. */
  readonly positions: readonly (number | undefined)[];
  /** The position of the latest summary that covers a message, by its id. */
  readonly summaries: ReadonlyMap<string, number>;
  /** Why messages of the input were added. */
  readonly added: ReadonlyMap<number, readonly Mark[]>;
}

export function sourceOf(given: RowInput): RowSource {
  const { history, explanation, additions } = given;
  let stored = 0;
  const positions = history.map((message) => {
    if (additions.has(message)) return undefined;
    stored += 1;
    return stored;
  });
  const covering = history.flatMap((one, index) =>
    (coverageOf(one)?.messages ?? []).map((id) => [id, positions[index] ?? 0] as const),
  );
  const added = explanation.added.map(
    ({ inputIndex, reasons }) => [inputIndex, marksOfReasons(reasons)] as const,
  );
  return { ...given, positions, summaries: new Map(covering), added: new Map(added) };
}

export const alignmentOf = ({ explanation: { stored, input } }: RowSource): readonly AlignedRow[] =>
  alignRows(stored, input.length);

/** The place of a row on the page. */
export function anchorOf({ stored, sent }: AlignedRow, { positions }: RowSource): string {
  const position = stored === undefined ? undefined : positions[stored];
  if (position !== undefined) return `stored-${position}`;
  return sent[0] === undefined ? `next-${stored}` : `sent-${sent[0] + 1}`;
}

/** Whether a reader who looks for repairs and changes wants to see the row. */
export function isOfNote(row: AlignedRow, source: RowSource): boolean {
  const message = row.stored === undefined ? undefined : source.history[row.stored];
  if (message !== undefined && marksOfStored(message).length > 0) return true;
  return kindOf(row, source) !== "as-stored";
}

function kindOf(
  { stored: index, sent, sentElsewhere, storedElsewhere }: AlignedRow,
  { explanation, history, additions, isAsked }: RowSource,
): RowKind {
  if (!isAsked) return "as-stored";
  const message = index === undefined ? undefined : history[index];
  if (message !== undefined && additions.has(message)) return "added";
  if (index === undefined) return storedElsewhere.length > 0 ? "changed" : "added";
  if (sent.length === 0) return sentElsewhere.length > 0 ? "changed" : "left-out";
  const isSame = explanation.stored[index]?.fate === "sent" && sent.length === 1;
  return isSame && storedElsewhere.length === 0 ? "as-stored" : "changed";
}

export function viewRow(row: AlignedRow, source: RowSource): Row {
  const { history, explanation, novelty, positions, additions, guessed, isAsked } = source;
  const { stored: index, sent, sentElsewhere, storedElsewhere } = row;
  const message = index === undefined ? undefined : history[index];
  const told = index === undefined || !isAsked ? undefined : explanation.stored[index];
  const position = index === undefined ? undefined : positions[index];
  const fates = [told, ...storedElsewhere.map((place) => explanation.stored[place])].flatMap(marksOfFate);
  const addition = message && additions.get(message);
  const foretold = addition && message ? [markOfAddition(addition, message, guessed.has(message))] : [];
  return {
    kind: kindOf(row, source),
    anchor: anchorOf(row, source),
    addition: foretold.length > 0 && message ? viewMessage(message) : undefined,
    stored:
      position === undefined || message === undefined
        ? undefined
        : { position, message: viewMessage(message), marks: marksOfStored(message) },
    sent: sent.flatMap((place, order): SentCell[] => {
      const one = explanation.input[place];
      if (one === undefined) return [];
      const marks = [
        ...(order === 0 ? distinct([...foretold, ...fates]) : []),
        ...marksOfAdded(place, source),
      ];
      const cell = { position: place + 1, message: viewMessage(one), marks };
      return [{ ...cell, novelty: novelty?.[place] ?? null }];
    }),
    sentElsewhere: sentElsewhere.map((place) => place + 1),
    storedElsewhere: storedElsewhere.flatMap((place) => positions[place] ?? []),
    absence: sent.length > 0 ? [] : [...foretold, ...marksOfFate(told)],
    summary: told?.reasons.some(({ code }) => code === "covered")
      ? source.summaries.get(message?.id ?? "")
      : undefined,
  };
}

/** Two messages that are joined can have the same reason. */
function distinct(marks: readonly Mark[]): readonly Mark[] {
  return [...new Map(marks.map((mark) => [`${mark.code} ${mark.text}`, mark])).values()];
}

function marksOfFate(told: StoredMessageExplanation | undefined): readonly Mark[] {
  if (told === undefined) return [];
  const marks = marksOfReasons(told.reasons);
  const isCovered = marks.some(({ code }) => code === "covered");
  return told.fate === "left-out" && !isCovered ? [LEFT_OUT, ...marks] : marks;
}

/** A placeholder says its cause by its own mark. */
function marksOfAdded(place: number, { explanation, added: marks }: RowSource): readonly Mark[] {
  const message = explanation.input[place];
  const added = marks.get(place) ?? [];
  const own = message === undefined ? [] : marksOfStored(message);
  return added.map((mark) => {
    const cause = own.find(({ code }) => code === mark.code);
    return cause === undefined ? mark : { ...mark, word: cause.word };
  });
}

/*
 * Puts what is stored and what is sent side by side.
 */

/** Where a stored message is sent: the contract of `explainInput`. */
interface StoredPlaces {
  /** Positions in the input, empty if the message is left out. */
  readonly inputIndexes: readonly number[];
  readonly reasons: readonly { readonly code: string }[];
}

/** One row. Each stored message is on one row, and so is each message of the input. */
export interface AlignedRow {
  /** The position in the history; undefined for a row on which nothing stored stands. */
  readonly stored: number | undefined;
  /** Positions in the input, in order. Empty if the stored message is left out, or is sent on another row. */
  readonly sent: readonly number[];
  /** Where the stored message is sent, if that is on other rows: it was moved, or joined with another message. */
  readonly sentElsewhere: readonly number[];
  /** The stored messages that are sent here and stand on other rows. */
  readonly storedElsewhere: readonly number[];
}

/**
 * The rows, in the order of both lists. A message that was moved is on two rows, one for what is stored and one for what is
 * sent. So are as few other messages as possible, if they are sent in another order than they are stored in.
 *
 * @param stored One entry for each stored message, in order.
 * @param inputLength How many messages are sent.
 */
export function alignRows(stored: readonly StoredPlaces[], inputLength: number): readonly AlignedRow[] {
  const firstOf = stored.map(({ inputIndexes, reasons }) =>
    reasons.some(({ code }) => code === "moved") || inputIndexes.length === 0
      ? undefined
      : Math.min(...inputIndexes),
  );
  const inOrder = longestRise(firstOf);
  const holders = holdersOf(stored, inputLength);
  const rows: AlignedRow[] = [];
  let next = 0;
  const sendAlone = (end: number): void => {
    for (; next < end; next += 1)
      rows.push({ stored: undefined, sent: [next], sentElsewhere: [], storedElsewhere: holders[next] ?? [] });
  };
  for (const [index, { inputIndexes }] of stored.entries()) {
    const first = firstOf[index];
    const isHere = first !== undefined && inOrder.has(index);
    if (isHere) sendAlone(first);
    const own = new Set(inputIndexes);
    const sent: number[] = [];
    for (; isHere && own.has(next); next += 1) sent.push(next);
    rows.push({
      stored: index,
      sent,
      sentElsewhere: inputIndexes.filter((place) => !sent.includes(place)),
      storedElsewhere: sent.flatMap((place) => holders[place] ?? []).filter((holder) => holder !== index),
    });
  }
  sendAlone(inputLength);
  return rows;
}

function holdersOf(stored: readonly StoredPlaces[], inputLength: number): number[][] {
  const holders: number[][] = Array.from({ length: inputLength }, () => []);
  for (const [index, { inputIndexes }] of stored.entries())
    for (const place of inputIndexes) holders[place]?.push(index);
  return holders;
}

/** The indexes of the longest list of values that do not fall, in n log n steps. */
function longestRise(values: readonly (number | undefined)[]): ReadonlySet<number> {
  /** The last index of the best list of each length. */
  const ends: number[] = [];
  const before = new Map<number, number | undefined>();
  for (const [index, value] of values.entries()) {
    if (value === undefined) continue;
    let low = 0;
    for (let high = ends.length; low < high; ) {
      const middle = (low + high) >> 1;
      if ((values[ends[middle] ?? -1] ?? 0) <= value) low = middle + 1;
      else high = middle;
    }
    before.set(index, ends[low - 1]);
    ends[low] = index;
  }
  const rise = new Set<number>();
  for (let index = ends.at(-1); index !== undefined; index = before.get(index)) rise.add(index);
  return rise;
}

/*
 * Puts rows that a reader seldom wants to see behind one line.
 */

export type ShownRow =
  | { readonly kind: "row"; readonly row: Row }
  /** Messages that follow one another, of which nothing else is to be said. */
  | { readonly kind: "fold"; readonly word: string; readonly rows: readonly Row[] };

/** Fewer rows than this are shown as they are. */
const LEAST_ROWS = 3;

/**
 * Folds rows of messages that are left out, and of those that are sent as they are stored. A repaired message is never
 * hidden, and neither is the end of the thread.
 *
 * @param isEnd Whether the rows are the last ones of the thread. They are shown from the last message of the user on.
 */
export function foldRows(rows: readonly Row[], isEnd: boolean): readonly ShownRow[] {
  const isOfUser = ({ stored }: Row): boolean => stored?.message.type === "human";
  const last = isEnd
    ? Math.max(0, Math.min(rows.findLastIndex(isOfUser), rows.length - LEAST_ROWS))
    : rows.length;
  const wordAt = (index: number) => foldWord(rows[index], index < last);
  const shown: ShownRow[] = [];
  for (let start = 0; start < rows.length; ) {
    const word = wordAt(start);
    let end = start + 1;
    while (word !== undefined && end < rows.length && wordAt(end) === word) end += 1;
    const run = rows.slice(start, end);
    const told = run.some(isOfForm) ? "with the same text as stored" : word;
    // A page is never one line.
    if (told !== undefined && run.length >= LEAST_ROWS && run.length < rows.length)
      shown.push({ kind: "fold", word: told, rows: run });
    else shown.push(...run.map((row): ShownRow => ({ kind: "row", row })));
    start = end;
  }
  return shown;
}

/** Whether a reader sees the same text stored and sent. Ids and the model's own state can differ. */
export function isSameText({ stored, addition, sent, sentElsewhere, storedElsewhere }: Row): boolean {
  const [message, first] = [stored?.message ?? addition, sent[0]];
  if (message === undefined || first === undefined || sent.length > 1) return false;
  const isHere = sentElsewhere.length + storedElsewhere.length === 0;
  return isHere && textsOf(message) === textsOf(first.message);
}

const textsOf = ({ content, pictures, calls }: MessageView): string =>
  JSON.stringify([content, pictures.length, calls.map(({ name, arguments: given }) => [name, given])]);

/** Whether nothing but the form changed for the provider. */
export const isOfForm = (row: Row): boolean =>
  row.kind === "changed" && isSameText(row) && row.sent.every(({ marks }) => marks.every(isMarkOfForm));

export const isMarkOfForm = ({ tone, code }: Mark): boolean => tone === "neutral" && code !== "next-message";

/** What the row would be folded under; undefined for a row that must be seen. */
function foldWord(row: Row | undefined, isEarlier: boolean): string | undefined {
  if (row?.stored === undefined || row.sentElsewhere.length > 0 || row.stored.marks.length > 0)
    return undefined;
  if (row.kind === "as-stored" || isOfForm(row)) {
    const isNews = row.sent.some(
      ({ novelty, marks }) => novelty === "changed" || (row.kind === "as-stored" && marks.length > 0),
    );
    return isEarlier && !isNews ? "as stored" : undefined;
  }
  return row.sent.length > 0 ? undefined : row.absence.map(({ word }) => word).join(", ");
}

/*
 * Words for what happened to a message.
 */

/** - `good`: something was saved. - `warning`: something is missing. - `neutral`: a change of the request only. */
type Tone = "good" | "warning" | "neutral";

export interface Mark {
  /** A stable name, for counting and for JSON. */
  readonly code: string;
  /** One or a few words. */
  readonly word: string;
  readonly tone: Tone;
  /** One sentence; empty if the word says all. */
  readonly text: string;
  /** Where the rule behind it is documented; null if no provider demands it. */
  readonly source: string | null;
}

const mark = (code: string, word: string, tone: Tone, text = ""): Mark => ({
  code,
  word,
  tone,
  text,
  source: null,
});

const RECOVERED = mark(
  "recovered",
  "recovered",
  "good",
  "It was recovered from a run that ended before it could store it.",
);
const LATE = mark(
  "late",
  "late",
  "good",
  "It came after its call had been closed, and took the place of the placeholder.",
);
const MADE_UP = mark("made-up", "made up", "warning", "Another program made this result up.");
const STEERED = mark("steered", "sent during a run", "neutral", "It came while a run went on.");

/** What a stored message is, by its marks. */
export function marksOfStored(message: BaseMessage): readonly Mark[] {
  const given: Readonly<Record<string, unknown>> = message.additional_kwargs ?? {};
  const coverage = coverageOf(message);
  const cause = given[PLACEHOLDER_KEY] === undefined ? causeInText(message) : causeIn(given[PLACEHOLDER_KEY]);
  const isRecovered = given[MARKS.recovered] !== undefined;
  const place = coverage?.kind === "archive" ? "archive" : "thread";
  return [
    isRecovered && RECOVERED,
    isRecovered && cause === undefined && message.id?.startsWith("placeholder:") && LATE,
    cause !== undefined &&
      mark("placeholder", `placeholder: ${cause}`, "warning", "No tool returned this result."),
    isMadeUpResult(message) && MADE_UP,
    coverage &&
      mark(
        "summary",
        `summary of ${coverage.messages.length} messages`,
        "neutral",
        `The messages that it covers are in the ${place}.`,
      ),
    given[MARKS.steered] !== undefined && STEERED,
  ].filter((one) => typeof one === "object");
}

/** Anyone can write to a state, so the mark can be anything. */
const causeIn = (value: unknown): string => nameIn(value) || "unknown cause";

/** Reasons that say that something is missing. All others describe a change of form. */
const WARNINGS: ReadonlySet<InputReasonCode> = new Set<InputReasonCode>([
  "not-a-message",
  "orphan-result",
  "duplicate-result",
  "filtered",
  "over-bound",
  "shortened",
  "placeholder",
  "gap-note",
]);

/** Codes that say less than a reader needs. */
const WORDS: Readonly<Partial<Record<InputReasonCode, string>>> = { "over-bound": "too long" };

/** What became of a message on its way into the request. */
function marksOfReasons(reasons: readonly InputReason[]): readonly Mark[] {
  return reasons.map(({ code, text, source }) => ({
    code,
    word: WORDS[code] ?? code.replaceAll("-", " "),
    tone: WARNINGS.has(code) ? "warning" : "neutral",
    text,
    source: source ?? null,
  }));
}

const LEFT_OUT = mark("left-out", "left out", "warning");

/** Follows the cause of a placeholder that the next run may replace. */
export const OR_NOT_STARTED = " or not started";

/** What the next run puts into the thread. */
function markOfAddition(addition: Addition, message: BaseMessage, isGuess: boolean): Mark {
  switch (addition) {
    case "recovered":
      return mark("will-be-recovered", "will be recovered", "good", "A run that ended early has saved it.");
    case "closed":
      return mark(
        "will-be-closed",
        `will be closed: ${causeIn(message.additional_kwargs?.[PLACEHOLDER_KEY])}${isGuess ? OR_NOT_STARTED : ""}`,
        "warning",
        `No tool returned a result for this call.${isGuess ? " Whether it was started cannot be read from here. The next run knows." : ""}`,
      );
    case "next-message":
      return mark("next-message", "the next message", "neutral", "What the user will say is not known.");
  }
}
