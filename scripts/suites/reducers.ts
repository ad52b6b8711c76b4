/** LangGraph's own tests, with the reducers of this library in place of LangGraph's. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ExpectedFailures, judge, runTests, sourceOf, withCopy } from "./peer-tests.js";

export const LANGGRAPH = "libs/langgraph-core";
const REDUCER = "src/graph/messages_reducer.ts";

/** The tests that demand what this library does on purpose in another way. */
const EXPECTED: readonly ExpectedFailures[] = [
  {
    rule: "Rule 4: two branches can remove the same message, and an error would make the thread unreadable.",
    tests: ["should throw on removing nonexistent message"],
  },
  {
    rule: "Rule 7: its results have no calls, and every provider refuses such a list.",
    tests: ["should not assign message ID for tool messages"],
  },
];

const OUR_REDUCERS = `
export { REMOVE_ALL_MESSAGES } from ${sourceOf("history/messages/remove-all-messages.ts")};
export { pairedMessagesReducer as messagesStateReducer } from ${sourceOf("history/reducer/paired-messages.ts")};
export { pairedMessagesDeltaReducer as messagesDeltaReducer } from ${sourceOf("langgraph/channels/paired-messages-delta.ts")};
`;

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

/** @returns whether only the expected tests fail. */
export function compareReducers(checkout: string): Promise<boolean> {
  return withCopy(join(checkout, LANGGRAPH), VITEST_CONFIG, async (folder) => {
    const theirs = await runTests(folder);
    console.log(`LangGraph's reducers: ${theirs.passed} passed, ${theirs.failed.size} failed.`);
    await writeFile(join(folder, REDUCER), OUR_REDUCERS);
    return judge(await runTests(folder), [theirs], EXPECTED);
  });
}
