/** The options of the command line, and its help. */

import { parseArgs } from "node:util";
import { DIALECT_NAMES } from "../../providers/dialects.js";
import { didYouMean, listWithOr, nearestOf } from "../../shared/text.js";
import type { TargetPlace } from "../targets/open-target.js";
import { safeAddress, UsageError } from "../targets/target.js";
import type { ThreadSelection } from "../thread-store.js";
import type { CommandIo } from "./command-io.js";
import { printableLine, wrapText } from "./text.js";

/*
 * Reads the texts of options. Each function throws a {@link UsageError} that names the option and the text.
 */

/** Contract: returns the value of the option, or throws a {@link UsageError}. */
type ReadValue<Value> = (text: string, option: string) => Value;

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const;

const readText: ReadValue<string> = (text, option) => {
  if (text === "") throw expected(option, "not empty", text);
  return text;
};

const readCount: ReadValue<number> = (text, option) => {
  const count = Number(text);
  if (!/^\d+$/.test(text) || count < 1 || !Number.isSafeInteger(count))
    throw expected(option, "an integer of 1 or more", text);
  return count;
};

/** A span such as `7d`, in milliseconds; or a date, as the time of that date. */
const readSince: ReadValue<
  ({ readonly span: number } | { readonly time: number }) & { readonly text: string }
> = (text, option) => {
  const [, count, unit] = /^(\d{1,6})([smhdw])$/.exec(text) ?? [];
  if (count !== undefined) return { text, span: Number(count) * UNITS[unit as keyof typeof UNITS] };
  const time = /^\d{4}-\d{2}-\d{2}/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(time))
    throw expected(option, "a span such as 30m, 12h, 7d or 2w, or a date such as 2026-01-31", text);
  return { text, time };
};

const readPair: ReadValue<readonly [key: string, value: string]> = (text, option) => {
  const at = text.indexOf("=");
  // The value can be a secret, so the error shows nothing behind the name.
  if (at < 1) throw new UsageError(`Expected --${option} to be KEY=VALUE.`);
  return [text.slice(0, at).trim(), text.slice(at + 1).trim()];
};

const readAddress: ReadValue<string> = (text, option) => {
  if (!URL.canParse(text) || !/^https?:$/.test(new URL(text).protocol))
    throw new UsageError(`Expected --${option} to be an address such as http://localhost:2024.`);
  return text;
};

/** A reader of one of some names. */
function oneOf<const Name extends string>(...names: readonly Name[]): ReadValue<Name> {
  return (text, option) => {
    const found = names.find((name) => name === text);
    if (found !== undefined) return found;
    throw new UsageError(
      `Expected --${option} to be ${listWithOr(names)}, got \`${text}\`.${didYouMean(text, names)}`,
    );
  };
}

function expected(option: string, what: string, got: string): UsageError {
  return new UsageError(`Expected --${option} to be ${what}, got \`${got}\`.`);
}

/*
 * What an option is made of. `options.ts` has the options.
 */

export const COMMANDS = ["doctor", "repair", "undo", "explain", "size", "inspect"] as const;
type CommandName = (typeof COMMANDS)[number];

/** The headings of the help, in its order. */
const GROUPS = {
  target: "Where the threads are",
  select: "Which threads",
  rules: "Rules",
  write: "Writing",
  output: "Output",
} as const;

interface OptionRow<Value = unknown> {
  readonly group: keyof typeof GROUPS;
  /** What stands for the value in the help. An option without a value is a switch. */
  readonly value?: string;
  readonly read?: ReadValue<Value>;
  /** Whether it can be given more than once. Its value is then a list. */
  readonly many?: true;
  /** Whether several values can follow the name once. */
  readonly listed?: true;
  readonly short?: string;
  readonly help: string;
  readonly commands: readonly CommandName[];
}

const STORED: readonly CommandName[] = ["doctor", "repair", "size"];
const TARGET: readonly CommandName[] = ["doctor", "repair", "undo", "size", "inspect"];
/** Only a database tells what it stores. */
const SERVED: readonly CommandName[] = ["doctor", "repair", "undo", "inspect"];
const JUDGING: readonly CommandName[] = ["doctor", "repair"];

