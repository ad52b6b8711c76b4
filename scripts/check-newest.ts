/**
 * Checks what the registry has today, on Node 24: `npm run check:newest`. In a copy of the project, it installs the newest
 * version of every peer and of every client of a provider, whatever `package.json` allows, and runs there the quick tests
 * and `scripts/unchanged.ts`. It ends with 1 where a test fails, or where a client sends what nobody has explained.
 * `--list` only says which versions it would install.
 */

import { readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { REPOSITORY, runCommand } from "./check-package/run-command.js";
import { inCopiedProject, runTests, withNode } from "./copied-project.js";

const NODE = "24";

/** Packages of the tests that are neither peers nor clients of providers stay as they are. */
const OTHERS: ReadonlySet<string> = new Set(["@langchain/langgraph-cli"]);

interface Versions {
  readonly installed: string;
  readonly newest: string;
}

async function versionsOf(name: string): Promise<Versions> {
  const file = join(REPOSITORY, "node_modules", name, "package.json");
  const { version } = JSON.parse(await readFile(file, "utf8"));
  const newest = (await runCommand(REPOSITORY, "npm", ["view", name, "version"])).trim();
  return { installed: version, newest };
}

async function newestVersions(): Promise<ReadonlyMap<string, Versions>> {
  const { peerDependencies, devDependencies } = JSON.parse(
    await readFile(join(REPOSITORY, "package.json"), "utf8"),
  );
  const clients = Object.keys(devDependencies).filter(
    (name) => name.startsWith("@langchain/") || name === "deepagents",
  );
  const names = [...new Set([...Object.keys(peerDependencies), ...clients])].filter(
    (name) => !OTHERS.has(name),
  );
  const versions = new Map<string, Versions>();
  for (const name of names.toSorted()) versions.set(name, await versionsOf(name));
  return versions;
}

const minutesSince = (start: number): string =>
  `${((performance.now() - start) / 60_000).toFixed(1)} minutes`;

/** The lines about what nobody has explained. */
function unexplainedIn(output: string): string {
  const lines = output.split("\n");
  const shown = lines.flatMap((line, index) =>
    line.includes("UNEXPLAINED") ? lines.slice(index - 1, index + 3) : [],
  );
  return shown.join("\n");
}

async function check(versions: ReadonlyMap<string, Versions>): Promise<void> {
  const specifiers = [...versions].map(([name, { newest }]) => `${name}@${newest}`);
  await withNode(NODE, (node) =>
    inCopiedProject(async (folder) => {
      // With it, npm refuses versions that another package of the tests does not know. Without it, npm warns.
      await rm(join(folder, "package-lock.json"));
      await runCommand(folder, "npm", ["install", "--save-dev", "--save-exact", "--force", ...specifiers]);
      let start = performance.now();
      await runTests(node, folder, ["--project", "quick"]);
      console.log(`ok  the quick tests, ${minutesSince(start)}`);
      for (const more of [[], ["--unknown"]]) {
        start = performance.now();
        const tsx = "node_modules/tsx/dist/cli.mjs";
        const output = await runCommand(folder, node, [tsx, "scripts/unchanged.ts", ...more]);
        const title = ["scripts/unchanged.ts", ...more].join(" ");
        const total = output.trim().split("\n").at(-1) ?? "";
        if (!/, 0 unexplained,/.test(total)) throw new Error(`${title}: ${total}\n${unexplainedIn(output)}`);
        console.log(`ok  ${title}, ${minutesSince(start)}: ${total}`);
      }
    }),
  );
}

const versions = await newestVersions();
for (const [name, { installed, newest }] of versions)
  console.log(`${name} ${installed}${installed === newest ? "" : ` → ${newest}`}`);
if (!process.argv.includes("--list")) await check(versions);
