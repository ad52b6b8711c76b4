/** Runs the tests of another project with the packages that are installed here, and compares the outcomes. */

import { cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { REPOSITORY, tryCommand } from "../check-package/run-command.js";

/** The reason why tests fail with our code, and the ends of their names. */
export interface ExpectedFailures {
  readonly rule: string;
  readonly tests: readonly string[];
}

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly assertionResults: readonly { readonly fullName: string; readonly status: string }[];
  }[];
}

export interface Outcome {
  readonly passed: number;
  /** Full names of tests, and names of files that could not be loaded. */
  readonly failed: ReadonlySet<string>;
}

/** The absolute path of a source file of this library, as the text of an import. */
export function sourceOf(path: string): string {
  return JSON.stringify(pathToFileURL(join(REPOSITORY, "src", path)).pathname);
}

/** @param vitestConfig The packages that a project's own config also needs for browsers are left out. */
export async function withCopy(
  project: string,
  vitestConfig: string,
  run: (folder: string) => Promise<boolean>,
): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "tether-peer-tests-"));
  try {
    await cp(project, folder, { recursive: true, filter: (path) => !path.endsWith("node_modules") });
    await symlink(join(REPOSITORY, "node_modules"), join(folder, "node_modules"));
    for (const name of ["vitest.config.js", "vitest.config.ts"])
      await rm(join(folder, name), { force: true });
    // Theirs extends a package that is not installed here.
    await writeFile(join(folder, "tsconfig.json"), "{}");
    await writeFile(join(folder, "vitest.config.mjs"), vitestConfig);
    return await run(folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

export async function runTests(folder: string): Promise<Outcome> {
  const output = join(folder, "report.json");
  const vitest = join(REPOSITORY, "node_modules/vitest/vitest.mjs");
  const args = [vitest, "run", "--reporter=json", `--outputFile=${output}`];
  // It ends with 1 if a test fails, which the report tells too.
  await tryCommand(folder, process.execPath, args);
  const { testResults }: Report = JSON.parse(await readFile(output, "utf8"));
  const tests = testResults.flatMap(({ assertionResults }) => assertionResults);
  const unloaded = testResults.filter(
    (file) => file.status === "failed" && file.assertionResults.length === 0,
  );
  const failed = tests.filter(({ status }) => status === "failed").map(({ fullName }) => fullName);
  return {
    passed: tests.filter(({ status }) => status === "passed").length,
    failed: new Set([...failed, ...unloaded.map(({ name }) => name.slice(folder.length + 1))]),
  };
}

/** Whether the failures that only our code has are the expected ones. Prints each of them, and what is wrong. */
export function judge(
  { passed, failed }: Outcome,
  others: readonly Outcome[],
  expected: readonly ExpectedFailures[],
): boolean {
  const added = [...failed].filter((name) => others.every((other) => !other.failed.has(name)));
  console.log(`Ours: ${passed} passed, ${added.length} failed that passed before.`);
  const left = new Set(expected.flatMap(({ tests }) => tests));
  const unexpected = new Set(added);
  for (const { rule, tests } of expected) {
    console.log(rule);
    for (const name of added) {
      const title = tests.find((test) => name.endsWith(test));
      if (title === undefined) continue;
      console.log(`  expected  ${name}`);
      left.delete(title);
      unexpected.delete(name);
    }
  }
  for (const name of unexpected) console.log(`FAILED  ${name}`);
  for (const title of left) console.log(`PASSED, though it was expected to fail: ${title}`);
  return unexpected.size === 0 && left.size === 0;
}
