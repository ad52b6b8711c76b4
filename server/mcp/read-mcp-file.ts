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

export type McpServerSettings = ReturnType<typeof readMcpServers>[number];

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * Reads the file that the environment names. There is none if the variable is not set. `${NAME}` and `${NAME:-default}`
 * in texts are replaced by environment variables.
 *
 * A server without a `type` has streamable HTTP, or server-sent events if it has only those. Without a
 * `defaultToolTimeout` a call may take as long as the MCP client lets it.
 *
 * @throws InvalidSettingError that names the file and the place in it.
 */
export function readMcpServers(environment: Variables) {
  const path = environment[MCP_VARIABLE]?.trim();
  if (path === undefined || path === "") return [];
  const file = resolve(path);
  const problem = (reason: string) =>
    new InvalidSettingError(
      MCP_VARIABLE,
      `The file of \`${MCP_VARIABLE}\` (${file}) cannot be used. ${reason}`,
    );
  let content: unknown;
  try {
    content = JSON.parse(readFileSync(file, "utf8"));
  } catch (error) {
    throw problem(errorMessage(error));
  }
  const servers = isRecord(content) ? content["mcpServers"] : undefined;
  if (!isRecord(servers))
    throw problem(`Expected an object with \`mcpServers\`.${didYouMeanIn(content, ["mcpServers"])}`);

  return Object.entries(servers).flatMap(([name, given]) => {
    const place = `mcpServers.${name}`;
    if (!isRecord(given)) throw problem(`Expected \`${place}\` to be an object.`);
    if (given["disabled"] === true) return [];
    const hint = didYouMeanIn(given, KNOWN);
    const fields = Object(
      expandVariables(given, place, environment, (at, variable) =>
        problem(`\`${at}\` needs the environment variable \`${variable}\`, which is not set.`),
      ),
    );
    const isLocal = "command" in fields;
    if (isLocal === "url" in fields)
      throw problem(`Expected \`${place}\` to have either a \`command\` or a \`url\`.${hint}`);
    if (hint !== "") throw problem(`\`${place}\` has an unknown field.${hint}`);
    const { data, error } = (isLocal ? localSchema : remoteSchema).safeParse(fields);
    if (data === undefined) {
      const [issue] = error.issues;
      const at = [place, ...(issue?.path ?? [])].map(String).join(".");
      throw problem(`\`${at}\` is not valid: ${issue?.message}.`);
    }
    const { disabled: _, defaultToolTimeout, ...connection } = data;
    return [{ name, connection, defaultToolTimeout }];
  });
}

/** Other clients have fields of their own, which are ignored. A field that is nearly one of ours is a mistake. */
function didYouMeanIn(fields: unknown, known: readonly string[]): string {
  const unknown = Object.keys(Object(fields)).filter((field) => !known.includes(field));
  return unknown.map((field) => didYouMean(field, known)).find((hint) => hint !== "") ?? "";
}

const REFERENCE = /\$\{(\w+)(?::-([^}]*))?\}/g;

/**
 * Replaces `${NAME}` in the texts of a value, so that a file does not need to hold keys.
 *
 * @param place The place of the value, such as `mcpServers.github.headers.Authorization`.
 */
function expandVariables(
  value: unknown,
  place: string,
  variables: Variables,
  missing: (place: string, name: string) => Error,
): unknown {
  const inside = (item: unknown, name: string | number) =>
    expandVariables(item, `${place}.${name}`, variables, missing);
  if (Array.isArray(value)) return value.map(inside);
  if (isRecord(value))
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, inside(item, name)]));
  if (typeof value !== "string") return value;
  return value.replaceAll(REFERENCE, (_, name: string, otherwise: string | undefined) => {
    const text = variables[name] || otherwise;
    if (text === undefined) throw missing(place, name);
    return text;
  });
}
