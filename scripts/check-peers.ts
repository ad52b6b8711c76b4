/**
 * Checks the peer ranges of LangGraph, of LangChain and of its core: `npm run check:peers`. It installs the oldest versions
 * that `package.json` allows, and the newest of the registry, each in a copy of the project, and runs there the tests of
 * what LangGraph does not promise, of the graph, of the middleware, and of a second copy of LangChain. The second copy is
 * another version. `--pins` runs the first ones alone. It ends with 1 where a test fails.
 */

import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { REPOSITORY, runCommand } from "./check-package/run-command.js";
import { inCopiedProject, runTests } from "./copied-project.js";

const PEERS = ["@langchain/langgraph", "@langchain/core", "langchain"] as const;
const SECOND_CORE = { name: "second-core", version: "1.1.0" } as const;
const PINS = ["test/threads/langgraph"];

type Versions = readonly string[];

const byVersion = (one: string, other: string): number => one.localeCompare(other, "en", { numeric: true });

/** The version that a range such as `^1.7.3` begins with. */
async function oldestVersions(): Promise<Versions> {
  const { peerDependencies } = JSON.parse(await readFile(join(REPOSITORY, "package.json"), "utf8"));
  return PEERS.map((name) => {
    const [, version] = /^\^(\d+\.\d+\.\d+)$/.exec(peerDependencies[name]) ?? [];
    if (version === undefined) throw new Error(`Expected the peer range of \`${name}\` to be \`^x.y.z\`.`);
    return version;
  });
}

async function newestVersions(oldest: Versions): Promise<Versions> {
  return Promise.all(
    PEERS.map(async (name, index) => {
      const range = `${name}@^${oldest[index]}`;
      const found: unknown = JSON.parse(
        await runCommand(REPOSITORY, "npm", ["view", range, "version", "--json"]),
      );
      // The registry does not sort them.
      const newest = [found].flat().map(String).toSorted(byVersion).at(-1);
      if (newest === undefined) throw new Error(`The registry has no \`${range}\`.`);
      return newest;
    }),
  );
}

async function check(versions: Versions, tests: readonly string[]): Promise<void> {
  const specifiers = PEERS.map((name, index) => `${name}@${versions[index]}`);
  const second = `${SECOND_CORE.name}@npm:@langchain/core@${SECOND_CORE.version}`;
  await inCopiedProject(async (folder) => {
    // With it, npm refuses old versions that another package of the tests does not know. Without it, npm warns.
    await rm(join(folder, "package-lock.json"));
    await runCommand(folder, "npm", ["install", "--no-save", "--no-package-lock", ...specifiers, second]);
    await assertInstalled(folder, versions);
    await runCommand(folder, process.execPath, ["scripts/fit-sqlite.mjs"]);
    await runTests(process.execPath, folder, tests);
    console.log(`ok  ${specifiers.join(" ")}`);
  });
}

async function assertInstalled(folder: string, versions: Versions): Promise<void> {
  for (const [index, name] of PEERS.entries()) {
    const { version } = JSON.parse(
      await readFile(join(folder, "node_modules", name, "package.json"), "utf8"),
    );
    if (version !== versions[index]) throw new Error(`Expected ${name} ${versions[index]}, got ${version}.`);
  }
}

// `test/support/second-copy.ts` reads it.
process.env["SECOND_CORE"] = SECOND_CORE.name;
const tests = process.argv.includes("--pins")
  ? PINS
  : [...PINS, "test/graph", "test/langchain", "test/copies"];
const oldest = await oldestVersions();
const newest = await newestVersions(oldest);
await check(oldest, tests);
if (oldest.join() === newest.join()) console.log("The oldest versions are also the newest: checked once.");
else await check(newest, tests);
