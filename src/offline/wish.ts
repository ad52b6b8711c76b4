/** A wish found in the text from `start` to `end`, and the arguments of the call that fulfils it. */
export interface Wish {
  readonly start: number;
  readonly end: number;
  readonly args: Readonly<Record<string, unknown>>;
}

/** Matches of a pattern's source, whatever the case of its letters. */
export function matchAll(text: string, source: string): RegExpExecArray[] {
  return [...text.matchAll(new RegExp(source, "gisu"))];
}

/** The wishes that one match stands for, one for each set of arguments. */
export function toWishes(
  match: RegExpExecArray,
  ...allArgs: readonly Readonly<Record<string, unknown>>[]
): Wish[] {
  const start = match.index;
  return allArgs.map((args) => ({ start, end: start + match[0].length, args }));
}
