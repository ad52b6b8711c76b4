/** Runs the tests of another project with the packages that are installed here. */

import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { REPOSITORY, tryCommand } from "../check-package/run-command.js";

/** A project's tests, run in several ways. */
export interface Suite {
  /** What is printed of it. */
  readonly name: string;
  /** The project's folder in a checkout. */
  readonly project: string;
  readonly vitestConfig: string;
  /** Changes the copy before anything is run. Contract: gets the copy's folder. */
  readonly prepare?: (folder: string) => Promise<void>;
  readonly comparisons: readonly Comparison[];
}

/** Two ways of which the second must not fail more. Contract of both: change the copy for the next run of its tests. */
interface Comparison {
  readonly title: string;
  /** What our code is compared with. Undefined: the tests as they are. */
  readonly without?: (folder: string) => Promise<void>;
  readonly ours: (folder: string) => Promise<void>;
}

export interface Outcome {
  readonly passed: number;
  /** Full names of tests behind their file, and names of files that could not be loaded. */
  readonly failed: ReadonlySet<string>;
}

export interface Compared {
  readonly title: string;
  readonly without: Outcome;
  readonly ours: Outcome;
}

/** Runs the tests in a temporary copy of the project. */
export async function runSuite({ project, vitestConfig, prepare, comparisons }: Suite, checkout: string) {
  const folder = await mkdtemp(join(tmpdir(), "tether-suites-"));
  try {
    await cp(join(checkout, project), folder, {
      recursive: true,
      filter: (path) => !path.endsWith("node_modules"),
    });
    await symlink(join(REPOSITORY, "node_modules"), join(folder, "node_modules"));
    for (const name of ["vitest.config.js", "vitest.config.ts"])
      await rm(join(folder, name), { force: true });
    // Theirs extends a package that is not installed here.
    await writeFile(join(folder, "tsconfig.json"), "{}");
    await writeFile(join(folder, "vitest.config.mjs"), vitestConfig);
    await prepare?.(folder);
    const alone = await runTests(folder);
    const compared: Compared[] = [];
    for (const { title, without, ours } of comparisons) {
      await without?.(folder);
      const others = without === undefined ? alone : await runTests(folder);
      await ours(folder);
      compared.push({ title, without: others, ours: await runTests(folder) });
    }
    return { alone, compared };
  } finally {
    await rm(folder, { recursive: true });
  }
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

async function runTests(folder: string): Promise<Outcome> {
  const output = join(folder, "report.json");
  await rm(output, { force: true });
  const vitest = join(REPOSITORY, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--reporter=json", `--outputFile=${output}`];
  // It ends with 1 if a test fails, which the report tells too.
  const { errors } = await tryCommand(folder, process.execPath, args);
  const text = await readFile(output, "utf8").catch(() => {
    throw new Error(`The tests gave no report:\n${errors}`);
  });
  const { testResults }: Report = JSON.parse(text);
  let passed = 0;
  const failed = new Set<string>();
  for (const { name, status, assertionResults } of testResults) {
    const file = name.slice(folder.length + 1);
    if (status === "failed" && assertionResults.length === 0) failed.add(file);
    for (const test of assertionResults) {
      if (test.status === "passed") passed += 1;
      if (test.status === "failed") failed.add(`${file}: ${test.fullName}`);
    }
  }
  return { passed, failed };
}
