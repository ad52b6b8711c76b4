/** The commands of `langgraph-tether`, with their options and their help. */

import { Command, InvalidArgumentError, Option, type OutputConfiguration } from "commander";
import { DIALECT_NAMES } from "../../providers/table/dialects.js";
import { optionOf, readPairs, type TargetOption } from "../targets/target.js";
import { TARGETS } from "../targets/targets.js";
import type { CommandIo, ExitCode } from "./command-io.js";
import { runDoctor } from "./doctor-command.js";
import { runExplain } from "./explain-command.js";
import { runInspect } from "./inspect-command.js";
import { GROUPS, isSpan, type OptionGroup, timeOf } from "./options.js";
import { runRepair } from "./repair-command.js";
import { WIDTH } from "./text.js";
import { runUndo } from "./undo-command.js";
import { runUnfinished } from "./unfinished-command.js";

/**
 * Contract: throws a CommanderError instead of ending the process.
 *
 * @param end Called with the exit code of the command that ran.
 * @param output Gets what commander prints: the help, and what is wrong with the options.
 */
export function createProgram(
  version: string,
  io: CommandIo,
  end: (code: ExitCode) => void,
  output: OutputConfiguration,
): Command {
  const program = new Command("langgraph-tether")
    .description("Finds, repairs and explains broken LangGraph threads.")
    .version(version, "-v, --version", "Prints the version.")
    .addHelpOption(helpOption())
    .addHelpText(
      "after",
      examplesText(Object.values(COMMANDS).flatMap(({ examples }) => examples.slice(0, 1))),
    )
    .exitOverride()
    .configureOutput({ ...output, getOutHelpWidth: () => WIDTH, getErrHelpWidth: () => WIDTH });
  for (const [name, row] of Object.entries(COMMANDS)) {
    const command = program
      .command(`${name} ${row.operand ?? ""}`.trim())
      .summary(row.summary)
      .description(row.description.join("\n\n"))
      .addHelpText("after", examplesText(row.examples))
      .addHelpOption(helpOption().helpGroup(GROUPS.output))
      .showHelpAfterError(`See langgraph-tether ${name} --help.`)
      .action(async () => end(await row.run(command, io)));
    for (const [group, options] of Object.entries(row.options))
      for (const option of options) command.addOption(option.helpGroup(GROUPS[group as OptionGroup]));
  }
  return program;
}

const helpOption = (): Option => new Option("-h, --help", "Prints this help.");

const examplesText = (examples: readonly string[]): string =>
  `\nExamples:\n${examples.map((line) => `  ${line}\n`).join("")}`;

/*
 * The options that are not of one target.
 */

const countOf = (
  flags: string,
  description: string,
  expected = "an integer of 1 or more",
  most = Number.MAX_SAFE_INTEGER,
): Option =>
  new Option(flags, description).argParser((text) => {
    const count = Number(text);
    if (/^\d+$/.test(text) && count >= 1 && count <= most) return count;
    throw new InvalidArgumentError(`Expected ${expected}.`);
  });

const parsed = ({ flags, description, read }: TargetOption): Option =>
  new Option(flags, description).argParser(read);

const QUIET_FOR = new Option(
  "--quiet-for <SPAN>",
  "A thread of a database that was written in this span may have a run that is going on. Default: 10m.",
).argParser((text) => {
  if (isSpan(text)) return text;
  throw new InvalidArgumentError("Expected a span such as 0s, 30m or 12h.");
});

const SELECT: readonly Option[] = [
  new Option("--thread <ID...>", "Only these threads."),
  parsed(
    optionOf(
      "--metadata <KEY=VALUE>",
      "Only threads with this metadata. Can be given more than once.",
      readPairs("--metadata"),
    ),
  ),
  new Option("--status <STATUS>", "Only threads with this status.").choices(["idle", "interrupted", "error"]),
  new Option(
    "--since <SPAN>",
    "Only threads that changed in this span, such as 12h or 7d, or since a date.",
  ).argParser((text) => {
    if (!Number.isNaN(timeOf(text, 0))) return text;
    throw new InvalidArgumentError(
      "Expected a span such as 30m, 12h, 7d or 2w, or a date such as 2026-01-31.",
    );
  }),
  countOf("--limit <COUNT>", "Reads at most this many threads."),
  QUIET_FOR,
];

