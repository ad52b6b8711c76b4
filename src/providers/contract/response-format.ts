/** A wanted response's JSON schema, and what providers demand of it. */

import { isRecord } from "../../shared/values.js";

export type Json = Readonly<Record<string, unknown>>;

export interface WantedFormat {
  readonly name: string;
  readonly description: string | undefined;
  readonly jsonSchema: Json;
  /** Undefined: if the schema allows it. */
  readonly strict: boolean | undefined;
}

/** OpenAI's strict mode: every field is required, and there are no others. */
export function isStrict(schema: Json): boolean {
  return schemasIn(schema).every(({ type, properties, required, additionalProperties = false }) => {
    if (type !== "object" && properties === undefined) return true;
    if (additionalProperties !== false || !isRecord(properties) || !Array.isArray(required)) return false;
    return Object.keys(properties).every((name) => required.includes(name));
  });
}

/** The schema with closed objects, which OpenAI's strict mode and Anthropic demand. */
export function closed(schema: Json): Json {
  return mapSchemas(schema, (part) =>
    isRecord(part["properties"]) && part["additionalProperties"] === undefined
      ? { ...part, additionalProperties: false }
      : part,
  );
}

/** Keywords whose value is a schema or a list of schemas, and those whose value has a schema for each name. */
const INNER = ["items", "prefixItems", "anyOf", "oneOf", "allOf", "not", "additionalProperties"];
const NAMED = ["properties", "$defs", "definitions"];

export function mapSchemas(schema: Json, change: (part: Json) => Json): Json {
  const inner = (value: unknown): unknown => (isRecord(value) ? mapSchemas(value, change) : value);
  const changed = Object.entries(change(schema)).map(([keyword, value]): [string, unknown] => {
    if (INNER.includes(keyword)) return [keyword, Array.isArray(value) ? value.map(inner) : inner(value)];
    if (!NAMED.includes(keyword) || !isRecord(value)) return [keyword, value];
    return [keyword, Object.fromEntries(Object.entries(value).map(([name, one]) => [name, inner(one)]))];
  });
  return Object.fromEntries(changed);
}

export function schemasIn(schema: Json): Json[] {
  const parts: Json[] = [];
  mapSchemas(schema, (part) => {
    parts.push(part);
    return part;
  });
  return parts;
}
