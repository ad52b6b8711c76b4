/** The options of the command line. `parse-options.ts` reads them, and `help.ts` prints them. */

import { DIALECTS, type DialectName } from "../../../providers/dialects/dialects.js";
import { COMMANDS, type CommandName, type OptionRow } from "./option-row.js";
import {
  oneOf,
  type ReadValue,
  readAddress,
  readCount,
  readPair,
  readSince,
  readText,
} from "./option-values.js";

const STORED: readonly CommandName[] = ["doctor", "repair", "size"];
const TARGET: readonly CommandName[] = ["doctor", "repair", "undo", "size"];
/** Only a database tells what it stores. */
const SERVED: readonly CommandName[] = ["doctor", "repair", "undo"];
const JUDGING: readonly CommandName[] = ["doctor", "repair"];

export const DIALECT_NAMES = Object.keys(DIALECTS) as DialectName[];

export const OPTIONS = {
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
    commands: JUDGING,
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

export type OptionName = keyof typeof OPTIONS;

type ValueOf<Row> = Row extends { readonly read: ReadValue<infer Value> }
  ? Row extends { readonly many: true }
    ? readonly Value[]
    : Value
  : true;

/** What a command line gives. An option that is not given is undefined. */
export type GivenOptions = { readonly [Name in OptionName]?: ValueOf<(typeof OPTIONS)[Name]> };

const TARGETS = ["url", "postgres", "sqlite", "file"] as const;
export type TargetName = (typeof TARGETS)[number];

/** The options that can name the target of a command. */
export function targetsOf(command: CommandName): readonly TargetName[] {
  return TARGETS.filter((name) => OPTIONS[name].commands.includes(command));
}

/** The options of a command, with their names. */
export function optionsOf(command: CommandName): readonly (readonly [OptionName, OptionRow])[] {
  const rows = Object.entries(OPTIONS) as [OptionName, OptionRow][];
  return rows.filter(([, row]) => row.commands.includes(command));
}
