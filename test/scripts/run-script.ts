/** Runs a script of this repository in its own process, as a user does. */

import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";

export interface RunningScript {
  readonly child: ChildProcessWithoutNullStreams;
  /** The output so far. */
  output(): string;
  errors(): string;
  /** Resolves when the output contains the text. */
  hasPrinted(text: string): Promise<void>;
  /** Resolves with the exit code when the script and its output have ended. */
  readonly ended: Promise<number | null>;
  /** The ids of its running processes, including those that have left its process group. Linux only. */
  findProcesses(): Promise<string[]>;
}

const MARK = "TETHER_TEST_RUN";
const repository = fileURLToPath(new URL("../..", import.meta.url));

export function runScript(
  name: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): RunningScript {
  const mark = `${MARK}=${randomUUID()}`;
  const [key = "", value = ""] = mark.split("=");
  // The `tsx` command kills a script that does not handle a signal within 30 ms, for example on a busy machine (see
  // its `cli.mjs`).
  const child = spawn(process.execPath, ["--import", "tsx", `scripts/${name}`, ...args], {
    cwd: repository,
    env: { ...process.env, NO_COLOR: "1", MODEL: "offline:", ...env, [key]: value },
  });
  let output = "";
  let errors = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    errors += text;
  });
  const ended = once(child, "close").then(([code]) => code as number | null);
  const hasPrinted = async (text: string): Promise<void> => {
    while (!output.includes(text)) {
      // A killed process has a signal and no exit code.
      if (child.exitCode !== null || child.signalCode !== null)
        throw new Error(`It ended without "${text}". It printed:\n${output}${errors}`);
      await Promise.race([once(child.stdout, "data"), ended]);
    }
  };
  return {
    child,
    output: () => output,
    errors: () => errors,
    hasPrinted,
    ended,
    findProcesses: () => findProcessesWith(mark),
  };
}

/** Children inherit the environment, even if they leave the process group. */
async function findProcessesWith(variable: string): Promise<string[]> {
  const ids = (await readdir("/proc").catch(() => [])).filter((name) => /^\d+$/.test(name));
  const environments = await Promise.all(
    ids.map((id) => readFile(`/proc/${id}/environ`, "utf8").catch(() => "")),
  );
  return ids.filter((_, index) => environments[index]?.split("\0").includes(variable));
}
