/** Puts rows that a reader seldom wants to see behind one line. */

import type { Row } from "./rows.js";

export type ShownRow =
  | { readonly kind: "row"; readonly row: Row }
  /** Messages that follow one another and are not sent, for one reason. */
  | { readonly kind: "fold"; readonly word: string; readonly rows: readonly Row[] };

/** Fewer rows than this are shown as they are. */
const LEAST_ROWS = 3;

/** Folds rows of stored messages that are left out. A repaired message is never hidden. */
export function foldRows(rows: readonly Row[]): readonly ShownRow[] {
  const shown: ShownRow[] = [];
  for (let start = 0; start < rows.length; ) {
    const word = foldWord(rows[start]);
    let end = start + 1;
    while (word !== undefined && end < rows.length && foldWord(rows[end]) === word) end += 1;
    const run = rows.slice(start, end);
    if (word !== undefined && run.length >= LEAST_ROWS) shown.push({ kind: "fold", word, rows: run });
    else shown.push(...run.map((row): ShownRow => ({ kind: "row", row })));
    start = end;
  }
  return shown;
}

/** What the row would be folded under; undefined for a row that must be seen. */
function foldWord(row: Row | undefined): string | undefined {
  if (row?.stored === undefined || row.sent.length > 0 || row.sentElsewhere.length > 0) return undefined;
  return row.stored.marks.length > 0 ? undefined : row.absence.map(({ word }) => word).join(", ");
}
