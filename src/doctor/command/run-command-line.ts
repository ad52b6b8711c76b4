import { readFile } from "node:fs/promises";
import { type InvalidSettingError, TetherError } from "../../errors.js";
import { listWithOr } from "../../shared/text.js";
import { reasonOf, UsageError } from "../targets/target.js";
import { type CommandIo, EXIT, type ExitCode } from "./command-io.js";
import { runDoctor } from "./doctor-command.js";
import { runExplain } from "./explain-command.js";
import { runInspect } from "./inspect-command.js";
import { asksForHelp, type CommandLine, commandOf, helpText, parseOptions, targetsOf } from "./options.js";
import { runRepair } from "./repair-command.js";
import { runSize } from "./size-command.js";
import { printable } from "./text.js";
import { runUndo } from "./undo-command.js";

/** It is as far from `dist` as from the sources. */
const PACKAGE = new URL("../../../package.json", import.meta.url);

/**
 * Runs a command line to its end. Contract: never rejects.
 *
 * @param args The words after the name of the program.
 * @returns The exit code.
 */
export async function runCommandLine(args: readonly string[], given: CommandIo): Promise<ExitCode> {
  const { output } = given;
  const io = { ...given, output: { ...output, write: (text: string) => output.write(printable(text)) } };
  const serversBefore = countServers();
  try {
    if (args[0] === "--version" || args[0] === "-v") {
      const { version } = JSON.parse(await readFile(PACKAGE, "utf8"));
      await io.output.write(`${version}\n`);
      return EXIT.sound;
    }
    const command = commandOf(args);
    if (command === undefined && args.length > 0 && !asksForHelp(args))
      throw new UsageError(`Expected a command first, got \`${args[0]}\`. See langgraph-tether --help.`);
    if (command === undefined || asksForHelp(args)) {
      await (args.length === 0 ? io.errors : io.output).write(helpText(command));
      return args.length === 0 ? EXIT.usage : EXIT.sound;
    }
    return await run(parseOptions(command, args.slice(1)), io);
  } catch (error) {
    await reportAsJson(args, error, io);
    if (UsageError.isInstance(error) || isSettingError(error)) {
      await io.errors.write(`${printable(reasonOf(error))}\n`);
      return EXIT.usage;
    }
    const stack = typeof Object(error).stack === "string" ? Object(error).stack : reasonOf(error);
    await io.errors.write(
      `This is a fault of langgraph-tether, not of your threads. Please report the lines below, with the command and its options.\n${printable(stack)}\n`,
    );
    return EXIT.ownFault;
  } finally {
    if (countServers() > serversBefore)
      await io.errors.write(`The file of your graph has started a server in this process. ${ONLY_GRAPH}\n`);
  }
}

export const ONLY_GRAPH = "Name a file with --graph that only exports the graph.";

/** How many servers listen in this process. */
const countServers = (): number =>
  process.getActiveResourcesInfo().filter((name) => name === "TCPServerWrap").length;

/** A script that reads JSON gets JSON, also where the command line itself is wrong. */
async function reportAsJson(args: readonly string[], error: unknown, { output }: CommandIo): Promise<void> {
  const format = /(?:^|\s)--format[\s=](json|ndjson)(?=\s|$)/.exec(args.join(" "))?.[1];
  if (format === undefined || args[0] === "undo") return;
  const failure = { schemaVersion: 1, outcome: "failed", error: reasonOf(error) } as const;
  const type = format === "ndjson" ? { type: "error" } : {};
  await output.write(`${JSON.stringify({ ...type, ...failure })}\n`);
}

const isSettingError = (error: unknown): boolean =>
  TetherError.isInstance(error) && error.code === ("INVALID_SETTING" satisfies InvalidSettingError["code"]);

function run(line: CommandLine, io: CommandIo): Promise<ExitCode> {
  const { command, options, operands } = line;
  if (command === "undo") return runUndo(line, io);
  if (command === "explain") return runExplain(line, io);
  const [first] = operands;
  if (first !== undefined)
    throw new UsageError(
      `\`${command}\` takes no \`${first}\`. Name the target with ${listWithOr(targetsOf(command).map((name) => `--${name}`))}.`,
    );
  if (command === "doctor") return runDoctor(options, io);
  if (command === "inspect") return runInspect(options, io);
  return command === "repair" ? runRepair(options, io) : runSize(options, io);
}
