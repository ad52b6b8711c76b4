/**
 * Scores implementations of agents on the same cases, and writes the table of the README:
 *
 *     npx tsx conformance/run.ts                          # all implementations, in a few minutes
 *     npx tsx conformance/run.ts create-agent deepagents  # only these; the others keep their last results
 *     npx tsx conformance/run.ts --show "histories/openai: one tool call has two results" create-agent
 *
 * `--show` prints each case whose name contains the text, with its input and its output, and writes nothing. At its
 * first use it installs its own packages below `conformance/node_modules`.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const REPOSITORY = join(FOLDER, "..");

async function run(command: string, args: readonly string[], cwd: string): Promise<number> {
  const child = spawn(command, args, { cwd, stdio: "inherit" });
  const [code] = await once(child, "exit");
  return typeof code === "number" ? code : 1;
}

/** Installs the packages of the lock file, unless they are installed already. */
async function install(folder: string, what: string): Promise<void> {
  const installed = join(folder, "node_modules", ".package-lock.json");
  const isThere = existsSync(installed);
  if (isThere && statSync(installed).mtimeMs >= statSync(join(folder, "package.json")).mtimeMs) return;
  // The packages of the repository are its user's affair once they are there.
  if (isThere && folder === REPOSITORY) return;
  console.log(`Installs ${what} with \`npm ci\`. This is done once.`);
  const code = await run("npm", ["ci", "--no-audit", "--no-fund"], folder);
  if (code !== 0) throw new Error(`Expected \`npm ci\` to install ${what}, but it ended with ${code}.`);
}

const { values, positionals } = parseArgs({ options: { show: { type: "string" } }, allowPositionals: true });
await install(REPOSITORY, "the packages of the repository");
await install(FOLDER, "the packages of the kit");

// What needs the packages is loaded only now.
const { ADAPTERS } = await import("./adapters.js");
const { writeReports, mergeResults, RESULTS } = await import("./report/write-reports.js");
const names = ADAPTERS.map(({ name }) => name);
const unknown = positionals.find((name) => !names.includes(name));
if (unknown !== undefined)
  throw new Error(`Expected implementations of ${names.join(", ")}, got \`${unknown}\`.`);
const wanted = positionals.length > 0 ? positionals : names;
const tsx = join(REPOSITORY, "node_modules", "tsx", "dist", "cli.mjs");
for (const name of wanted) {
  // Each has a process of its own: an error that an implementation leaves to nobody ends no other.
  const args = [tsx, join(FOLDER, "score.ts"), name, ...(values.show === undefined ? [] : [values.show])];
  const code = await run(process.execPath, args, REPOSITORY);
  if (code !== 0) throw new Error(`Expected to score \`${name}\`, but its process ended with ${code}.`);
  if (values.show !== undefined) continue;
  // Written after each, so that a run that is stopped keeps what it has.
  const former = existsSync(RESULTS) ? JSON.parse(readFileSync(RESULTS, "utf8")) : undefined;
  const scored = JSON.parse(readFileSync(join(FOLDER, "node_modules", ".cache", `${name}.json`), "utf8"));
  writeFileSync(RESULTS, `${JSON.stringify(mergeResults(former, scored, names), undefined, 2)}\n`);
}
if (values.show === undefined) writeReports();
