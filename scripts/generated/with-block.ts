/** The lines before and after a part of a document that a program writes. */
export type Marks = readonly [start: string, end: string];

/**
 * Puts a block between two marks of a document, with a blank line before and after it.
 *
 * @throws if the document does not have both marks in this order.
 */
export function withBlock(text: string, [start, end]: Marks, block: string): string {
  const begin = text.indexOf(start);
  const finish = text.indexOf(end);
  if (begin < 0 || finish < begin) throw new Error(`Expected \`${start}\` and \`${end}\` in the document.`);
  return `${text.slice(0, begin + start.length)}\n\n${block}\n\n${text.slice(finish)}`;
}
