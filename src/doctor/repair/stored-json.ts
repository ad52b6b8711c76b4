import { createHash } from "node:crypto";
import { convertMessage } from "../../history/reading/coerce-message.js";
import { isRecord } from "../../shared/is-record.js";
import { toJson } from "../../shared/to-json.js";

/**
 * The JSON that a database stores for a message, as a value. A message that was read with its stored JSON gives that one.
 *
 * @throws TypeError for a value that has no JSON.
 */
export function toStoredJson(value: unknown): unknown {
  const json = toJson(value);
  if (json === undefined) throw new TypeError("Expected a message that can be written as JSON.");
  return JSON.parse(json);
}

/**
 * A hash of what the messages say, in whatever form they are stored. Ids do not count: a reducer gives one to each message
 * without.
 */
export function hashList(values: readonly unknown[]): string {
  return createHash("sha256")
    .update(JSON.stringify(values.map(meaningOf)))
    .digest("hex");
}

function meaningOf(value: unknown): unknown {
  const message = convertMessage(value);
  if (message === undefined) return sorted(toStoredJson(value));
  const fields = FIELDS.map((name) => [name, Reflect.get(message, name)]);
  return sorted(toStoredJson(Object.fromEntries(fields)));
}

const FIELDS = [
  "type",
  "content",
  "name",
  "role",
  "tool_calls",
  "invalid_tool_calls",
  "tool_call_id",
  "status",
  "artifact",
  "additional_kwargs",
  "response_metadata",
  "usage_metadata",
] as const;

/** Without empty fields, which stores add and leave out, and in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, part]) => part !== null && !isEmpty(part) && !isUndefined(part))
      .sort(([one], [other]) => (one < other ? -1 : 1))
      .map(([name, part]) => [name, sorted(part)]),
  );
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isRecord(value) && Object.keys(value).length === 0;
}

/** LangGraph stores undefined as an object. */
function isUndefined(value: unknown): boolean {
  return isRecord(value) && value["lc"] === 2 && value["type"] === "undefined";
}
