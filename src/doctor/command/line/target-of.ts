/** The target and the selection that the options name. */

import { listWithOr } from "../../../shared/list-with-or.js";
import type { TargetPlace } from "../../targets/open-target.js";
import { safeAddress } from "../../targets/safe-address.js";
import { UsageError } from "../../targets/usage-error.js";
import type { ThreadSelection } from "../../thread-store.js";
import type { CommandIo } from "../command-io.js";
import { printableLine } from "../output/printable.js";
import type { CommandName } from "./option-row.js";
import { type GivenOptions, OPTIONS, type OptionName, type TargetName, targetsOf } from "./options.js";

/** Options that only one kind of target has. */
const BELONGS_TO: Readonly<Partial<Record<OptionName, readonly TargetName[]>>> = {
  "api-key-env": ["url"],
  header: ["url"],
  schema: ["postgres"],
  graph: ["postgres", "sqlite"],
};

/** @throws UsageError if the options name no target, several, or one that does not fit. */
export function targetOf(
  options: GivenOptions,
  { environment }: Pick<CommandIo, "environment">,
  command: CommandName = "doctor",
): TargetPlace {
  const targets = targetsOf(command);
  const given = targets.filter((name) => options[name] !== undefined);
  const [kind] = given;
  if (kind === undefined)
    throw new UsageError(
      `Expected a target: one of ${listWithOr(targets.map((name) => `--${name} ${OPTIONS[name].value}`))}.`,
    );
  if (given.length > 1)
    throw new UsageError(`Expected one target, got ${given.map((name) => `--${name}`).join(" and ")}.`);
  for (const [name, kinds] of Object.entries(BELONGS_TO))
    if (options[name as OptionName] !== undefined && !kinds.includes(kind))
      throw new UsageError(
        `--${name} belongs to ${kinds.map((one) => `--${one}`).join(" and ")}, not to --${kind}.`,
      );
  const { url, file, schema, graph } = options;
  if (url !== undefined) {
    const name = options["api-key-env"];
    const apiKey = name === undefined ? undefined : environment[name];
    if (name !== undefined && !apiKey)
      throw new UsageError(`The environment variable ${name} of --api-key-env is not set.`);
    return { kind: "url", url, apiKey, headers: Object.fromEntries(options.header ?? []) };
  }
  if (file !== undefined) return { kind: "file", file };
  const place = options.postgres ?? options.sqlite ?? "";
  return { kind: kind === "postgres" ? "postgres" : "sqlite", place, schema, graph };
}

export function selectionOf(options: GivenOptions, now: number): ThreadSelection {
  const { thread, metadata, status, since, limit } = options;
  const time = since === undefined ? undefined : "span" in since ? now - since.span : since.time;
  return {
    ...(thread !== undefined && { threadIds: [...new Set(thread)] }),
    ...(metadata !== undefined && { metadata: Object.fromEntries(metadata) }),
    ...(status !== undefined && { status }),
    ...(time !== undefined && { since: new Date(time) }),
    ...(limit !== undefined && { limit }),
  };
}

/** The options of the target as they are typed, without secrets. */
export function targetFlags(options: GivenOptions, { environment }: Pick<CommandIo, "environment">): string {
  const { url, postgres, sqlite, schema, graph, file } = options;
  const key = options["api-key-env"];
  const address =
    postgres !== undefined && postgres === environment["DATABASE_URL"] ? '"$DATABASE_URL"' : undefined;
  const flags: readonly (readonly [string, string | undefined])[] = [
    ["--url", url && quoted(safeAddress(url))],
    ["--postgres", postgres && (address ?? quoted(safeAddress(postgres)))],
    ["--sqlite", sqlite && quoted(sqlite)],
    ["--file", file && quoted(file)],
    ["--schema", schema && quoted(schema)],
    ["--graph", graph && quoted(graph)],
    ["--api-key-env", key && quoted(key)],
    ...(options.header ?? []).map(([name]) => ["--header", quoted(`${name}=…`)] as const),
  ];
  return flags.flatMap(([name, value]) => (value ? [`${name} ${value}`] : [])).join(" ");
}

/** The options that select threads, as they are typed. */
export function selectionFlags({ thread = [], metadata = [], status, since, limit }: GivenOptions): string {
  const flags = [
    thread.length > 0 && threadFlags(thread),
    ...metadata.map((pair) => `--metadata ${quoted(pair.join("="))}`),
    status !== undefined && `--status ${status}`,
    since !== undefined && `--since ${since.text}`,
    limit !== undefined && `--limit ${limit}`,
  ];
  return flags.filter((flag) => flag !== false).join(" ");
}

/** The option that names these threads. An id that begins with a dash would be read as an option. */
export function threadFlags(threadIds: readonly string[]): string {
  const plain = threadIds.filter((id) => !id.startsWith("-")).map(quoted);
  const dashed = threadIds.filter((id) => id.startsWith("-")).map((id) => `--thread=${quoted(id)}`);
  return [...(plain.length > 0 ? [`--thread ${plain.join(" ")}`] : []), ...dashed].join(" ");
}

/** A word of a command line, as a shell takes it. One with control characters is in the form of bash and zsh. */
export function quoted(word: string): string {
  const escaped = printableLine(word.replaceAll(/[\\']/g, "\\$&"));
  if (printableLine(word) !== word) return `$'${escaped}'`;
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}
