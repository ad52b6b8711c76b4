/**
 * Runs LangGraph's own unit tests with the reducers of this library in place of LangGraph's: `npm run peers`.
 *
 * The tests are those of a checkout of https://github.com/langchain-ai/langgraphjs. Its path is the argument, or the
 * environment variable `LANGGRAPHJS`. Without one, nothing is run.
 *
 * The tests run twice in a temporary folder, with the packages that are installed here: once as they are, and once with
 * our reducers. A test that fails only with ours must be in `EXPECTED_FAILURES`. If another one does, or if an expected
 * one passes, it ends with 1.
 */

import { access, cp, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { REPOSITORY, tryCommand } from "./check-package/run-command.js";

const PACKAGE = "libs/langgraph-core";
const REDUCER = "src/graph/messages_reducer.ts";

/** The tests that demand what this library does on purpose in another way. */
const EXPECTED_FAILURES: ReadonlyMap<string, string> = new Map([
  [
    "should throw on removing nonexistent message",
    "Rule 4: two branches can remove the same message, and an error would make the thread unreadable.",
  ],
  [
    "should not assign message ID for tool messages",
    "Rule 7: its results have no calls, and every provider refuses such a list.",
  ],
]);

const OUR_REDUCERS = `
export { REMOVE_ALL_MESSAGES } from ${sourceOf("history/messages/remove-all-messages.ts")};
export { pairedMessagesReducer as messagesStateReducer } from ${sourceOf("history/reducer/paired-messages-reducer.ts")};
export { pairedMessagesDeltaReducer as messagesDeltaReducer } from ${sourceOf("langgraph/paired-messages-delta.ts")};
`;

/** The packages that their setup of vitest also needs for browsers are left out. */
const VITEST_CONFIG = `
export default {
  test: {
    globals: true,
    testTimeout: 60_000,
    // Some of the tests depend on the time that something takes.
    retry: 2,
    environment: "node",
    include: ["src/**/*.test.ts"],
    exclude: ["**/*.int.test.ts", "**/*.bench.test.ts"],
    setupFiles: ["./src/tests/setup.node.ts", "./src/tests/matchers/setup.ts"],
  },
};
`;

interface Report {
  readonly testResults: readonly {
    readonly name: string;
    readonly status: string;
    readonly message: string;
    readonly assertionResults: readonly {
      readonly fullName: string;
      readonly title: string;
      readonly status: string;
    }[];
  }[];
}

interface Outcome {
  readonly passed: number;
  /** Full names of tests, and names of files that could not be loaded. */
  readonly failed: ReadonlySet<string>;
}

function sourceOf(path: string): string {
  return JSON.stringify(pathToFileURL(join(REPOSITORY, "src", path)).pathname);
}

async function runTests(folder: string): Promise<Outcome> {
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

async function compare(checkout: string): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), "tether-peer-tests-"));
  try {
    await cp(join(checkout, PACKAGE), folder, {
      recursive: true,
      filter: (path) => !path.endsWith("node_modules"),
    });
    await symlink(join(REPOSITORY, "node_modules"), join(folder, "node_modules"));
    await rm(join(folder, "vitest.config.js"), { force: true });
    // Theirs extends a package that is not installed here.
    await writeFile(join(folder, "tsconfig.json"), "{}");
    await writeFile(join(folder, "vitest.config.mjs"), VITEST_CONFIG);
    const theirs = await runTests(folder);
    console.log(`LangGraph's reducers: ${theirs.passed} passed, ${theirs.failed.size} failed.`);
    await writeFile(join(folder, REDUCER), OUR_REDUCERS);
    const ours = await runTests(folder);
    const failed = [...ours.failed].filter((name) => !theirs.failed.has(name));
    console.log(`Ours: ${ours.passed} passed, ${failed.length} failed that passed before.`);
    return judge(failed);
  } finally {
    await rm(folder, { recursive: true });
  }
}

function judge(failed: readonly string[]): boolean {
  const left = new Map(EXPECTED_FAILURES);
  let isExpected = true;
  for (const name of failed) {
    const title = [...left.keys()].find((expected) => name.endsWith(expected));
    console.log(title === undefined ? `FAILED  ${name}` : `expected  ${name}\n          ${left.get(title)}`);
    if (title === undefined) isExpected = false;
    else left.delete(title);
  }
  for (const title of left.keys()) console.log(`PASSED, though it was expected to fail: ${title}`);
  return isExpected && left.size === 0;
}

const checkout = process.argv[2] ?? process.env["LANGGRAPHJS"];
if (checkout === undefined) {
  console.log("Skipped: give the path of a checkout of langgraphjs, or set LANGGRAPHJS to it.");
} else {
  await access(join(checkout, PACKAGE, REDUCER));
  if (!(await compare(checkout))) process.exitCode = 1;
}
