/** A list in words: `a`, `a or b`, `a, b or c`. */
export function listWithOr(items: readonly string[]): string {
  return [items.slice(0, -1).join(", "), ...items.slice(-1)].filter((text) => text !== "").join(" or ");
}
