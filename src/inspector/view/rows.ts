/** The rows of a thread's page: what is stored and what is sent, side by side, and what happened to it. */

import type { BaseMessage } from "@langchain/core/messages";
import type { Finding } from "../../doctor/finding.js";
import type { NextHistory } from "../../doctor/next-history.js";
import { MARKS } from "../../history/marks.js";
import { causeInText, isMadeUpResult, PLACEHOLDER_KEY } from "../../history/result.js";
import { coverageOf } from "../../history/summary.js";
import type {
  InputExplanation,
  InputReason,
  InputReasonCode,
  StoredMessageExplanation,
} from "../../providers/input/explain-input.js";
import { addToList } from "../../shared/values.js";
import { nameIn, shownOf } from "./message-view.js";
import type { Novelty } from "./request.js";

/** One row. Each stored message is on one row, and so is each message of the request. Positions count from 1. */
export interface Row {
  /**
   * - `as-stored`: it is sent exactly as it is stored, or the model is not asked.
   * - `changed`: it is sent in another form, or elsewhere.
   * - `added`: it is not stored.
   * - `left-out`: it is not sent.
   */
  readonly kind: "as-stored" | "changed" | "added" | "left-out";
  /** The row's place on the page, such as `stored-3`. */
  readonly anchor: string;
  /** A message of the thread, or one that the next run adds. Undefined: the row has only something sent. */
  readonly message: BaseMessage | undefined;
  /** Undefined for a message that the thread does not have. */
  readonly position: number | undefined;
  readonly sent: BaseMessage | undefined;
  readonly sentPosition: number | undefined;
  /** Compared with the previous request; undefined if there is none. */
  readonly novelty: Novelty | undefined;
  /** Where the message is sent, if that is another row: it was moved, or joined with another message. */
  readonly sentElsewhere: number | undefined;
  /** The stored messages that are sent here but have other rows. */
  readonly storedElsewhere: readonly number[];
  /** What the message is, such as a placeholder. */
  readonly own: readonly Mark[];
  /** What the doctor finds in it. Only what is sent as it is stored has faults. */
  readonly faults: readonly Mark[];
  /** What became of it on its way into the request. */
  readonly fate: readonly Mark[];
  /** The position of the latest summary that represents the message. */
  readonly summary: number | undefined;
}

interface RowInput {
  readonly history: readonly BaseMessage[];
  readonly explanation: InputExplanation;
  /** What the next run adds to the history. */
  readonly next: Omit<NextHistory, "messages">;
  /** For each message of the request. */
  readonly novelty: readonly Novelty[] | undefined;
  /** Whether the model is asked. If not, there is no request, and each row is as it is stored. */
  readonly isAsked: boolean;
  /** What the doctor finds, with the indexes of stored messages. */
  readonly findings: readonly Finding[];
  /** The indexes of stored messages whose picture or file the provider refused. */
  readonly refused: readonly number[];
}

/** The rows, in the order of both lists. */
export function rowsOf(given: RowInput): readonly Row[] {
  const { stored, input } = given.explanation;
  const rowAt = rowMaker(given);
  const rows: Row[] = [];
  /** How many of the request's messages have their row. */
  let passed = 0;
  const sendAlone = (end: number): void => {
    for (; passed < end; passed += 1) rows.push(rowAt(undefined, passed));
  };
  for (const { index, inputIndexes, fate } of stored) {
    const [place = -1] = inputIndexes;
    // All messages keep their order, except those that were moved or joined with an earlier one: they have two rows.
    const isHere = place >= passed && fate !== "moved";
    if (isHere) sendAlone(place);
    rows.push(rowAt(index, isHere ? place : undefined));
    if (isHere) passed += 1;
  }
  sendAlone(input.length);
  return rows;
}

