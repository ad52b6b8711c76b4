/**
 * Runs the quick tests on newer versions of Node: `npm run check:node`, or with one of them, `npm run check:node -- 24`.
 * Each version runs in a copy of the project. It ends with 1 where a test fails.
 */

import { cp, rm } from "node:fs/promises";
import { join } from "node:path";
import { runCommand } from "./check-package/run-command.js";
import { inCopiedProject, runTests, withNode } from "./copied-project.js";

const VERSIONS = ["22", "24", "26"];

/** Where this runs on Node 20, version 12 is installed. `scripts/fit-sqlite.mjs` says why. */
const SQLITE = "better-sqlite3";

function check(version: string): Promise<void> {
  const run = (node: string, installed: string) =>
    inCopiedProject(async (folder) => {
      await rm(join(folder, "node_modules", SQLITE), { recursive: true });
      await cp(join(installed, SQLITE), join(folder, "node_modules", SQLITE), { recursive: true });
      await runTests(node, folder, ["--project", "quick"]);
      console.log(`ok  Node ${(await runCommand(folder, node, ["--version"])).trim()}`);
    });
  return withNode(version, run, [`${SQLITE}@13`]);
}

const named = process.argv.slice(2);
for (const version of named.length > 0 ? named : VERSIONS) await check(version);
