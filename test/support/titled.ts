/** Rows for `it.each(titled([...]))("%s", (_title, row) => ...)`: vitest quotes and shortens a `$title`. */
export function titled<Row extends { readonly title: string }>(
  rows: readonly Row[],
): (readonly [string, Row])[] {
  return rows.map((row) => [row.title, row]);
}
