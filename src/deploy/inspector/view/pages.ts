/** Cuts a long list into pages. */

export interface Page {
  /** From 1. */
  readonly number: number;
  readonly count: number;
  /** The first entry and the one after the last, from 0. */
  readonly start: number;
  readonly end: number;
}

/**
 * @param wanted The page, from 1. A number beyond the last page means the last one.
 */
export function pageOf(length: number, size: number, wanted: number): Page {
  const count = Math.max(1, Math.ceil(length / size));
  const number = Math.min(Math.max(1, wanted), count);
  const start = (number - 1) * size;
  return { number, count, start, end: Math.min(start + size, length) };
}

/** The number of the page on which an entry is. */
export function pageWith(index: number, size: number): number {
  return Math.floor(index / size) + 1;
}
