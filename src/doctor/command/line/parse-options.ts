import { parseArgs } from "node:util";
import { didYouMean, nearestOf } from "../../../shared/did-you-mean.js";
import { UsageError } from "../../targets/usage-error.js";
import { COMMANDS, type CommandName, type OptionRow } from "./option-row.js";
import { type GivenOptions, OPTIONS, optionsOf } from "./options.js";

/** A command line, read. */
export interface CommandLine {
  readonly command: CommandName;
  readonly options: GivenOptions;
  /** The operands: the receipt of `undo`, the file of `explain`. */
  readonly operands: readonly string[];
}

/** Read before anything else: a question for help needs no complete command line. */
export function asksForHelp(args: readonly string[]): boolean {
  return args[0] === "help" || args.some((arg) => arg === "--help" || arg === "-h");
}

/** The command that the arguments begin with; undefined if they begin with none. @throws UsageError for another word. */
export function commandOf(args: readonly string[]): CommandName | undefined {
  const [word] = args[0] === "help" ? args.slice(1) : args;
  if (word === undefined || word.startsWith("-")) return undefined;
  const command = COMMANDS.find((name) => name === word);
  if (command !== undefined) return command;
  throw new UsageError(
    `There is no command \`${word}\`. The commands are ${COMMANDS.join(", ")}.${didYouMean(word, COMMANDS)}`,
  );
}

/** @throws UsageError that names the wrong option or value. */
export function parseOptions(command: CommandName, args: readonly string[]): CommandLine {
  const rows = new Map<string, OptionRow>(optionsOf(command));
  const { tokens } = parseArgs({
    args: [...args],
    options: Object.fromEntries(
      [...rows].map(([name, row]) => [
        name,
        {
          type: row.read === undefined ? ("boolean" as const) : ("string" as const),
          ...(row.short !== undefined && { short: row.short }),
        },
      ]),
    ),
    strict: false,
    allowPositionals: true,
    tokens: true,
  });
  const values = new Map<string, unknown>();
  const operands: string[] = [];
  /** The option that further values belong to. */
  let listed: string | undefined;
  const take = (name: string, row: OptionRow, text: string): void => {
    const value = row.read?.(text, name);
    if (row.many) values.set(name, [...((values.get(name) as unknown[] | undefined) ?? []), value]);
    else if (values.has(name)) throw new UsageError(`--${name} was given twice.`);
    else values.set(name, value);
  };
  for (const token of tokens) {
    if (token.kind === "option-terminator") listed = undefined;
    else if (token.kind === "positional") {
      const row = listed === undefined ? undefined : rows.get(listed);
      if (listed !== undefined && row !== undefined) take(listed, row, token.value);
      else operands.push(token.value);
    } else {
      const row = rows.get(token.name);
      if (row === undefined) throw unknownOption(command, token.rawName, token.name, [...rows.keys()]);
      listed = row.listed === true ? token.name : undefined;
      if (row.read === undefined) {
        if (token.value !== undefined) throw new UsageError(`--${token.name} takes no value.`);
        values.set(token.name, true);
      } else if (token.value === undefined || (!token.inlineValue && /^-./.test(token.value)))
        throw new UsageError(`--${token.name} needs a value: --${token.name} ${row.value}.`);
      else take(token.name, row, token.value);
    }
  }
  for (const name of ["redact", "harvest"])
    if (values.has(name) && values.has(`no-${name}`))
      throw new UsageError(`Give --${name} or --no-${name}, and not both.`);
  return { command, options: Object.fromEntries(values), operands };
}

function unknownOption(
  command: CommandName,
  raw: string,
  name: string,
  known: readonly string[],
): UsageError {
  if (Object.hasOwn(OPTIONS, name)) {
    const others = COMMANDS.filter((other) => optionsOf(other).some(([own]) => own === name));
    return new UsageError(`\`${command}\` has no option --${name}. It belongs to ${others.join(", ")}.`);
  }
  const nearest = nearestOf(name, known);
  const question = nearest === undefined ? "" : ` Did you mean \`--${nearest}\`?`;
  return new UsageError(
    `\`${command}\` has no option ${raw}.${question} See langgraph-tether ${command} --help.`,
  );
}