const OPTIONS = {
  url: {
    group: "target",
    value: "ADDRESS",
    read: readAddress,
    help: "A LangGraph server. Needs the package @langchain/langgraph-sdk.",
    commands: SERVED,
  },
  "api-key-env": {
    group: "target",
    value: "NAME",
    read: readText,
    help: "The environment variable with the server's API key. Default: LANGGRAPH_API_KEY, LANGSMITH_API_KEY or LANGCHAIN_API_KEY.",
    commands: SERVED,
  },
  header: {
    group: "target",
    value: "KEY=VALUE",
    read: readPair,
    many: true,
    help: "A header of each request to the server. Can be given more than once.",
    commands: SERVED,
  },
  postgres: {
    group: "target",
    value: "ADDRESS",
    read: readText,
    help: 'A PostgreSQL database, such as "$DATABASE_URL". Needs @langchain/langgraph-checkpoint-postgres.',
    commands: TARGET,
  },
  schema: {
    group: "target",
    value: "NAME",
    read: readText,
    help: "The schema of the tables in PostgreSQL. Default: public.",
    commands: TARGET,
  },
  sqlite: {
    group: "target",
    value: "FILE",
    read: readText,
    help: "An SQLite database. Needs @langchain/langgraph-checkpoint-sqlite.",
    commands: TARGET,
  },
  file: {
    group: "target",
    value: "FILE",
    read: readText,
    help: "A JSON file: a list of messages, what getState returned, or one of these on each line. - reads standard input.",
    commands: [...JUDGING, "inspect"],
  },
  graph: {
    group: "target",
    value: "FILE:EXPORT",
    read: readText,
    help: "Your own graph, for --postgres and --sqlite. Default: the graph of langgraph.json.",
    commands: TARGET,
  },
  thread: {
    group: "select",
    value: "ID...",
    read: readText,
    many: true,
    listed: true,
    help: "Only these threads.",
    commands: [...STORED, "undo"],
  },
  metadata: {
    group: "select",
    value: "KEY=VALUE",
    read: readPair,
    many: true,
    help: "Only threads with this metadata. Can be given more than once.",
    commands: STORED,
  },
  status: {
    group: "select",
    value: "STATUS",
    read: oneOf("idle", "interrupted", "error"),
    help: "Only threads with this status: idle, interrupted or error.",
    commands: STORED,
  },
  since: {
    group: "select",
    value: "SPAN",
    read: readSince,
    help: "Only threads that changed in this span, such as 12h or 7d, or since a date.",
    commands: STORED,
  },
  limit: {
    group: "select",
    value: "COUNT",
    read: readCount,
    help: "Reads at most this many threads.",
    commands: STORED,
  },
  concurrency: {
    group: "select",
    value: "COUNT",
    read: readCount,
    help: "How many threads are read at once. Default: 4.",
    commands: STORED,
  },
  dialect: {
    group: "rules",
    value: "NAME",
    read: oneOf("auto", ...DIALECT_NAMES),
    help: `Whose rules apply: auto (by the models that wrote the thread; not for explain), ${DIALECT_NAMES.join(", ")}. Default: auto; for explain: strict.`,
    commands: ["doctor", "repair", "explain"],
  },
  "max-tokens": {
    group: "rules",
    value: "COUNT",
    read: readCount,
    help: "The window of your model. A thread with more tokens, by an estimate, is a finding. Default: not checked.",
    commands: ["doctor"],
  },
  "fail-on": {
    group: "rules",
    value: "SEVERITY",
    read: oneOf("error", "warning", "never"),
    help: "Ends with code 1 if a finding is an error, if one is a warning or worse, or never. Default: error.",
    commands: ["doctor"],
  },
  "max-findings": {
    group: "rules",
    value: "COUNT",
    read: readCount,
    help: "Lists at most this many findings. All are counted. Default: all.",
    commands: JUDGING,
  },
  apply: {
    group: "write",
    help: "Writes the repairs. Without it nothing is written.",
    commands: ["repair"],
  },
  yes: {
    group: "write",
    help: "Does not ask before writing. Needed where no human can be asked.",
    commands: ["repair", "undo"],
  },
  receipt: {
    group: "write",
    value: "FILE",
    read: readText,
    help: "Where to write down what was there before, for undo. Must not exist. Default: tether-receipt-DATE.jsonl.",
    commands: ["repair"],
  },
  harvest: {
    group: "write",
    help: "Recovers results of tools that finished before their run was stopped. This is the default.",
    commands: ["repair"],
  },
  "no-harvest": {
    group: "write",
    help: "Writes a placeholder instead of a result that could be recovered.",
    commands: ["repair"],
  },
  force: {
    group: "write",
    help: "Restores threads that have got messages since the repair too. These stay, after the restored ones.",
    commands: ["undo"],
  },
  "as-node": {
    group: "write",
    value: "NAME",
    read: readText,
    help: "The node that the thread is written as. Default: the node that LangGraph finds itself.",
    commands: ["repair", "undo"],
  },
  port: {
    group: "output",
    value: "PORT",
    read: readCount,
    help: "The port of the page. Default: a free one.",
    commands: ["inspect"],
  },
  format: {
    group: "output",
    value: "FORMAT",
    read: oneOf("text", "json", "ndjson"),
    help: "text, json, or ndjson (one line for each thread, as it is read). Default: text.",
    commands: ["doctor", "repair", "explain", "size"],
  },
  redact: {
    group: "output",
    help: "Prints no text of messages, only ids, names and lengths. This is the default.",
    commands: ["doctor", "repair", "explain"],
  },
  "no-redact": {
    group: "output",
    help: "Prints the beginning of messages too.",
    commands: ["doctor", "repair", "explain"],
  },
  quiet: {
    group: "output",
    help: "Prints no progress, and in text only the threads with findings.",
    commands: COMMANDS,
  },
  help: { group: "output", short: "h", help: "Prints this help.", commands: COMMANDS },
} as const satisfies Readonly<Record<string, OptionRow>>;

