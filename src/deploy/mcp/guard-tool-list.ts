/** Reads the list of tools of an MCP server such that no server can stop the process with it. */

import { isRecord } from "../../shared/values.js";

export type McpClient = Parameters<typeof import("@langchain/mcp-adapters")["loadMcpTools"]>[1];

const MOST_PAGES = 100;
const MOST_TOOLS = 1_000;
/** How many objects and lists the schemas of all tools may have together, where each `$ref` counts as what it refers to. */
const MOST_PARTS = 100_000;

/**
 * A view of the client that reads a list of tools up to limits, and leaves out of the schemas what can keep the process
 * busy for minutes. All other requests pass.
 *
 * @param signal Ends the reading of a list when it aborts.
 * @throws From its requests: Error if the list is longer than the limits.
 */
export function guardToolList(client: McpClient, signal: AbortSignal): McpClient {
  let pages = 0;
  let tools = 0;
  const parts = { left: MOST_PARTS };
  const request: McpClient["request"] = async (asked, schema, options) => {
    if (asked.method !== "tools/list") return client.request(asked, schema, options);
    signal.throwIfAborted();
    pages += 1;
    const page = await client.request(asked, schema, options);
    const listed = isRecord(page) && Array.isArray(page["tools"]) ? page["tools"] : [];
    tools += listed.length;
    if (pages > MOST_PAGES || tools > MOST_TOOLS)
      throw new Error(`its list of tools is longer than ${MOST_PAGES} pages or ${MOST_TOOLS} tools`);
    // Without the schema of its output, the client does not check what a tool returns, and so compiles no pattern for it.
    return Object.assign(page, {
      tools: listed.map(({ outputSchema: _, inputSchema, ...tool }) => {
        const harmless = withoutPatterns(inputSchema);
        countParts(harmless, harmless, new Set(), parts);
        return { ...tool, inputSchema: harmless };
      }),
    });
  };
  return new Proxy(client, {
    get: (target, key) => (key === "request" ? request : Reflect.get(target, key)),
  });
}

/** Follows references as those who read the schema do: a few of them can stand for billions of parts. */
function countParts(value: unknown, root: unknown, followed: Set<string>, parts: { left: number }): void {
  if (typeof value !== "object" || value === null) return;
  parts.left -= 1;
  if (parts.left < 0) throw new Error(`the schemas of its tools have more than ${MOST_PARTS} parts`);
  for (const inner of Object.values(value)) countParts(inner, root, followed, parts);
  const reference: unknown = Reflect.get(value, "$ref");
  if (typeof reference !== "string" || followed.has(reference)) return;
  followed.add(reference);
  const target = reference
    .split("/")
    .slice(1)
    .reduce<unknown>((at, key) => Reflect.get(Object(at), key), root);
  countParts(target, root, followed, parts);
  followed.delete(reference);
}

/** The only references that are followed: to a place in the schema, by plain names. */
const PLAIN_REFERENCE = /^#(?:\/[\w$.-]+)+$/;
/** What would give such a reference another meaning, or refers to something in another way. */
const NAMES: ReadonlySet<string> = new Set([
  "$anchor",
  "$dynamicAnchor",
  "$dynamicRef",
  "$id",
  "$recursiveAnchor",
  "$recursiveRef",
  "id",
]);
/** Keywords whose value is not a schema. */
const DATA: ReadonlySet<string> = new Set(["const", "default", "enum"]);
/** Keywords whose value has a schema under each name. */
const NAMED: ReadonlySet<string> = new Set(["$defs", "definitions", "dependentSchemas", "properties"]);
/** With `patternProperties`, these would refuse what matches a pattern. */
const REST: ReadonlySet<string> = new Set(["additionalProperties", "unevaluatedProperties"]);

/**
 * The schema without regular expressions, which would be compiled here, and can need minutes for a short text. The model
 * reads them in the description, and the server checks its arguments itself.
 */
function withoutPatterns(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (!isRecord(schema)) return schema;
  const { pattern, patternProperties, description, ...rest } = schema;
  const told = [
    ...(typeof description === "string" ? [description] : []),
    ...(pattern === undefined ? [] : [`Pattern: ${String(pattern)}`]),
    ...(patternProperties === undefined
      ? []
      : [`Patterns of names: ${Object.keys(Object(patternProperties)).join(", ")}`]),
  ].join("\n");
  const isKept = ([key, value]: readonly [string, unknown]): boolean => {
    if (key === "$ref") return PLAIN_REFERENCE.test(String(value));
    return !NAMES.has(key) && (patternProperties === undefined || !REST.has(key));
  };
  const fields = Object.entries(rest)
    .filter(isKept)
    .map(([key, value]) => [key, DATA.has(key) ? value : withinKeyword(key, value)]);
  return { ...Object.fromEntries(fields), ...(told !== "" && { description: told }) };
}

function withinKeyword(key: string, value: unknown): unknown {
  if (!NAMED.has(key) || !isRecord(value)) return withoutPatterns(value);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutPatterns(inner)]));
}
