/** Rows for `it.each(titled([...]))("%s", (_title, row) => ...)`: vitest quotes and shortens a `$title`. */
export function titled<Row extends { readonly title: string }>(
  rows: readonly Row[],
): (readonly [string, Row])[] {
  return rows.map((row) => [row.title, row]);
}

/** The same of rows that are written by title, as a line each: `rowsOf({ "a title": [first, second] })`. */
export function rowsOf<Rest extends readonly unknown[]>(
  table: Readonly<Record<string, readonly [...Rest]>>,
): (readonly [title: string, ...Rest])[] {
  return Object.entries(table).map(([title, rest]) => [title, ...rest]);
}
