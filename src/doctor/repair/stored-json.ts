import { createHash } from "node:crypto";
import { types } from "node:util";
import { convertMessage } from "../../history/reading/coerce-message.js";
import { isRecord } from "../../shared/is-record.js";
import { toJson } from "../../shared/to-json.js";
import { withoutUndefined } from "../examine/read-list.js";

/**
 * The JSON that a database stores for a message, as a value. A message that was read with its stored JSON gives that one.
 *
 * @throws TypeError for a value that has no JSON.
 */
export function toStoredJson(value: unknown): unknown {
  const json = toJson(value, (_, part) => markOf(part) ?? part);
  if (json === undefined) throw new TypeError("Expected a message that can be written as JSON.");
  return JSON.parse(json);
}

/** What LangGraph stores for values that JSON has no form for. */
function markOf(value: unknown): object | undefined {
  if (value === undefined) return { lc: 2, type: "undefined" };
  const mark = (name: string, args: readonly unknown[], method: string | null = null) => ({
    lc: 2,
    type: "constructor",
    id: [name],
    method,
    args,
    kwargs: {},
  });
  if (types.isMap(value)) return mark("Map", [[...value]]);
  if (types.isSet(value)) return mark("Set", [[...value]]);
  if (types.isRegExp(value)) return mark("RegExp", [value.source, value.flags]);
  if (types.isNativeError(value)) return mark("Error", [value.message]);
  return types.isUint8Array(value) ? mark("Uint8Array", [[...value]], Uint8Array.from.name) : undefined;
}

/**
 * A hash of what the messages say, in whatever form they are stored. Ids do not count: a reducer gives one to each message
 * without. The hash of a value is that of its JSON, so a list that was read has the hash of its copy in a receipt.
 */
export function hashList(values: readonly unknown[]): string {
  return createHash("sha256")
    .update(JSON.stringify(values.map(meaningOf)))
    .digest("hex");
}

function meaningOf(value: unknown): unknown {
  const stored = withoutUndefined(toStoredJson(value));
  const message = convertMessage(stored);
  if (message === undefined) return sorted(stored);
  const fields = FIELDS.map((name) => [name, Reflect.get(message, name)]);
  return sorted(withoutUndefined(toStoredJson(Object.fromEntries(fields))));
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

/** Without fields that say nothing, which stores add and leave out, and in one order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isRecord(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .map(([name, part]) => [name, sorted(part)] as const)
      .filter(([, part]) => part !== null && !isEmpty(part))
      .sort(([one], [other]) => (one < other ? -1 : 1)),
  );
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 : isRecord(value) && Object.keys(value).length === 0;
}
