/** LangGraph's own tests, with the reducers of this library in place of LangGraph's. */

import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { REPOSITORY } from "../check-package/run-command.js";
import type { Suite } from "./run-suite.js";

const REDUCER = "src/graph/messages_reducer.ts";
const sourceOf = (path: string): string => JSON.stringify(join(REPOSITORY, "src", path));

const OUR_REDUCERS = `
export { REMOVE_ALL_MESSAGES } from ${sourceOf("history/message.ts")};
export { pairedMessagesReducer as messagesStateReducer } from ${sourceOf("history/reducer/paired-messages.ts")};
export { pairedMessagesDeltaReducer as messagesDeltaReducer } from ${sourceOf("threads/langgraph/channels.ts")};
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

export const LANGGRAPH: Suite = {
  name: "LangGraph's graphs",
  project: "libs/langgraph-core",
  vitestConfig: VITEST_CONFIG,
  comparisons: [{ title: "our reducers", ours: (folder) => writeFile(join(folder, REDUCER), OUR_REDUCERS) }],
};
