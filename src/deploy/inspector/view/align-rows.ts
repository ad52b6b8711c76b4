/** Puts what is stored and what is sent side by side. */

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
    reasons.some(({ code }) => code === "moved") ? undefined : leastOf(inputIndexes),
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

function leastOf(numbers: readonly number[]): number | undefined {
  return numbers.length === 0 ? undefined : numbers.reduce((one, other) => Math.min(one, other));
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
