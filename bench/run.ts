/**
 * Measures the library beside LangGraph, LangChain and deepagents, and writes all results, a chart and a table of the README:
 *
 *     npm run bench                        # all suites, in less than 20 minutes on two idle cores
 *     npm run bench -- turn bytes          # only these; the others keep their last results
 *     npm run bench -- --quick reducer     # a few rounds, to try a suite
 *
 * Progress goes to the standard error. At its first use it installs its own packages below `bench/node_modules`.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { removeSecondCopies } from "./one-copy.js";
import type { Suite } from "./suite.js";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const REPOSITORY = join(FOLDER, "..");
const CACHE = join(FOLDER, "node_modules", ".cache");

/** Contract: what the command prints goes to the standard error. Rejects if it fails. */
async function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(command, args, { cwd, stdio: ["ignore", 2, 2] });
  const [code] = await once(child, "exit");
  if (code !== 0)
    throw new Error(`Expected \`${command} ${args.join(" ")}\` to succeed, but it ended with ${code}.`);
}

const note = (text: string): void => void process.stderr.write(`${text}\n`);

/** Installs the packages of the lock file, unless they are installed already. */
async function install(): Promise<void> {
  const installed = join(FOLDER, "node_modules", ".package-lock.json");
  const isThere = existsSync(installed);
  if (isThere && statSync(installed).mtimeMs >= statSync(join(FOLDER, "package.json")).mtimeMs) return;
  note("Installs the packages of bench/package-lock.json with `npm ci`. This is done once.");
  await run("npm", ["ci", "--no-audit", "--no-fund"], FOLDER);
}

/** The arguments with which Node loads the library as its users have it. */
const AS_BUILT = ["--import", "tsx", "--import", new URL("built-package.mjs", import.meta.url).href];

/** Each suite has a process of its own: what one leaves in the heap and in the compiler changes no other. */
async function measure({ name, needs }: Suite, file: string, isQuick: boolean): Promise<void> {
  const script = ["--expose-gc", ...AS_BUILT, join(FOLDER, "measure.ts"), name, file];
  const args = isQuick ? [...script, "--quick"] : script;
  if (needs === "postgres")
    return run("npx", ["tsx", "scripts/with-postgres.ts", process.execPath, ...args], REPOSITORY);
  return run(process.execPath, args, REPOSITORY);
}

const { values, positionals } = parseArgs({
  options: { quick: { type: "boolean" } },
  allowPositionals: true,
});
if (!existsSync(join(REPOSITORY, "node_modules", "tsx")))
  throw new Error("Expected the packages of the repository. Install them with `npm ci`.");
await install();
removeSecondCopies();

// What needs the packages is loaded only now.
const { SUITES } = await import("./suites.js");
const { addResult, readResults, writeReports } = await import("./report/write-reports.js");
const { judgeGoals, outcomeOf } = await import("./report/goals.js");
const names = SUITES.map(({ name }) => name);
const unknown = positionals.find((name) => !names.includes(name));
if (unknown !== undefined) throw new Error(`Expected suites of ${names.join(", ")}, got \`${unknown}\`.`);

mkdirSync(CACHE, { recursive: true });
for (const suite of SUITES.filter(({ name }) => positionals.length === 0 || positionals.includes(name))) {
  const file = join(CACHE, `${suite.name}.json`);
  try {
    await measure(suite, file, values.quick === true);
    // Written after each, so that a run that is stopped keeps what it has.
    addResult(JSON.parse(readFileSync(file, "utf8")), names);
  } catch (error) {
    note(`${suite.name}: ${String(error)}`);
    process.exitCode = 1;
  }
}
writeReports();
for (const each of judgeGoals(readResults()))
  console.log(`${outcomeOf(each).padEnd(12)} ${each.title}: ${each.goal} / ${each.reached}`);
