/** The help, made from the table of options. */

import { listWithOr } from "../../../shared/list-with-or.js";
import { wrapText } from "../output/wrap-text.js";
import { COMMANDS, type CommandName, GROUPS } from "./option-row.js";
import { optionsOf, targetsOf } from "./options.js";

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
