/** What commands read from their options, and a command line's options as they can be typed again. */

import type { Command } from "commander";
import type { DialectName } from "../../providers/contract/dialect-name.js";
import { graphOption } from "../targets/database.js";
import { isGraphNamed } from "../targets/load-graph.js";
import { type Pair, safeAddress } from "../targets/target.js";
import { targetIn } from "../targets/targets.js";
import type { ThreadStatus } from "../thread-store.js";
import type { CommandIo } from "./command-io.js";
import { quoted } from "./text.js";

/** The values of the options, besides those of targets. A command has the ones that `program.ts` gives it. */
export interface Options {
  readonly thread?: readonly string[];
  readonly metadata?: readonly Pair[];
  readonly status?: ThreadStatus;
  readonly since?: string;
  readonly quietFor?: string;
  readonly limit?: number;
  readonly dialect?: DialectName | "auto";
  readonly maxTokens?: number;
  readonly failOn: "error" | "unknown" | "warning" | "never";
  readonly apply?: true;
  readonly yes?: true;
  readonly receipt?: string;
  readonly format: "text" | "json";
  readonly redact?: boolean;
}

/** The headings of the help. */
export const GROUPS = {
  target: "Where the threads are (choose one):",
  select: "Which threads:",
  rules: "Rules:",
  write: "Writing:",
  output: "Output:",
} as const;

export type OptionGroup = keyof typeof GROUPS;

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

/** A date's time, or the time of a span such as `7d` before now. NaN for other text. */
export function timeOf(text: string, now: number): number {
  const [, count, unit] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  if (count !== undefined) return now - Number(count) * UNITS[unit as keyof typeof UNITS];
  return /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
}

/** `--quiet-for` in milliseconds. */
export const quietMsOf = ({ quietFor }: Pick<Options, "quietFor">): number | undefined =>
  quietFor === undefined ? undefined : -timeOf(quietFor, 0);

/** Whether the text is a span such as `7d`. */
export const isSpan = (text: string): boolean => timeOf(text, 0) <= 0;

/** A group's given options, as they can be typed again, without secrets. Each text stays on one line. */
export function typedOptions(
  command: Command,
  group: OptionGroup,
  { environment }: CommandIo,
): readonly string[] {
  return command.options.flatMap((option) => {
    const name = option.attributeName();
    const value: unknown = command.getOptionValue(name);
    if (option.helpGroupHeading !== GROUPS[group] || command.getOptionValueSource(name) !== "cli") return [];
    if (option.variadic) return typedThreads(value as readonly string[]);
    const values: readonly unknown[] = Array.isArray(value) ? value : [value];
    return values.map((each) => `${option.long} ${typedValue(each)}`);
  });

  function typedValue(value: unknown): string {
    const isPlace = group === "target";
    if (Array.isArray(value)) return quoted(isPlace ? `${value[0]}=…` : value.join("="));
    const text = String(value);
    if (isPlace && text === environment["DATABASE_URL"]) return '"$DATABASE_URL"';
    return quoted(isPlace && text.includes("://") ? safeAddress(text) : text);
  }
}

/** Whether a database is read without its graph, because none is named. */
export function lacksGraph(command: Command, { folder }: CommandIo): boolean {
  const options = command.opts();
  return targetIn(options).further.includes(graphOption) && !isGraphNamed(options["graph"], folder);
}

/** The `repair` of the same target. The operator fills in what a repair needs and nobody named. */
export function typedRepair(command: Command, io: CommandIo): readonly string[] {
  const missing = lacksGraph(command, io) ? ["--graph FILE:EXPORT"] : [];
  const { quietFor } = command.opts<Options>();
  const quiet = quietFor === undefined ? [] : [`--quiet-for ${quietFor}`];
  return ["npx langgraph-tether repair", ...typedOptions(command, "target", io), ...missing, ...quiet];
}

/** The option that names these threads. An id that begins with a dash would be read as an option. */
export function typedThreads(threadIds: readonly string[]): readonly string[] {
  const plain = threadIds.filter((id) => !id.startsWith("-")).map(quoted);
  const dashed = threadIds.filter((id) => id.startsWith("-")).map((id) => `--thread=${quoted(id)}`);
  return [...plain.map((id, index) => (index === 0 ? `--thread ${id}` : id)), ...dashed];
}
