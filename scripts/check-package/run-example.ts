import { type Format, transform } from "esbuild";
import { BrokenDoorError } from "./broken-door-error.js";
import type { Consumer } from "./install-consumer.js";
import type { Readme } from "./read-readme.js";
import { withoutTopLevelAwait } from "./without-top-level-await.js";

const HISTORY_EXAMPLE = `
import { HumanMessage, AIMessage } from "@langchain/core/messages";
import { repairHistory, validateHistory } from "langgraph-tether/history";
const call = { id: "call_1", name: "weather", args: {} };
const history = [new HumanMessage("Weather?"), new AIMessage({ content: "", tool_calls: [call] }), new HumanMessage("Hello?")];
console.log(validateHistory(history, "openai").length, validateHistory(repairHistory(history).messages, "openai").length);
`;

/** Runs the README's first example as an ES module or as CommonJS. */
export async function runExample(consumer: Consumer, readme: Readme, format: Format): Promise<string> {
  await runProgram(consumer, "example", format, readme.example, readme.printed);
  return `it prints \`${readme.printed.join("; ")}\``;
}

/** Repairs a thread that a provider would reject, without a graph. */
export async function runHistory(consumer: Consumer, format: Format): Promise<string> {
  await runProgram(consumer, "history", format, HISTORY_EXAMPLE, ["1 0"]);
  return "a broken history is repaired";
}

/** Runs a program and compares what it prints. @throws BrokenDoorError if it prints something else. */
export async function runProgram(
  consumer: Consumer,
  title: string,
  format: Format,
  code: string,
  expected: readonly string[],
): Promise<void> {
  const name = `${title}.${format === "cjs" ? "cjs" : "mjs"}`;
  const source = format === "cjs" ? withoutTopLevelAwait(code) : code;
  await consumer.write(name, (await transform(source, { loader: "ts", format })).code);
  const printed = await consumer.run(name);
  if (printed.join("\n") === expected.join("\n")) return;
  throw new BrokenDoorError(
    `it should print \`${expected.join("; ")}\`, but it printed \`${printed.join("; ")}\``,
  );
}