const DIALECT = new Option(
  "--dialect <NAME>",
  "Whose rules apply: auto (by the models that wrote the thread), or those of a provider. Default: auto.",
).choices(["auto", ...DIALECT_NAMES]);
const MAX_TOKENS = countOf(
  "--max-tokens <COUNT>",
  "The window of your model. A thread with more tokens, by an estimate, is a finding. Default: not checked.",
);
const FAIL_ON = new Option(
  "--fail-on <SEVERITY>",
  "From which severity on the command does not end with 0. unknown is a thread that was not judged, or a fault that may never be sent: it is worse than a warning.",
)
  .choices(["error", "unknown", "warning", "never"])
  .default("unknown");

const YES = new Option("--yes", "Does not ask before writing. Needed where no human can be asked.");
const REPAIR: readonly Option[] = [
  new Option("--apply", "Writes the repairs. Without it nothing is written."),
  YES,
  parsed(
    optionOf(
      "--receipt <FILE>",
      "Where to write down what was there before, for undo. Must not exist. Default: tether-receipt-DATE.jsonl.",
    ),
  ),
];

const FORMAT = new Option("--format <FORMAT>", "The form of the output.")
  .choices(["text", "json"])
  .default("text");
const REDACT: readonly Option[] = [
  new Option("--redact", "Prints no text of messages, only ids, names and lengths. The default."),
  new Option("--no-redact", "Prints the beginning of messages too."),
];
const PORT = countOf(
  "--port <PORT>",
  "The port of the pages on this machine. Default: a free one.",
  "a port from 1 to 65535",
  65_535,
);

/** The options that name one of these targets, and those that say more about it. */
function optionsOfTargets(targets = TARGETS): readonly Option[] {
  return [...targets.map(({ option }) => option), ...new Set(targets.flatMap(({ further }) => further))].map(
    parsed,
  );
}

/*
 * The commands.
 */

interface CommandRow {
  readonly run: (command: Command, io: CommandIo) => Promise<ExitCode>;
  readonly summary: string;
  /** Paragraphs. */
  readonly description: readonly string[];
  readonly examples: readonly string[];
  /** What follows the name, apart from options. */
  readonly operand?: string;
  readonly options: Readonly<Partial<Record<OptionGroup, readonly Option[]>>>;
}

