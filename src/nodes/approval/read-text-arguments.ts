import { isRecord } from "../../shared/is-record.js";
import { toJson } from "../../shared/to-json.js";
import { findArgumentIssue } from "./argument-issue.js";

type Arguments = Record<string, unknown>;

/**
 * Converts edited arguments to the types that the tool expects. A form of a chat UI returns every field as text:
 * `"7"` for 7, `"null"` for null. Text that the schema refuses is parsed as JSON. A field whose text equals its
 * former value was not edited, and keeps that value. All other text stays text.
 *
 * @param former The arguments before the edit.
 */
export async function readTextArguments(
  given: Arguments,
  former: Arguments,
  schema: unknown,
): Promise<Arguments> {
  let args: Arguments = Object.fromEntries(
    Object.entries(given).map(([name, value]) => [
      name,
      isTextOf(value, former[name]) ? former[name] : value,
    ]),
  );
  let issue = await findArgumentIssue(schema, args);
  while (issue !== undefined) {
    const mended = withJsonAt(args, issue.path);
    if (mended === undefined) return args;
    const next = await findArgumentIssue(schema, mended as Arguments);
    if (next?.path.join() === issue.path.join()) return args;
    args = mended as Arguments;
    issue = next;
  }
  return args;
}

/** Whether this text is what a form returns if it shows the value as text and the user does not edit it. */
function isTextOf(text: unknown, value: unknown): boolean {
  if (typeof text !== "string" || typeof value === "string" || value === undefined) return false;
  return text === toJson(value) || text === JSON.stringify(value, undefined, 2);
}

/** The value with the text at a path parsed as JSON. Undefined if there is no text, or it is not JSON. */
function withJsonAt(value: unknown, path: readonly PropertyKey[]): unknown {
  const [key, ...rest] = path;
  if (key === undefined) return readJson(value);
  if (Array.isArray(value)) {
    const index = Number(key);
    const item = withJsonAt(value[index], rest);
    return item === undefined ? undefined : value.with(index, item);
  }
  if (!isRecord(value) || !Object.hasOwn(value, key)) return undefined;
  const field = withJsonAt(value[String(key)], rest);
  return field === undefined ? undefined : { ...value, [key]: field };
}

function readJson(text: unknown): unknown {
  if (typeof text !== "string") return undefined;
  try {
    const value: unknown = JSON.parse(text);
    // A JSON string in the text would be refused again.
    return typeof value === "string" ? undefined : value;
  } catch {
    return undefined;
  }
}
