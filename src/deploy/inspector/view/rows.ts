/** The rows of a thread's page. */

import type { BaseMessage } from "@langchain/core/messages";
import type { InputExplanation, StoredMessageExplanation } from "../../../providers/input/explain-input.js";
import { type AlignedRow, alignRows } from "./align-rows.js";
import type { Novelty } from "./compare-inputs.js";
import { LEFT_OUT, type Mark, marksOfReasons, marksOfStored } from "./mark.js";
import { type MessageView, viewMessage } from "./message-view.js";

/** A stored message. Positions count from 1. */
export interface StoredCell {
  readonly position: number;
  readonly message: MessageView;
  readonly marks: readonly Mark[];
}

/** A message of the request. */
export interface SentCell {
  readonly position: number;
  readonly message: MessageView;
  readonly marks: readonly Mark[];
  /** Whether it is sent exactly as it is stored on this row. */
  readonly isAsStored: boolean;
  /** Compared with the step before; null if there is none. */
  readonly novelty: Novelty | null;
}

export interface Row {
  readonly stored: StoredCell | undefined;
  readonly sent: readonly SentCell[];
  readonly sentElsewhere: readonly number[];
  readonly storedElsewhere: readonly number[];
  /** Why the stored message is not sent on this row. */
  readonly absence: readonly Mark[];
}

/** Everything that rows are made of. */
export interface RowSource {
  readonly history: readonly BaseMessage[];
  readonly explanation: InputExplanation;
  readonly novelty: readonly Novelty[] | undefined;
}

export const alignmentOf = ({ explanation: { stored, input } }: RowSource): readonly AlignedRow[] =>
  alignRows(stored, input.length);

/** The marks of what is on a row, without looking at its texts. */
export function marksOfRow(row: AlignedRow, source: RowSource): readonly Mark[] {
  const message = row.stored === undefined ? undefined : source.history[row.stored];
  const told = row.stored === undefined ? undefined : source.explanation.stored[row.stored];
  const stored = message === undefined ? [] : [...marksOfStored(message), ...marksOfFate(told)];
  return [...stored, ...row.sent.flatMap((place) => marksOfAdded(place, source))];
}

export function viewRow(row: AlignedRow, source: RowSource): Row {
  const { history, explanation, novelty } = source;
  const { stored: index, sent, sentElsewhere, storedElsewhere } = row;
  const message = index === undefined ? undefined : history[index];
  const told = index === undefined ? undefined : explanation.stored[index];
  const isAsStored = told?.fate === "sent" && sent.length === 1 && storedElsewhere.length === 0;
  const fates = [told, ...storedElsewhere.map((place) => explanation.stored[place])].flatMap(marksOfFate);
  return {
    stored:
      index === undefined || message === undefined
        ? undefined
        : { position: index + 1, message: viewMessage(message), marks: marksOfStored(message) },
    sent: sent.flatMap((place, order): SentCell[] => {
      const one = explanation.input[place];
      if (one === undefined) return [];
      const marks = [...(order === 0 ? distinct(fates) : []), ...marksOfAdded(place, source)];
      const cell = { position: place + 1, message: viewMessage(one), marks, isAsStored };
      return [{ ...cell, novelty: novelty?.[place] ?? null }];
    }),
    sentElsewhere: sentElsewhere.map((place) => place + 1),
    storedElsewhere: storedElsewhere.map((place) => place + 1),
    absence: sent.length > 0 ? [] : marksOfFate(told),
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
function marksOfAdded(place: number, { explanation }: RowSource): readonly Mark[] {
  const message = explanation.input[place];
  const added = addedIn(explanation).get(place) ?? [];
  const own = message === undefined ? [] : marksOfStored(message);
  return added.map((mark) => {
    const cause = own.find(({ code }) => code === mark.code);
    return cause === undefined ? mark : { ...mark, word: cause.word };
  });
}

const known = new WeakMap<InputExplanation, ReadonlyMap<number, readonly Mark[]>>();

function addedIn(explanation: InputExplanation): ReadonlyMap<number, readonly Mark[]> {
  const marks =
    known.get(explanation) ??
    new Map(explanation.added.map(({ inputIndex, reasons }) => [inputIndex, marksOfReasons(reasons)]));
  known.set(explanation, marks);
  return marks;
}