export const COMMANDS: Readonly<Record<string, CommandRow>> = {
  doctor: {
    run: runDoctor,
    summary: "finds broken threads; never writes",
    description: [
      "Reads threads and says which of them a model would refuse, and why. It only reads: a database is opened so that it refuses every write.",
      "Ends with 0 if nothing was found, 1 if there are findings, 2 for a wrong option or target, 3 if some threads could not be read or were not judged, 101 for a fault of its own.",
    ],
    examples: [
      "npx langgraph-tether doctor --url http://localhost:2024",
      'npx langgraph-tether doctor --postgres "$DATABASE_URL" --graph ./src/agent.ts:graph',
      "npx langgraph-tether doctor --sqlite threads.db --since 7d --fail-on warning",
      "npx langgraph-tether doctor --file thread.json --format json",
    ],
    options: {
      target: optionsOfTargets(),
      select: SELECT,
      rules: [DIALECT, MAX_TOKENS, FAIL_ON],
      output: [FORMAT, ...REDACT],
    },
  },
  repair: {
    run: runRepair,
    summary: "prints how to repair them; writes with --apply only",
    description: [
      "Prints what it would do with each thread. With --apply it writes: first the receipt, then the thread, and then it reads the thread back and checks it.",
      "It keeps every result that a tool has returned. It never changes threads that wait for a human, or that are busy, and deletes no checkpoint. Stop the workers of a database first.",
      "Ends with 0 if nothing is left to repair, 1 if something is, 2 for a wrong option or target, 101 for a fault of its own.",
    ],
    examples: [
      "npx langgraph-tether repair --url http://localhost:2024",
      "npx langgraph-tether repair --url http://localhost:2024 --thread ID --apply",
      'npx langgraph-tether repair --postgres "$DATABASE_URL" --apply --yes',
    ],
    options: {
      target: optionsOfTargets(),
      select: SELECT,
      rules: [DIALECT],
      write: REPAIR,
      output: [FORMAT],
    },
  },
  unfinished: {
    run: runUnfinished,
    summary: "lists threads that their last run left unfinished; never writes",
    description: [
      "Lists the threads whose last run was killed, was cancelled or failed in the middle of a turn, or that wait for a human, and says what becomes of their calls if the thread is continued. It only reads.",
      "To finish them, call finishThreads of langgraph-tether/doctor with your agent.",
      "Ends with 0 if no thread is unfinished, 1 if some are, 2 for a wrong option or target, 3 if some threads could not be read, 101 for a fault of its own.",
    ],
    examples: [
      'npx langgraph-tether unfinished --postgres "$DATABASE_URL" --graph ./src/agent.ts:graph',
      "npx langgraph-tether unfinished --sqlite threads.db --quiet-for 0s",
      "npx langgraph-tether unfinished --url http://localhost:2024 --format json",
    ],
    options: {
      target: optionsOfTargets(TARGETS.filter(({ canWrite }) => canWrite)),
      select: SELECT.filter(({ long }) => long !== "--status"),
      output: [FORMAT],
    },
  },
  undo: {
    run: runUndo,
    operand: "<receipt>",
    summary: "takes a repair back",
    description: [
      "Gives each thread of a receipt the messages that it had before the repair. A thread that has changed since is not touched.",
      "Ends with 0 if all threads have the messages of before, and 1 if not.",
    ],
    examples: [
      "npx langgraph-tether undo tether-receipt-20260131T120000Z.jsonl --url http://localhost:2024",
      "npx langgraph-tether undo receipt.jsonl --sqlite threads.db --graph ./src/agent.ts:graph --yes",
    ],
    options: {
      target: optionsOfTargets(TARGETS.filter(({ canWrite }) => canWrite)),
      write: [YES],
    },
  },
  explain: {
    run: runExplain,
    operand: "<file>",
    summary: "says why a provider refuses a list of messages; offline",
    description: [
      "Reads a list of messages or what getState returned, and says which rules of the provider it breaks, in the words of the provider, and what repairs it. - reads standard input. It asks no provider.",
      "Messages are read as LangChain, a state or chat completions have them.",
      "Ends with 0 if no rule is broken, and 1 if one is.",
    ],
    examples: [
      "npx langgraph-tether explain messages.json --dialect anthropic",
      "curl -s localhost:2024/threads/ID/state | npx langgraph-tether explain - --dialect openai",
    ],
    options: { rules: [DIALECT], output: [FORMAT, ...REDACT] },
  },
  inspect: {
    run: runInspect,
    summary: "shows threads, and what a model is sent, in a browser",
    description: [
      "Serves pages on this machine until Ctrl+C, and prints their address. They show the threads of any LangGraph agent. It only reads.",
      "The address has a key that can be used once, by one browser.",
    ],
    examples: [
      "npx langgraph-tether inspect --url http://localhost:2024",
      "npx langgraph-tether inspect --sqlite threads.db",
      "npx langgraph-tether inspect --file thread.json",
    ],
    options: { target: optionsOfTargets(), select: [QUIET_FOR], output: [PORT] },
  },
};
