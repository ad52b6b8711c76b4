import { isRecord } from "../shared/is-record.js";
import { safely } from "../shared/safely.js";

/** Node quotes the text that it cannot parse, and this can be a message. */
const QUOTED_JSON = /, \.{0,3}"[\s\S]*"\.{0,3} is not valid JSON/;

/** What an error of somebody else says, without the text of messages that `JSON.parse` would quote. */
export function errorText(error: unknown): string {
  return safely(() => {
    const message: unknown = isRecord(error) ? Reflect.get(error, "message") : undefined;
    const text = typeof message === "string" && message !== "" ? message : String(error);
    return text.replace(QUOTED_JSON, ": what is stored is not valid JSON");
  }, "an error that cannot be read");
}
