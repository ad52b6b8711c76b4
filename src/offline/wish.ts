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
