/** Reads values with any schema of the Standard Schema interface, such as those of zod. */

import { toJsonSchema } from "@langchain/core/utils/json_schema";
import { isInteropZodSchema } from "@langchain/core/utils/types";
import { getJsonSchemaFromSchema, isStandardSchema } from "@langchain/langgraph";
import { z } from "zod/v4";
import { isError } from "../../shared/is-error.js";
import { isRecord } from "../../shared/is-record.js";
import { safely } from "../../shared/safely.js";

/** What a schema makes of a value, or what is wrong with the value. */
export type SchemaOutcome =
  | { readonly kind: "value"; readonly value: unknown }
  | { readonly kind: "issue"; readonly issue: SchemaIssue };

export interface SchemaIssue {
  /** The place inside the value: keys and indexes. Empty for the value itself. */
  readonly path: readonly PropertyKey[];
  /** The words of the schema's library. */
  readonly message: string;
}

/** Contract: never rejects. What a schema throws is an issue. A value without a schema is returned as it is. */
export async function readWith(schema: unknown, value: unknown): Promise<SchemaOutcome> {
  if (!isStandardSchema(schema)) return { kind: "value", value };
  try {
    return outcomeOf(await schema["~standard"].validate(value));
  } catch (error) {
    return { kind: "issue", issue: { path: [], message: isError(error) ? error.message : String(error) } };
  }
}

interface Validated {
  readonly value?: unknown;
  readonly issues?: readonly StandardIssue[] | undefined;
}

interface StandardIssue {
  readonly message: string;
  readonly path?: readonly (PropertyKey | { readonly key: PropertyKey })[] | undefined;
}

function outcomeOf(result: Validated): SchemaOutcome {
  if (result.issues === undefined) return { kind: "value", value: result.value };
  const [first] = result.issues;
  const path = (first?.path ?? []).map((segment) => (typeof segment === "object" ? segment.key : segment));
  return { kind: "issue", issue: { path, message: first?.message ?? "the value does not match" } };
}

/** Makes the default value of a schema; undefined if it has none. It is made anew each time, so threads share none. */
export function defaultGetterOf(schema: unknown): (() => unknown) | undefined {
  if (!isStandardSchema(schema)) return undefined;
  const read = (): Validated | undefined => {
    const result = safely(() => schema["~standard"].validate(undefined), undefined);
    return result !== undefined && "then" in result ? undefined : result;
  };
  const first = read();
  if (first === undefined || first.issues !== undefined || first.value === undefined) return undefined;
  return () => {
    const result = read();
    return result?.issues === undefined ? result?.value : undefined;
  };
}

/** The JSON schema of the values that a schema takes. Empty if it cannot be written as one. */
export function jsonSchemaOf(schema: unknown): Record<string, unknown> {
  const written = safely<unknown>(
    () => (isInteropZodSchema(schema) ? toJsonSchema(schema) : getJsonSchemaFromSchema(schema)),
    undefined,
  );
  if (!isRecord(written)) return {};
  // These have a meaning only at the root of a schema.
  const { $schema: _version, id: _id, $defs: definitions, ...own } = written;
  return definitions === undefined ? own : {};
}

/** A schema that takes any value, and tells clients which values its key takes. */
export function describedBy(json: Record<string, unknown>): z.ZodType {
  return z.any().meta(json);
}

/** The place of an issue, such as `plan.steps[0]`. */
export function placeIn(key: string, { path }: SchemaIssue): string {
  return key + path.map((part) => (typeof part === "number" ? `[${part}]` : `.${String(part)}`)).join("");
}
