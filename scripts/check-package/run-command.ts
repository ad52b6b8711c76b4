import { execFile } from "node:child_process";
import { delimiter, join } from "node:path";
import { fileURLToPath } from "node:url";
import { BrokenDoorError } from "./broken-door-error.js";

export const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));

export interface CommandResult {
  readonly exitCode: number;
  /** Standard output. */
  readonly output: string;
  readonly errors: string;
}

/** The tools installed in this repository come first. */
const PATH = [join(REPOSITORY, "node_modules/.bin"), process.env["PATH"]].join(delimiter);

/** Runs a command to its end. Contract: rejects only if the command cannot be started. */
export function tryCommand(folder: string, command: string, args: readonly string[]): Promise<CommandResult> {
  return new Promise((resolve, reject) => {
    const options = { cwd: folder, env: { ...process.env, PATH }, maxBuffer: 2 ** 26 };
    const child = execFile(command, args, options, (error, output, errors) => {
      if (error !== null && child.exitCode === null) reject(error);
      else resolve({ exitCode: child.exitCode ?? 0, output, errors });
    });
  });
}

/** The output of the command. @throws BrokenDoorError if the command failed. */
export async function runCommand(folder: string, command: string, args: readonly string[]): Promise<string> {
  const { exitCode, output, errors } = await tryCommand(folder, command, args);
  if (exitCode === 0) return output;
  throw new BrokenDoorError(`\`${[command, ...args].join(" ")}\` failed:\n${output}${errors}`);
}
