/** The command line `langgraph-tether`: its commands, their options, and how it ends. */

import { createRequire } from "node:module";
import type { CommanderError } from "commander";
import { InvalidSettingError } from "../../errors.js";
import { printable, printableLine } from "../../shared/text.js";
import { reasonOf, UsageError } from "../targets/target.js";
import { type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import { createProgram } from "./program.js";
import { withColours } from "./text.js";

/**
 * Runs a command line to its end. Contract: never rejects.
 *
 * @param args The words after the name of the program.
 * @returns The exit code.
 */
export async function runCommandLine(args: readonly string[], given: CommandIo): Promise<ExitCode> {
  const { output } = given;
  // Ids are escaped first, so they bring no colours of their own.
  const shown = (text: string) => (output.hasColours ? withColours(printable(text)) : printable(text));
  const io = { ...given, output: { ...output, write: (text: string) => output.write(shown(text)) } };
  const serversBefore = countServers();
  try {
    return await runCommand(args, io);
  } catch (error) {
    await reportAsJson(args, error, io);
    if (isOfCommander(error)) return EXIT.usage;
    const isOfOperator = UsageError.isInstance(error) || InvalidSettingError.isInstance(error);
    const text = isOfOperator ? reasonOf(error) : `${FAULT}\n${stackOf(error)}`;
    await io.errors.write(`${printable(text)}\n`);
    return isOfOperator ? EXIT.usage : EXIT.ownFault;
  } finally {
    if (countServers() > serversBefore)
      await io.errors.write(`The file of your graph has started a server in this process. ${ONLY_GRAPH}\n`);
  }
}

/** The lines of an error, of which its message is one. The message can have anything of a thread. */
export function stackOf(error: unknown): string {
  const { stack, message } = Object(error);
  if (typeof stack !== "string" || typeof message !== "string") return printableLine(reasonOf(error));
  return printable(stack.replace(message, () => printableLine(message)));
}

const FAULT =
  "This is a fault of langgraph-tether, not of your threads. Please report the lines below, with the command and its options.";
export const ONLY_GRAPH = "Name a file with --graph that only exports the graph.";

/** How many servers listen in this process. */
const countServers = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === "TCPServerWrap").length;

/** A script that reads JSON gets JSON, even if the command line itself is wrong. */
async function reportAsJson(args: readonly string[], error: unknown, { output }: CommandIo): Promise<void> {
  const format = /(?:^|\s)--format[\s=]json(?=\s|$)/;
  if (!format.test(args.join(" ")) || args[0] === "undo") return;
  const reason = withoutValues(reasonOf(error)).replace(/^error: /, "");
  await output.write(`${JSON.stringify({ schemaVersion: 1, outcome: "failed", error: reason })}\n`);
}

/** Commander repeats unknown words. An address, or a misspelt option's value, can contain a password. */
const withoutValues = (text: string): string =>
  text.replaceAll(/'(-[^'=\s]*=|\w+:\/\/).*'/g, (_, beginning) => `'${beginning}…'`);

/** What commander says of an option, and its suggestion on a second line. It repeats the words that it was given. */
function oneError(text: string): string {
  const end = text.lastIndexOf("\n(Did you mean ");
  const lines = end === -1 ? [text] : [text.slice(0, end), text.slice(end)];
  return `${lines.map((line) => printableLine(line.trim())).join("\n")}\n`;
}

const isOfCommander = (error: unknown): error is CommanderError =>
  String(Object(error).code).startsWith("commander.");

/** @throws CommanderError for a wrong command line, after commander has said what is wrong. */
async function runCommand(args: readonly string[], io: CommandIo): Promise<ExitCode> {
  // Written when commander has ended, because it does not wait for a writer, which can fail.
  const output: string[] = [];
  const errors: string[] = [];
  let code: ExitCode = EXIT.sound;
  const { version } = createRequire(import.meta.url)("langgraph-tether/package.json");
  const program = createProgram(version, io, (ended) => (code = ended), {
    writeOut: (text) => output.push(text),
    writeErr: (text) => errors.push(text),
    outputError: (text, write) => write(oneError(text)),
  });
  try {
    await program.parseAsync(args, { from: "user" });
  } catch (error) {
    if (!isOfCommander(error) || error.exitCode !== 0) throw error;
  } finally {
    await io.output.write(output.join(""));
    await io.errors.write(printable(withoutValues(errors.join(""))));
  }
  return code;
}