/** Makes the function that joins a message of the history, if there is one, with what is sent on its row. */
function rowMaker({ history, explanation, next, novelty, isAsked, findings, refused }: RowInput) {
  const { stored, input, added } = explanation;
  let length = 0;
  const positions = history.map((message) => {
    if (next.added.has(message)) return undefined;
    length += 1;
    return length;
  });
  const covering = history.flatMap((one, index) =>
    (coverageOf(one)?.messages ?? []).map((id) => [id, positions[index]] as const),
  );
  const summaries = new Map(covering);
  const faults = new Map<number, Mark[]>();
  for (const { index, ...found } of findings)
    if (index !== null && isShown(found)) addToList(faults, index, markOfFault(found));
  for (const index of refused) addToList(faults, index, REFUSED);
  const whyAdded = new Map(added.map(({ inputIndex, reasons }) => [inputIndex, reasons]));
  /** Several stored messages can be sent as one. */
  const sources = new Map<number, number[]>();
  for (const { index, inputIndexes } of stored)
    for (const place of inputIndexes) addToList(sources, place, index);

  return function rowAt(index: number | undefined, place: number | undefined): Row {
    const [message, told, position] = [at(history, index), at(stored, index), at(positions, index)];
    const sent = at(input, place);
    const others = (sources.get(place ?? -1) ?? []).filter((other) => other !== index);
    const elsewhere = place === undefined ? told?.inputIndexes[0] : undefined;
    const kindOf = (): Row["kind"] => {
      if (!isAsked) return "as-stored";
      if (message && next.added.has(message)) return "added";
      if (elsewhere !== undefined || others.length > 0) return "changed";
      if (told === undefined) return "added";
      if (sent === undefined) return "left-out";
      return told.fate === "sent" ? "as-stored" : "changed";
    };
    // The request's placeholder names its cause with its own mark.
    const cause = sent && marksOfStored(sent).find(({ code }) => code === "placeholder");
    const whyHere = marksOfReasons(whyAdded.get(place ?? -1) ?? []).map((one) =>
      one.code === cause?.code ? { ...one, word: cause.word } : one,
    );
    const fates = [told, ...others.map((other) => stored[other])].flatMap(marksOfFate);
    return {
      kind: kindOf(),
      anchor: position ? `stored-${position}` : place === undefined ? `next-${index}` : `sent-${place + 1}`,
      message,
      position,
      sent,
      sentPosition: place === undefined ? undefined : place + 1,
      novelty: at(novelty ?? [], place),
      sentElsewhere: elsewhere === undefined ? undefined : elsewhere + 1,
      storedElsewhere: others.flatMap((other) => positions[other] ?? []),
      own: message === undefined ? [] : marksOf(message, next),
      faults: position === undefined ? [] : (faults.get(position - 1) ?? []),
      fate: [...distinctBy(fates, ({ code, text }) => `${code} ${text}`), ...whyHere],
      summary: told?.reasons.some(({ code }) => code === "covered")
        ? summaries.get(message?.id ?? "")
        : undefined,
    };
  };
}

const at = <Value>(list: readonly Value[], index: number | undefined): Value | undefined =>
  index === undefined ? undefined : list[index];

/** The last of those with the same key, in the first one's place. */
export function distinctBy<Value>(list: readonly Value[], keyOf: (value: Value) => string): readonly Value[] {
  return [...new Map(list.map((value) => [keyOf(value), value])).values()];
}

/** Whether a reader who looks for repairs and changes wants to see the row. */
export const isOfNote = ({ kind, own, faults }: Row): boolean =>
  kind !== "as-stored" || own.length + faults.length > 0;

/*
 * Folds rows that a reader seldom wants to see into one line.
 */

/** A row, or consecutive messages about which a word says everything. */
export type ShownRow = Row | { readonly word: string; readonly rows: readonly Row[] };

/** Fewer rows than this are shown as they are. */
const LEAST_ROWS = 3;
/** A page with fewer rows than this shows all that is sent. */
const SHORT_PAGE = 20;

/**
 * Folds rows of messages that are left out or sent as they are stored. A faulty or repaired message is never hidden, and
 * neither is the thread's end.
 *
 * @param isEnd Whether the rows are the thread's last. They are shown from the user's last message on.
 */
export function foldRows(rows: readonly Row[], isEnd: boolean): readonly ShownRow[] {
  const isOfUser = ({ position, message }: Row) => position !== undefined && message?.type === "human";
  const last = isEnd
    ? Math.max(0, Math.min(rows.findLastIndex(isOfUser), rows.length - LEAST_ROWS))
    : rows.length;
  const words = rows.map((row, index) => foldWord(row, index < last && rows.length >= SHORT_PAGE));
  const shown: ShownRow[] = [];
  for (let start = 0; start < rows.length; ) {
    const word = words[start];
    let end = start + 1;
    while (word !== undefined && words[end] === word) end += 1;
    const run = rows.slice(start, end);
    // A page is never just one line.
    if (word !== undefined && run.length >= LEAST_ROWS && run.length < rows.length)
      shown.push({ word: run.some(isOfForm) ? "with the same text as stored" : word, rows: run });
    else shown.push(...run);
    start = end;
  }
  return shown;
}

/** Whether a reader sees the same text stored and sent. Ids and the model's own state can differ. */
export function isSameText({ message, sent, storedElsewhere }: Row): boolean {
  if (message === undefined || sent === undefined || storedElsewhere.length > 0) return false;
  return message === sent || shownOf(message) === shownOf(sent);
}

/** Whether nothing but the form changed for the provider. */
export const isOfForm = (row: Row): boolean =>
  row.kind === "changed" && row.fate.every(isMarkOfForm) && isSameText(row);

export const isMarkOfForm = ({ tone }: Mark): boolean => tone === "neutral";

