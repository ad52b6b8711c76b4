import { isRecord } from "../shared/is-record.js";
import { safely } from "../shared/safely.js";

/** What an error of somebody else says. */
export function errorText(error: unknown): string {
  return safely(() => {
    const message: unknown = isRecord(error) ? Reflect.get(error, "message") : undefined;
    return typeof message === "string" && message !== "" ? message : String(error);
  }, "an error that cannot be read");
}
