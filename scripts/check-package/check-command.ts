import { join } from "node:path";
import { BrokenDoorError } from "./broken-door-error.js";
import type { Consumer } from "./install-consumer.js";
import { tryCommand } from "./run-command.js";

const LIST = JSON.stringify([
  { role: "user", content: "The weather?" },
  { role: "assistant", content: "", tool_calls: [{ id: "c1", name: "weather", args: {} }] },
  { role: "user", content: "Are you there?" },
]);

/** What the command ends with and prints where only the library and its required peers are installed. */
const RUNS: readonly (readonly [args: readonly string[], code: number, printed: RegExp])[] = [
  [["--help"], 0, /^Usage: langgraph-tether /],
  [["doctor", "--file", "list.json"], 1, /pairing|1 dangling call \(weather\)/],
  [["explain", "list.json", "--dialect", "anthropic"], 1, /without `tool_result` blocks/],
  [["doctor", "--sqlite", "empty.db"], 2, /npm install @langchain\/langgraph-checkpoint-sqlite/],
  [
    ["doctor", "--postgres", "postgresql://127.0.0.1:9/x"],
    2,
    /npm install @langchain\/langgraph-checkpoint-postgres/,
  ],
];

/** Runs the program of the package as npx does. */
export async function checkCommand(consumer: Consumer): Promise<string> {
  await consumer.write("list.json", LIST);
  await consumer.write("empty.db", "SQLite format 3\0");
  const program = join(consumer.folder, "node_modules", ".bin", "langgraph-tether");
  for (const [args, code, printed] of RUNS) {
    const { exitCode, output, errors } = await tryCommand(consumer.folder, program, args);
    if (exitCode === code && printed.test(output + errors)) continue;
    throw new BrokenDoorError(
      `\`langgraph-tether ${args.join(" ")}\` should end with ${code}, it ended with ${exitCode}:\n${output}${errors}`,
    );
  }
  return `${RUNS.length} commands`;
}
