/** Reads values with any schema: zod, another library's Standard Schema, or a JSON schema. */

import { Validator } from "@langchain/core/utils/json_schema";
import { errorMessage } from "../shared/is-error.js";
import { isRecord } from "../shared/values.js";

/** What a schema makes of a value, or what is wrong with the value. */
type SchemaOutcome =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "issues"; readonly issues: readonly [SchemaIssue, ...SchemaIssue[]] };

export interface SchemaIssue {
  /** The place inside the value: keys and indexes. Empty for the value itself. */
  readonly path: readonly PropertyKey[];
  /** The words of the schema's library. */
  readonly message: string;
}

/** Contract: never rejects. What a schema throws is an issue. A value without a schema is returned as it is. */
export async function readWith(schema: unknown, value: unknown): Promise<SchemaOutcome> {
  try {
    if (isStandardSchema(schema)) return outcomeOf(await schema["~standard"].validate(value));
    return isRecord(schema) ? readWithJsonSchema(schema, value) : { kind: "value", value };
  } catch (error) {
    return withIssues([{ path: [], message: errorMessage(error) }]);
  }
}

/** A schema with the Standard Schema interface, such as zod's or valibot's. */
export interface StandardSchema {
  readonly "~standard": {
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly output: unknown } | undefined;
  };
}

export function isStandardSchema(schema: unknown): schema is StandardSchema {
  const standard: unknown = Reflect.get(Object(schema), "~standard");
  return isRecord(standard) && typeof standard["validate"] === "function";
}

function outcomeOf(result: unknown): SchemaOutcome {
  if (!isRecord(result)) return { kind: "value", value: undefined };
  const { issues, value } = result;
  return Array.isArray(issues) ? withIssues(issues.map(readIssue)) : { kind: "value", value };
}

function readIssue(issue: unknown): SchemaIssue {
  const { message, path } = isRecord(issue) ? issue : {};
  const keyOf = (part: unknown) => (isRecord(part) ? part["key"] : part) as PropertyKey;
  return { path: Array.isArray(path) ? path.map(keyOf) : [], message: String(message) };
}

function withIssues(issues: readonly SchemaIssue[]): SchemaOutcome {
  const [first = { path: [], message: "the value does not match" }, ...others] = issues;
  return { kind: "issues", issues: [first, ...others] };
}

/** Keywords that only say that a part of the value is wrong. Another error says what is wrong with it. */
const OUTER_KEYWORDS: ReadonlySet<string> = new Set([
  "properties",
  "items",
  "allOf",
  "anyOf",
  "oneOf",
  "$ref",
]);

function readWithJsonSchema(schema: object, value: unknown): SchemaOutcome {
  const { valid, errors } = new Validator(schema, undefined, false).validate(value);
  if (valid) return { kind: "value", value };
  const inner = errors.filter(({ keyword }) => !OUTER_KEYWORDS.has(keyword));
  return withIssues(
    (inner.length > 0 ? inner : errors).map(({ instanceLocation, error }) => ({
      // In a JSON pointer, `~` and `/` are written as `~0` and `~1`.
      path: instanceLocation
        .split("/")
        .slice(1)
        .map((segment) => decodeURIComponent(segment).replaceAll("~1", "/").replaceAll("~0", "~")),
      message: error,
    })),
  );
}