/** The word under which the row is folded; undefined for a row that must be seen. */
function foldWord(row: Row, isEarlier: boolean): string | undefined {
  const { kind, position, sent, sentElsewhere, novelty, own, faults, fate } = row;
  if (position === undefined || sentElsewhere !== undefined) return undefined;
  if (own.length + faults.length > 0) return undefined;
  if (kind === "as-stored" || isOfForm(row))
    return isEarlier && novelty !== "changed" ? "as stored" : undefined;
  return sent === undefined ? fate.map(({ word }) => word).join(", ") : undefined;
}

/*
 * Words for what happened to a message.
 */

export interface Mark {
  /** A stable name, for counting and for JSON. */
  readonly code: string;
  /** One or a few words. */
  readonly word: string;
  /**
   * - `good`: something was saved. - `warning`: something is missing. - `bad`: the request is refused. - `neutral`: only
   *   the request was changed.
   */
  readonly tone: "good" | "warning" | "bad" | "neutral";
  /** One sentence; empty if the word says all. */
  readonly text: string;
  /** Where its rule is documented; null if no provider demands it. */
  readonly source: string | null;
}

const mark = (code: string, word: string, tone: Mark["tone"], text = ""): Mark => ({
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
function marksOfStored(message: BaseMessage): readonly Mark[] {
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

export const FAULT_TONES = { error: "bad", warning: "warning", info: "neutral" } as const;

/** Whether a reader of the messages looks for it: a fault, or a call without a result that something else closes. */
const isShown = ({ code, severity }: Pick<Finding, "code" | "severity">): boolean =>
  severity !== "info" || OPEN.has(code) || code === "state/pending-result";

export const OPEN: ReadonlySet<string> = new Set(["pairing/dangling-call", "pairing/open-call"]);

const markOfFault = ({ code, severity, evidence }: Omit<Finding, "index">): Mark =>
  mark(code, code.replace(/^.*\//, "").replaceAll("-", " "), FAULT_TONES[severity], evidence);

const REFUSED = mark(
  "refused",
  "refused",
  "bad",
  "The provider refused its picture or file in the last run.",
);

const REPAIRS: ReadonlySet<string> = new Set(["recovered", "placeholder", "made-up"]);

/** The last message that a repair wrote, with its position from 1; null if there is none. */
export function lastRepairIn(messages: readonly BaseMessage[]) {
  const repairs = messages.map((message) => marksOfStored(message).find(({ code }) => REPAIRS.has(code)));
  const index = repairs.findLastIndex((mark) => mark !== undefined);
  const mark = repairs[index];
  return mark === undefined ? null : { mark, position: index + 1 };
}

/** Anyone can write to a state, so the mark can be anything. */
const causeIn = (value: unknown): string => nameIn(value) || "unknown cause";

/** Reasons that say that something is missing. All others describe a change of form. */
const WARNINGS: ReadonlySet<InputReasonCode> = new Set<InputReasonCode>([
  "filtered",
  "shortened",
  "described",
  "retold",
  "placeholder",
  "gap-note",
]);

/** What became of a message on its way into the request. */
function marksOfReasons(reasons: readonly InputReason[]): readonly Mark[] {
  return reasons.map(({ code, text, source }) => ({
    code,
    word: code.replaceAll("-", " "),
    tone: WARNINGS.has(code) ? "warning" : "neutral",
    text,
    source: source ?? null,
  }));
}

function marksOfFate(told: StoredMessageExplanation | undefined): readonly Mark[] {
  if (told === undefined) return [];
  const { fate, reasons } = told;
  const marks = marksOfReasons(reasons);
  if (fate === "moved") return [mark("moved", "moved", "neutral", "It is sent in another place."), ...marks];
  if (fate === "joined")
    return [mark("joined", "joined", "neutral", "It is a part of one message."), ...marks];
  const isCovered = reasons.some(({ code }) => code === "covered");
  return fate === "left-out" && !isCovered ? [LEFT_OUT, ...marks] : marks;
}

const LEFT_OUT = mark("left-out", "left out", "warning");

/** What a message of the history is: something that the next run adds to the thread, or what its marks say. */
function marksOf(message: BaseMessage, { added, guessed }: RowInput["next"]): readonly Mark[] {
  const isGuess = guessed.has(message);
  switch (added.get(message)) {
    case undefined:
      return marksOfStored(message);
    case "recovered":
      return [mark("will-be-recovered", "will be recovered", "good", "A run that ended early has saved it.")];
    case "closed": {
      const cause = `${causeIn(message.additional_kwargs?.[PLACEHOLDER_KEY])}${isGuess ? " or not started" : ""}`;
      const text = `No tool has returned a result for this call.${isGuess ? " Whether it was started cannot be read from here. The next run knows." : ""}`;
      return [mark("will-be-closed", `will be closed: ${cause}`, "warning", text)];
    }
    case "next-message":
      return [mark("next-message", "the next message", "neutral", "What the user will say is not known.")];
  }
}
