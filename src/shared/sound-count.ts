/** A count that somebody else reports. Undefined if it is no number, negative, or more than can be added up. */
export function soundCount(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : undefined;
}