type OptionName = keyof typeof OPTIONS;

type ValueOf<Row> = Row extends { readonly read: ReadValue<infer Value> }
  ? Row extends { readonly many: true }
    ? readonly Value[]
    : Value
  : true;

/** What a command line gives. An option that is not given is undefined. */
export type GivenOptions = { readonly [Name in OptionName]?: ValueOf<(typeof OPTIONS)[Name]> };

const TARGETS = ["url", "postgres", "sqlite", "file"] as const;
type TargetName = (typeof TARGETS)[number];

/** The options that can name the target of a command. */
export function targetsOf(command: CommandName): readonly TargetName[] {
  return TARGETS.filter((name) => OPTIONS[name].commands.includes(command));
}

/** The options of a command, with their names. */
function optionsOf(command: CommandName): readonly (readonly [OptionName, OptionRow])[] {
  const rows = Object.entries(OPTIONS) as [OptionName, OptionRow][];
  return rows.filter(([, row]) => row.commands.includes(command));
}

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

/*
 * The help, made from the table of options.
 */

interface About {
  readonly usage: string;
  readonly short: string;
  readonly long: readonly string[];
  readonly examples: readonly string[];
}

const ABOUT: Readonly<Record<CommandName, About>> = {
  doctor: {
    usage: "langgraph-tether doctor TARGET [options]",
    short: "finds broken threads; never writes",
    long: [
      "Reads threads and says which of them a model would refuse, and why. It only reads: a database is opened so that it refuses every write.",
      "Ends with 0 if nothing was found, 1 if there are findings, 2 for a wrong option or target, 3 if some threads could not be read, 101 for a fault of its own.",
    ],
    examples: [
      "npx langgraph-tether doctor --url http://localhost:2024",
      'npx langgraph-tether doctor --postgres "$DATABASE_URL" --graph ./src/agent.ts:graph',
      "npx langgraph-tether doctor --sqlite threads.db --since 7d --fail-on warning",
      "npx langgraph-tether doctor --file thread.json --format json",
    ],
  },
  repair: {
    usage: "langgraph-tether repair TARGET [options]",
    short: "prints how to mend them; writes with --apply only",
    long: [
      "Prints what it would do with each thread. With --apply it writes: first the receipt, then the thread, and then it reads the thread back and checks it.",
      "It keeps every result that a tool has returned. It never changes threads that wait for a human, or that are busy, and deletes no checkpoint. Stop the workers of a database first.",
      "Ends with 0 if nothing is left to repair, 1 if something is, 2 for a wrong option or target, 101 for a fault of its own.",
    ],
    examples: [
      "npx langgraph-tether repair --url http://localhost:2024",
      "npx langgraph-tether repair --url http://localhost:2024 --thread ID --apply",
      'npx langgraph-tether repair --postgres "$DATABASE_URL" --apply --yes',
    ],
  },
  undo: {
    usage: "langgraph-tether undo RECEIPT [options]",
    short: "takes a repair back",
    long: [
      "Gives each thread of a receipt the messages that it had before the repair. A thread that has changed since is not touched; see --force.",
      "Ends with 0 if all threads have the messages of before, and 1 if not.",
    ],
    examples: [
      "npx langgraph-tether undo tether-receipt-20260131T120000Z.jsonl --url http://localhost:2024",
      "npx langgraph-tether undo receipt.jsonl --sqlite threads.db --thread ID --yes",
    ],
  },
  explain: {
    usage: "langgraph-tether explain FILE|- [--dialect NAME]",
    short: "says why a provider refuses a list of messages; offline",
    long: [
      "Reads a list of messages, what getState returned, or the body of a request that a provider has refused, and says which rules of the provider it breaks, in the words of the provider, and what mends it. It asks no provider.",
      "Bodies are those of OpenAI's chat completions and Responses, of Anthropic's Messages, and of Gemini. Default of --dialect: the provider whose form the body has; for messages strict, the rules of all of them.",
      "Ends with 0 if no rule is broken, and 1 if one is.",
    ],
    examples: [
      "npx langgraph-tether explain messages.json --dialect anthropic",
      "npx langgraph-tether explain request.json",
      "curl -s localhost:2024/threads/ID/state | npx langgraph-tether explain - --dialect openai",
    ],
  },
  size: {
    usage: "langgraph-tether size TARGET [options]",
    short: "says how much threads store, and what would save how much",
    long: [
      "Adds up what a database stores of each thread, in the database, and says how it grows. It only reads.",
    ],
    examples: [
      'npx langgraph-tether size --postgres "$DATABASE_URL"',
      "npx langgraph-tether size --sqlite threads.db --format json",
    ],
  },
  inspect: {
    usage: "langgraph-tether inspect TARGET [options]",
    short: "shows threads, and what a model is sent, in a browser",
    long: [
      "Serves pages on this machine until Ctrl+C, and prints their address. They show the threads of any LangGraph agent.",
      "The address has a key that can be used once, by one browser.",
    ],
    examples: [
      "npx langgraph-tether inspect --url http://localhost:2024",
      "npx langgraph-tether inspect --sqlite threads.db --graph ./src/agent.ts:graph",
      "npx langgraph-tether inspect --file thread.json",
    ],
  },
};

