/**
 * Scores implementations of agents on the same cases, and writes the table of the README:
 *
 *     npx tsx conformance/run.ts                          # all implementations, in about twenty minutes
 *     npx tsx conformance/run.ts create-agent deepagents  # only these; the others keep their last results
 *     npx tsx conformance/run.ts --suite windows,kills    # only these suites
 *     npx tsx conformance/run.ts --resume                 # goes on with a run that was stopped
 *     npx tsx conformance/run.ts --show "histories/openai: one tool call has two results" create-agent
 *
 * `--show` prints each case whose name contains the text, with its input and its output, and writes nothing. At its
 * first use it installs its own packages below `conformance/node_modules`.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const REPOSITORY = join(FOLDER, "..");

async function run(command: string, args: readonly string[], cwd: string): Promise<void> {
  const child = spawn(command, args, { cwd, stdio: "inherit" });
  const [code] = await once(child, "exit");
  if (code !== 0)
    throw new Error(`Expected \`${command} ${args.join(" ")}\` to succeed, but it ended with ${code}.`);
}

/** The packages of a lock file, or of what npm has installed. */
function readPackages(path: string): Readonly<Record<string, { readonly version?: string } | undefined>> {
  try {
    return JSON.parse(readFileSync(path, "utf8")).packages;
  } catch {
    return {};
  }
}

/** Installs the packages of the lock file, unless the direct ones are there in these versions. */
async function install(folder: string): Promise<void> {
  const locked = readPackages(join(folder, "package-lock.json"));
  const installed = readPackages(join(folder, "node_modules", ".package-lock.json"));
  const { dependencies = {}, devDependencies = {} } = Object(locked[""]);
  const isThere = Object.keys({ ...dependencies, ...devDependencies })
    .map((name) => `node_modules/${name}`)
    .every((path) => installed[path]?.version === locked[path]?.version);
  if (isThere) return;
  console.log(`Installs the packages of ${folder}. This is done once.`);
  await run("npm", ["ci", "--no-audit", "--no-fund"], folder);
}

const { values, positionals } = parseArgs({
  options: {
    show: { type: "string" },
    suite: { type: "string" },
    resume: { type: "boolean", default: false },
  },
  allowPositionals: true,
});
await install(REPOSITORY);
await install(FOLDER);

// What needs the packages is loaded only now.
const { ADAPTERS } = await import("./adapters.js");
const { SUITES } = await import("./suites.js");
const { writeReports } = await import("./report/write-reports.js");
const { finishedSuites, forgetRun } = await import("./report/stored-results.js");

/** The names that the user gave. @throws if one of them is not known. */
function choose(given: readonly string[], known: readonly { readonly name: string }[]): readonly string[] {
  const names = known.map(({ name }) => name);
  const unknown = given.find((name) => !names.includes(name));
  if (unknown !== undefined) throw new Error(`Expected one of ${names.join(", ")}, got \`${unknown}\`.`);
  return given.length > 0 ? given : names;
}

const implementations = choose(positionals, ADAPTERS);
const suites = choose(values.suite?.split(",") ?? [], SUITES);
const isShown = values.show !== undefined;
if (!isShown && !values.resume) forgetRun();
const tsx = join(REPOSITORY, "node_modules", "tsx", "dist", "cli.mjs");
for (const name of implementations) {
  const finished = isShown ? [] : finishedSuites(name);
  const wanted = suites.filter((suite) => !finished.includes(suite));
  if (wanted.length === 0) continue;
  // Each has a process of its own: an error that an implementation leaves to nobody ends no other.
  const args = [
    tsx,
    join(FOLDER, "score.ts"),
    name,
    wanted.join(","),
    ...(isShown ? [values.show ?? ""] : []),
  ];
  await run(process.execPath, args, REPOSITORY);
}
if (!isShown) {
  writeReports();
  forgetRun();
}
