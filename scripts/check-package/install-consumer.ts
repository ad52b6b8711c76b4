import { mkdir, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { Readme } from "./read-readme.js";
import { runCommand } from "./run-command.js";

/** A folder in which the package is installed with its required peers and nothing else. */
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

/** Installs the tarball into an empty folder, with the README's command. */
export async function installConsumer(folder: string, tarball: string, readme: Readme): Promise<Consumer> {
  await mkdir(folder);
  // Without this file, npm would install into a parent folder that has one.
  await writeFile(join(folder, "package.json"), '{ "private": true }\n');
  const [, ...peers] = readme.packages;
  const install = async (...packages: readonly string[]): Promise<void> => {
    await runCommand(folder, "npm", ["install", "--no-audit", "--no-fund", ...packages]);
  };
  await install(tarball, ...peers);
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
