/** A schema of a structured response: its JSON schema, its name, and the check of a value. */

import { toJsonSchema, Validator } from "@langchain/core/utils/json_schema";
import { storageDemand } from "../../history/reading/storable.js";
import { isError } from "../../shared/is-error.js";
import { isRecord } from "../../shared/is-record.js";

/** A schema with the interface of Standard Schema, such as one of zod or valibot. */
export interface StandardSchema {
  readonly "~standard": {
    readonly validate: (value: unknown) => unknown;
    readonly types?: { readonly output: unknown } | undefined;
  };
}

/** A JSON schema, or a function definition `{ name, parameters }` in OpenAI's form. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** The schema of a structured response: zod, another Standard Schema that can be written as JSON schema, or JSON schema. */
export type ResponseSchema = StandardSchema | JsonSchema;

export type CheckedResponse =
  | { readonly kind: "right"; readonly value: unknown }
  /** Each error is a text that names the field. */
  | { readonly kind: "wrong"; readonly errors: readonly string[] };

export interface Format {
  /** A name that every provider accepts as the name of a tool. */
  readonly name: string;
  readonly description: string | undefined;
  readonly jsonSchema: Readonly<Record<string, unknown>>;
  /** Contract: never rejects. A zod schema completes and transforms the value. */
  readonly check: (value: unknown) => Promise<CheckedResponse>;
}

/**
 * Reads a schema.
 *
 * @param fallbackName The name of a format whose schema has no title.
 * @returns A text instead of a format says what the schema has to be.
 */
export function readSchema(schema: unknown, fallbackName: string): Format | string {
  if (!isObject(schema)) return "a schema";
  const definition = readDefinition(schema);
  const json = jsonSchemaOf(definition?.parameters ?? schema);
  if (typeof json === "string") return json;
  if (json["type"] !== "object") return "a schema of an object";
  const { title, description } = json;
  const name = legalName(definition?.name ?? title) ?? fallbackName;
  const text = definition?.description ?? description;
  return {
    name,
    description: typeof text === "string" ? text : undefined,
    jsonSchema: json,
    check: async (value) => storable(await checkerOf(schema, json)(value)),
  };
}

function isObject(value: unknown): value is object {
  return (
    (typeof value === "object" && value !== null && !Array.isArray(value)) || typeof value === "function"
  );
}

/** The form `{ name, description, parameters }`, which LangChain takes too. */
function readDefinition(schema: object) {
  const name: unknown = Reflect.get(schema, "name");
  const parameters: unknown = Reflect.get(schema, "parameters");
  const isDefinition = typeof name === "string" && isRecord(parameters) && !isStandardSchema(schema);
  return isDefinition ? { name, parameters, description: Reflect.get(schema, "description") } : undefined;
}

function jsonSchemaOf(schema: object): Record<string, unknown> | string {
  try {
    const json: unknown = toJsonSchema(schema);
    return isRecord(json) ? json : "a schema";
  } catch (error) {
    return `a schema that can be written as JSON schema (${isError(error) ? error.message : String(error)})`;
  }
}

type Checker = (value: unknown) => Promise<CheckedResponse>;

function checkerOf(schema: object, json: Record<string, unknown>): Checker {
  return isStandardSchema(schema)
    ? (value) => validate(schema, value)
    : async (value) => validateJson(json, value);
}

function isStandardSchema(schema: object): schema is StandardSchema {
  const standard: unknown = Reflect.get(schema, "~standard");
  return isRecord(standard) && typeof standard["validate"] === "function";
}

async function validate(schema: StandardSchema, value: unknown): Promise<CheckedResponse> {
  try {
    const result: unknown = await schema["~standard"].validate(value);
    const issues: unknown = isRecord(result) ? result["issues"] : undefined;
    if (Array.isArray(issues)) return wrong(issues.map(describeIssue));
    return { kind: "right", value: isRecord(result) ? result["value"] : undefined };
  } catch (error) {
    // A transform or refinement of the schema threw.
    return wrong([isError(error) ? error.message : String(error)]);
  }
}

function describeIssue(issue: unknown): string {
  const { message, path } = isRecord(issue) ? issue : {};
  const keys = Array.isArray(path) ? path.map((part) => String(isRecord(part) ? part["key"] : part)) : [];
  return keys.length === 0 ? String(message) : `${keys.join(".")}: ${String(message)}`;
}

/** Keywords that only say that a part of the value is wrong. Another error says what is wrong with it. */
const OUTER_KEYWORDS: ReadonlySet<string> = new Set(["properties", "items", "allOf", "$ref"]);

function validateJson(json: Record<string, unknown>, value: unknown): CheckedResponse {
  const { valid, errors } = new Validator(json, "2020-12", false).validate(value);
  if (valid) return { kind: "right", value };
  const inner = errors.filter(({ keyword }) => !OUTER_KEYWORDS.has(keyword));
  return wrong(
    (inner.length > 0 ? inner : errors).map(({ instanceLocation, error }) => {
      const field = instanceLocation.replace(/^#\/?/, "").replaceAll("/", ".");
      return field === "" ? error : `${field}: ${error}`;
    }),
  );
}

function wrong(errors: readonly string[]): CheckedResponse {
  return { kind: "wrong", errors };
}

function storable(checked: CheckedResponse): CheckedResponse {
  const demand = checked.kind === "right" ? storageDemand(checked.value) : undefined;
  return demand === undefined ? checked : wrong([`it must be ${demand}`]);
}

/** Undefined if nothing of the name can be kept. */
function legalName(given: unknown): string | undefined {
  if (typeof given !== "string") return undefined;
  const name = given
    .replaceAll(/[^a-zA-Z0-9_-]+/g, "_")
    .replace(/^[^a-zA-Z]+/, "")
    .slice(0, 64);
  return name === "" ? undefined : name;
}
