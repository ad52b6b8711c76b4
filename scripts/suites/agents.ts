/** LangChain's own tests of `createAgent` and of its middleware, with `tetherMiddleware` added to every agent. */

import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { EXPECTED_IN_LANGCHAIN } from "./langchain-failures.js";
import { judge, runTests, sourceOf, withCopy } from "./peer-tests.js";

export const LANGCHAIN = "libs/langchain";
const FACTORY = "src/agents/index.ts";
const MAKES_AGENT = "return new ReactAgent(params);";

/** One without hooks that do anything. It tells which tests fail with any middleware, such as drawings of the graph. */
const INERT = `
import { createMiddleware } from "./middleware.js";
const added = () =>
  createMiddleware({
    name: "inert",
    beforeAgent: async () => undefined,
    wrapModelCall: async (request: any, handler: any) => handler(request),
    wrapToolCall: async (request: any, handler: any) => handler(request),
  });
`;
const OURS = `import { tetherMiddleware as added } from ${sourceOf("langchain.ts")};\n`;

/** The place that the documents name: last, but before the middleware that handles the errors of tools. */
const ADD = `
const HOOKS = ["beforeAgent", "beforeModel", "afterModel", "afterAgent", "wrapModelCall"];
const isForTools = (one: any) => one.wrapToolCall && HOOKS.every((hook) => one[hook] === undefined);
const withAdded = ({ middleware = [], ...params }: any) => {
  const [forTools, others] = [middleware.filter(isForTools), middleware.filter((one: any) => !isForTools(one))];
  return { ...params, middleware: [...others, added(), ...forTools] };
};
`;

const VITEST_CONFIG = `
export default {
  define: { __PKG_VERSION__: '"0.0.0"' },
  test: {
    globals: true,
    testTimeout: 60_000,
    environment: "node",
    // Not again: some of the tests count what the tests before them have made.
    retry: 0,
    include: ["src/agents/**/*.test.ts"],
    exclude: ["**/*.int.test.ts", "**/*.bench.test.ts"],
  },
};
`;

/** @returns whether only the expected tests fail. */
export function compareAgents(checkout: string): Promise<boolean> {
  return withCopy(join(checkout, LANGCHAIN), VITEST_CONFIG, async (folder) => {
    const factory = await readFile(join(folder, FACTORY), "utf8");
    if (!factory.includes(MAKES_AGENT)) throw new Error(`Expected \`${MAKES_AGENT}\` in ${FACTORY}.`);
    const runWith = async (middleware: string) => {
      const adding = factory.replace(MAKES_AGENT, "return new ReactAgent(withAdded(params));");
      await writeFile(join(folder, FACTORY), middleware + ADD + adding);
      return runTests(folder);
    };
    const alone = await runTests(folder);
    console.log(`createAgent: ${alone.passed} passed, ${alone.failed.size} failed.`);
    const inert = await runWith(INERT);
    console.log(`With a middleware that does nothing: ${inert.passed} passed, ${inert.failed.size} failed.`);
    return judge(await runWith(OURS), [alone, inert], EXPECTED_IN_LANGCHAIN);
  });
}
