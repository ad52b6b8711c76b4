/** The call options with which LangChain's clients ask their providers for a response in a JSON schema. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { isRecord } from "../../shared/values.js";
import { dialectOf, innermost } from "../dialect-of.js";
import type { DialectName } from "../dialects.js";

type Json = Readonly<Record<string, unknown>>;

export interface WantedFormat {
  readonly name: string;
  readonly description: string | undefined;
  readonly jsonSchema: Json;
  /** Undefined: if the schema allows it. */
  readonly strict: boolean | undefined;
}

/** The call options for one client. A client ignores the options of others, so an unknown one gets all of them. */
export function formatOptions(model: object, wanted: WantedFormat): Readonly<Record<string, unknown>> {
  switch (dialectOf(model)) {
    case "anthropic":
      return forAnthropic(wanted);
    case "gemini":
      return forGemini(wanted);
    case "mistral":
      return forMistral(wanted);
    case "dashscope-native":
      // Its client has no such option.
      return {};
    case "strict":
      return { ...forOpenAI(wanted), ...forAnthropic(wanted), ...forGemini(wanted) };
    default:
      return forOpenAI(wanted);
  }
}

function forOpenAI({ name, description, jsonSchema, strict = isStrict(jsonSchema) }: WantedFormat) {
  const schema = strict ? closed(jsonSchema) : jsonSchema;
  const json_schema = { name, ...(description !== undefined && { description }), schema, strict };
  return { response_format: { type: "json_schema", json_schema } };
}

function forAnthropic({ jsonSchema }: WantedFormat) {
  return { outputConfig: { format: { type: "json_schema", schema: closed(jsonSchema) } } };
}

/** Gemini refuses these keywords. */
function forGemini({ jsonSchema }: WantedFormat) {
  return {
    responseSchema: mapSchemas(
      jsonSchema,
      ({ additionalProperties: _more, $schema: _draft, ...rest }) => rest,
    ),
  };
}

/** The client passes its option to Mistral's SDK, which has names in camel case. */
function forMistral({ name, description, jsonSchema, strict = isStrict(jsonSchema) }: WantedFormat) {
  const jsonSchemaOption = { name, description, schemaDefinition: closed(jsonSchema), strict };
  return { response_format: { type: "json_schema", jsonSchema: jsonSchemaOption } };
}

/** Dialects whose providers have the feature. DeepSeek and DashScope know JSON without a schema only. */
const FORMAT_DIALECTS: ReadonlySet<DialectName> = new Set<DialectName>([
  "openai",
  "openai-responses",
  "anthropic",
  "gemini",
]);

/** Whether the provider makes the model's responses match the schema, by the profile of LangChain's client. */
export function canFormat(model: BaseChatModel, { jsonSchema }: WantedFormat, hasTools: boolean): boolean {
  const profile: unknown = Reflect.get(innermost(model), "profile");
  if (!isRecord(profile) || profile["structuredOutput"] !== true) return false;
  const dialect = dialectOf(model);
  if (!FORMAT_DIALECTS.has(dialect)) return false;
  // "Function calling with a response mime type: 'application/json' is unsupported", says Gemini.
  if (dialect === "gemini") return !hasTools;
  return isStrict(jsonSchema) && (dialect !== "anthropic" || !usesBounds(jsonSchema));
}

/** OpenAI's strict mode: every field is required, and there are no others. */
function isStrict(schema: Json): boolean {
  return schemasIn(schema).every(({ type, properties, required, additionalProperties }) => {
    if (type !== "object" && properties === undefined) return true;
    const names = isRecord(properties) ? Object.keys(properties) : [];
    const isClosed = additionalProperties === undefined || additionalProperties === false;
    return (
      isClosed &&
      isRecord(properties) &&
      Array.isArray(required) &&
      names.every((name) => required.includes(name))
    );
  });
}

/** Keywords that Anthropic refuses. */
const BOUNDS = [
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "maxItems",
];

function usesBounds(schema: Json): boolean {
  return schemasIn(schema).some((part) => BOUNDS.some((keyword) => keyword in part));
}

/** The schema without other fields in its objects, which OpenAI's strict mode and Anthropic demand. */
function closed(schema: Json): Json {
  return mapSchemas(schema, (part) =>
    isRecord(part["properties"]) && part["additionalProperties"] === undefined
      ? { ...part, additionalProperties: false }
      : part,
  );
}

/** Keywords whose value is a schema or a list of schemas, and those whose value has a schema for each name. */
const INNER = ["items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "additionalProperties"];
const NAMED = ["properties", "$defs", "definitions"];

function mapSchemas(schema: Json, change: (part: Json) => Json): Json {
  const changed = Object.entries(change(schema)).map(([keyword, value]): [string, unknown] => {
    if (INNER.includes(keyword)) {
      if (Array.isArray(value))
        return [keyword, value.map((one) => (isRecord(one) ? mapSchemas(one, change) : one))];
      return [keyword, isRecord(value) ? mapSchemas(value, change) : value];
    }
    if (!NAMED.includes(keyword) || !isRecord(value)) return [keyword, value];
    const named = Object.entries(value).map(([name, one]) => [
      name,
      isRecord(one) ? mapSchemas(one, change) : one,
    ]);
    return [keyword, Object.fromEntries(named)];
  });
  return Object.fromEntries(changed);
}

function schemasIn(schema: Json): Json[] {
  const parts: Json[] = [];
  mapSchemas(schema, (part) => {
    parts.push(part);
    return part;
  });
  return parts;
}
