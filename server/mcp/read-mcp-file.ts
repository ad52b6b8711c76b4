/** Reads the file of MCP servers: the `mcpServers` that other MCP clients have too. */

import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import { z } from "zod/v4";
import { InvalidSettingError } from "../../src/errors.js";
import { errorMessage } from "../../src/shared/is-error.js";
import { didYouMean } from "../../src/shared/text.js";
import { isRecord } from "../../src/shared/values.js";

const MCP_VARIABLE = "MCP_SERVERS";

const count = z.number().int().min(1);
const common = { disabled: z.boolean().optional(), defaultToolTimeout: count.optional() };
const texts = z.record(z.string(), z.string());

const localSchema = z.object({
  command: z.string().min(1),
  args: z.array(z.string()).default([]),
  env: texts.optional(),
  cwd: z.string().optional(),
  type: z.literal("stdio").optional(),
  transport: z.literal("stdio").optional(),
  ...common,
});

/** Clients have several names for the same transport. */
const remoteType = z
  .enum(["http", "streamable-http", "streamableHttp", "streamable_http", "sse"])
  .transform((name) => (name === "sse" ? name : ("http" as const)));

const remoteSchema = z.object({
  url: z.url({ protocol: /^https?$/ }),
  headers: texts.optional(),
  type: remoteType.optional(),
  transport: remoteType.optional(),
  ...common,
});

const KNOWN = [...Object.keys(localSchema.shape), ...Object.keys(remoteSchema.shape)];

export type McpServerSettings = ReturnType<typeof settingsFor>;

/**
 * Reads the file that the environment names. There is none if the variable is not set. `${NAME}` and `${NAME:-default}`
 * in texts are replaced by environment variables.
 *
 * @throws InvalidSettingError that names the file and the place in it.
 */
export function readMcpServers(environment: Variables): readonly McpServerSettings[] {
  const path = environment[MCP_VARIABLE]?.trim();
  if (path === undefined || path === "") return [];
  const file = resolve(path);
  const content = parseFile(file);
  const servers = isRecord(content) ? content["mcpServers"] : undefined;
  if (!isRecord(servers)) {
    const hint = isRecord(content) ? didYouMeanIn(content, ["mcpServers"]) : "";
    throw problem(file, `Expected an object with \`mcpServers\`.${hint}`);
  }
  return Object.entries(servers).flatMap(([name, given]) => {
    const place = `mcpServers.${name}`;
    const server = readServer(file, place, name, given, environment);
    return server === undefined ? [] : [server];
  });
}

function readServer(
  file: string,
  place: string,
  name: string,
  given: unknown,
  environment: Variables,
): McpServerSettings | undefined {
  if (!isRecord(given)) throw problem(file, `Expected \`${place}\` to be an object.`);
  if (given["disabled"] === true) return undefined;
  const hint = didYouMeanIn(given, KNOWN);
  const fields = Object(expandVariables(given, environment, file, place)) as Record<string, unknown>;
  if ("command" in fields === "url" in fields)
    throw problem(file, `Expected \`${place}\` to have either a \`command\` or a \`url\`.${hint}`);
  if (hint !== "") throw problem(file, `\`${place}\` has an unknown field.${hint}`);
  return settingsFor(
    name,
    "command" in fields ? check(file, place, localSchema, fields) : check(file, place, remoteSchema, fields),
  );
}

/**
 * A server without a `type` has streamable HTTP, or server-sent events if it has only those. Without a
 * `defaultToolTimeout` a call may take as long as the MCP client lets it.
 */
function settingsFor(name: string, fields: z.output<typeof localSchema> | z.output<typeof remoteSchema>) {
  const { disabled: _, defaultToolTimeout, ...connection } = fields;
  return { name, connection, defaultToolTimeout };
}

function check<Schema extends z.ZodType>(
  file: string,
  place: string,
  schema: Schema,
  fields: unknown,
): z.output<Schema> {
  const result = schema.safeParse(fields);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  const path = [place, ...(issue?.path ?? [])].map(String).join(".");
  throw problem(file, `\`${path}\` is not valid: ${issue?.message}.`);
}

/** Other clients have fields of their own, which are ignored. A field that is nearly one of ours is a mistake. */
function didYouMeanIn(fields: Record<string, unknown>, known: readonly string[]): string {
  const unknown = Object.keys(fields).filter((field) => !known.includes(field));
  return unknown.map((field) => didYouMean(field, known)).find((hint) => hint !== "") ?? "";
}

function parseFile(file: string): unknown {
  try {
    return JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw problem(file, errorMessage(error));
  }
}

function problem(file: string, reason: string): InvalidSettingError {
  return new InvalidSettingError(
    MCP_VARIABLE,
    `The file of \`${MCP_VARIABLE}\` (${file}) cannot be used. ${reason}`,
  );
}

/*
 * Replaces `${NAME}` in the texts of a value, so that a file does not need to hold keys.
 */

type Variables = Readonly<Record<string, string | undefined>>;

const REFERENCE = /\$\{(\w+)(?::-([^}]*))?\}/g;

/** @param place The place of the value, such as `mcpServers.github.headers.Authorization`. */
function expandVariables(value: unknown, variables: Variables, file: string, place: string): unknown {
  const inside = (item: unknown, name: string | number) =>
    expandVariables(item, variables, file, `${place}.${name}`);
  if (Array.isArray(value)) return value.map(inside);
  if (isRecord(value))
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, inside(item, name)]));
  if (typeof value !== "string") return value;
  return value.replaceAll(REFERENCE, (_, name: string, otherwise: string | undefined) => {
    const text = variables[name] || otherwise;
    if (text === undefined)
      throw problem(file, `\`${place}\` needs the environment variable \`${name}\`, which is not set.`);
    return text;
  });
}
