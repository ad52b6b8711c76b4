/** A copy of the project, in which a script may replace packages. */

import { cp, mkdtemp, rm } from "node:fs/promises";
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

/** Runs tests of the copy. @throws BrokenDoorError if one fails. */
export async function runTests(node: string, folder: string, args: readonly string[]): Promise<void> {
  await runCommand(folder, node, ["node_modules/vitest/vitest.mjs", "run", ...args]);
}
