/** Whether the fields of a value can be read. Lists can be read so, too. */
export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