/** The help of one command, or of all. */
export function helpText(command: CommandName | undefined): string {
  return command === undefined ? generalHelp() : commandHelp(command);
}

function generalHelp(): string {
  const rows = COMMANDS.map((name) => `  ${name.padEnd(8)}  ${ABOUT[name].short}`);
  const examples = COMMANDS.flatMap((name) => ABOUT[name].examples.slice(0, 1)).map((line) => `  ${line}`);
  return `${[
    "langgraph-tether: find, mend and explain broken LangGraph threads.",
    "",
    ...examples,
    "",
    "Commands:",
    ...rows,
    "",
    "langgraph-tether help COMMAND says more about each of them.",
    "langgraph-tether --version prints the version.",
  ].join("\n")}\n`;
}

function commandHelp(command: CommandName): string {
  const { usage, long, examples } = ABOUT[command];
  const rows = optionsOf(command);
  const groups = Object.entries(GROUPS).flatMap(([group, title]) => {
    const own = rows.filter(([, row]) => row.group === group);
    if (own.length === 0) return [];
    const lines = own.map(([name, { value, short, help }]) => {
      const names = `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
      return `  ${names}\n${wrapText(help, "      ")}`;
    });
    const targets = listWithOr(targetsOf(command).map((name) => `--${name}`));
    return ["", `${title}${group === "target" ? ` (choose one of ${targets})` : ""}:`, ...lines];
  });
  const texts = long.flatMap((text) => ["", wrapText(text, "")]);
  return `${[usage, "", ...examples.map((line) => `  ${line}`), ...texts, ...groups].join("\n")}\n`;
}

/*
 * The target and the selection that the options name.
 */

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
