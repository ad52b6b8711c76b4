/** A wish is a part of the text that asks for one call: from `start` to `end`, with the arguments of the call. */
export interface Wish {
  readonly start: number;
  readonly end: number;
  readonly args: Readonly<Record<string, unknown>>;
}

/** All matches of a pattern's source, ignoring case. */
export function matchAll(text: string, source: string): RegExpExecArray[] {
  return [...text.matchAll(new RegExp(source, "gisu"))];
}

/** The wishes of one match: one for each set of arguments. */
export function toWishes(
  match: RegExpExecArray,
  ...allArgs: readonly Readonly<Record<string, unknown>>[]
): Wish[] {
  const start = match.index;
  return allArgs.map((args) => ({ start, end: start + match[0].length, args }));
}

/**
 * A part of a long text, in which patterns search. The time of a pattern can grow with the square of its text, and a
 * client chooses the text.
 */
export interface TextPart {
  /** Where the part begins in the text. */
  readonly start: number;
  readonly text: string;
}

/** In characters. A request to the offline model is rarely longer. */
const LONGEST_PART = 2_000;
const CLAUSE_END = /[,;.?!:\n，。；？！]/u;
/** A pattern tries every way to divide a run of white space between its parts. */
const LONG_GAP = /\s{30,}/gu;

/**
 * The text in parts that end with a clause, if they can. Long gaps become separators of the same length.
 *
 * Together the parts are as long as the text.
 */
export function partsOf(text: string): TextPart[] {
  const dense = text.replace(LONG_GAP, (gap) => ";".repeat(gap.length));
  const parts: TextPart[] = [];
  for (let start = 0; start < dense.length; ) {
    const end = endOfPart(dense, start);
    parts.push({ start, text: dense.slice(start, end) });
    start = end;
  }
  return parts;
}

function endOfPart(text: string, start: number): number {
  const most = start + LONGEST_PART;
  if (most >= text.length) return text.length;
  for (let end = most; end > start; end -= 1) {
    if (CLAUSE_END.test(text.charAt(end - 1))) return end;
  }
  return most;
}
