import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "./run-command.js";

/** A project in which the package is installed. */
export interface Consumer {
  readonly folder: string;
  /** How many packages npm installed. */
  readonly installed: number;
  /** Installs further packages. */
  readonly install: (...packages: readonly string[]) => Promise<void>;
  /** Writes a file into the folder. */
  readonly write: (name: string, text: string) => Promise<void>;
  /** Runs a file of the folder and returns its output, line by line. */
  readonly run: (name: string) => Promise<readonly string[]>;
}

/** Makes an empty project, and runs these commands in it. */
export async function installConsumer(folder: string, commands: readonly string[]): Promise<Consumer> {
  await mkdir(folder);
  // Without this file, npm would install into a parent folder that has one.
  await writeFile(join(folder, "package.json"), '{ "private": true }\n');
  const install = async (...packages: readonly string[]): Promise<void> => {
    await runCommand(folder, "npm", ["install", "--no-audit", "--no-fund", ...packages]);
  };
  for (const command of commands) await runCommand(folder, "sh", ["-c", command]);
  return {
    folder,
    install,
    installed: await countPackages(join(folder, "node_modules")),
    write: (name, text) => writeFile(join(folder, name), text),
    run: async (name) => (await runCommand(folder, process.execPath, [name])).trimEnd().split("\n"),
  };
}

async function countPackages(folder: string): Promise<number> {
  const names = (await readdir(folder)).filter((name) => !name.startsWith("."));
  const scopes = names.filter((name) => name.startsWith("@"));
  const scoped = await Promise.all(scopes.map((scope) => readdir(join(folder, scope))));
  return names.length - scopes.length + scoped.flat().length;
}
