/** The rows of a thread's page. */

import type { BaseMessage } from "@langchain/core/messages";
import type {
  InputExplanation,
  StoredMessageExplanation,
} from "../../../providers/input/explanation/explanation.js";
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
  const message = row.stored === undefined ? undefined : history[row.stored];
  const told = row.stored === undefined ? undefined : explanation.stored[row.stored];
  return {
    stored:
      message === undefined || row.stored === undefined
        ? undefined
        : {
            position: row.stored + 1,
            message: viewMessage(message),
            marks: [...marksOfStored(message), ...(row.sent.length > 0 ? [] : marksOfFate(told))],
          },
    sent: row.sent.flatMap((place, index): SentCell[] => {
      const sent = explanation.input[place];
      if (sent === undefined) return [];
      const isAsStored = told?.fate === "sent" && row.sent.length === 1 && row.storedElsewhere.length === 0;
      const fate = index === 0 && row.stored !== undefined ? marksOfFate(told) : [];
      return [
        {
          position: place + 1,
          message: viewMessage(sent),
          marks: [...fate, ...marksOfAdded(place, source)],
          isAsStored,
          novelty: novelty?.[place] ?? null,
        },
      ];
    }),
    sentElsewhere: row.sentElsewhere.map((place) => place + 1),
    storedElsewhere: row.storedElsewhere.map((place) => place + 1),
  };
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
