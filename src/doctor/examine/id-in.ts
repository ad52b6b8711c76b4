import { isRecord } from "../../shared/is-record.js";

/** The id of a stored value that may be a message, in whatever form it is. */
export function idIn(value: unknown): string | undefined {
  if (!isRecord(value)) return undefined;
  const id: unknown = Reflect.get(value, "id");
  if (typeof id === "string" && id !== "") return id;
  const inner: unknown = value["kwargs"] ?? value["data"];
  return isRecord(inner) ? idIn(inner) : undefined;
}
