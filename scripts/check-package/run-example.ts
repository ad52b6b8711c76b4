import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Format, transform } from "esbuild";
import { BrokenDoorError } from "./broken-door-error.js";
import { checkProgram } from "./check-types.js";
import { type Consumer, installConsumer } from "./install-consumer.js";
import type { Readme } from "./read-readme.js";
import { REPOSITORY } from "./run-command.js";
import { withoutTopLevelAwait } from "./without-top-level-await.js";

const HISTORY_EXAMPLE = `
import { HumanMessage, AIMessage } from "@langchain/core/messages";
import { repairHistory, validateHistory } from "langgraph-tether/history";
const call = { id: "call_1", name: "weather", args: {} };
const history = [new HumanMessage("Weather?"), new AIMessage({ content: "", tool_calls: [call] }), new HumanMessage("Hello?")];
console.log(validateHistory(history, "openai").length, validateHistory(repairHistory(history).messages, "openai").length);
`;

/** Runs the README's first example as its user does, from the file that the README names. */
export async function runExample(consumer: Consumer, readme: Readme): Promise<string> {
  await consumer.write(readme.file, readme.example);
  comparePrinted(await consumer.run(readme.file), readme.printed);
  return `${readme.file} prints \`${readme.printed.join("; ")}\``;
}

/** Runs and type-checks it with the oldest zod that is allowed, which has both versions of its interface. */
export async function checkOldestZod(consumer: Consumer, readme: Readme): Promise<string> {
  const { peerDependencies } = JSON.parse(await readFile(join(REPOSITORY, "package.json"), "utf8"));
  const oldest = /\d+\.\d+\.\d+/.exec(peerDependencies.zod)?.[0];
  await consumer.install(`zod@${oldest}`);
  return `${oldest}: ${await runExample(consumer, readme)}; ${await checkProgram(consumer, "oldest-zod", readme.example)}`;
}

/** Runs it as CommonJS. */
export async function requireExample(consumer: Consumer, readme: Readme): Promise<string> {
  await runProgram(consumer, "example", "cjs", readme.example, readme.printed);
  return `it prints \`${readme.printed.join("; ")}\``;
}

/** Repairs a thread that a provider would reject, without a graph. */
export async function runHistory(consumer: Consumer, format: Format): Promise<string> {
  await runProgram(consumer, "history", format, HISTORY_EXAMPLE, ["1 0"]);
  return "a broken history is repaired";
}

/** Beside LangChain's messages, the history entry needs nothing: npm installs no peer that is not named. */
export async function checkHistoryAlone(folder: string, tarball: string): Promise<string> {
  const consumer = await installConsumer(folder, [
    `npm install --no-audit --no-fund ${tarball} @langchain/core`,
  ]);
  const packages = await readdir(join(folder, "node_modules", "@langchain"));
  if (packages.join() !== "core") throw new BrokenDoorError(`npm also installed ${packages.join(", ")}`);
  await runHistory(consumer, "esm");
  return `${consumer.installed} packages, without LangGraph; a broken history is repaired`;
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
  comparePrinted(await consumer.run(name), expected);
}

/** @throws BrokenDoorError if a program printed something else. */
export function comparePrinted(printed: readonly string[], expected: readonly string[]): void {
  if (printed.join("\n") === expected.join("\n")) return;
  throw new BrokenDoorError(
    `it should print \`${expected.join("; ")}\`, but it printed \`${printed.join("; ")}\``,
  );
}
