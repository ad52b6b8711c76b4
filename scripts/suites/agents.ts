/** LangChain's and deepagents' own tests, with `tetherMiddleware` added to every agent. */

import { access, readdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { REPOSITORY } from "../check-package/run-command.js";
import type { Suite } from "./run-suite.js";

/** The installed LangChain, which is the one that the tests are about, whatever the checkout is. */
const INSTALLED = join(REPOSITORY, "node_modules/langchain/dist");

/** One without hooks that do anything. It tells which tests fail with any middleware, such as drawings of the graph. */
const EMPTY = `
import { createMiddleware } from ${JSON.stringify(join(INSTALLED, "index.js"))};
const added = () =>
  createMiddleware({
    name: "empty",
    beforeAgent: async () => undefined,
    wrapModelCall: async (request, handler) => handler(request),
    wrapToolCall: async (request, handler) => handler(request),
  });
`;
const OURS = `
import { tetherMiddleware as added } from ${JSON.stringify(join(REPOSITORY, "src/langchain.ts"))};
`;

const PLACES = {
  last: "[...middleware, added()]",
  first: "[added(), ...middleware]",
} as const;

/**
 * Everything of a module of the installed LangChain, with a `createAgent` that adds the middleware to each agent.
 * deepagents allows a run ten thousand steps, which a fake model that repeats its ids would all take.
 */
const adding = (module: string, middleware: string, place: keyof typeof PLACES): string => `
${middleware}
import { createAgent as create } from ${JSON.stringify(join(INSTALLED, module))};
export * from ${JSON.stringify(join(INSTALLED, module))};
const bounded = (agent) => {
  const withConfig = agent.withConfig.bind(agent);
  agent.withConfig = ({ recursionLimit = 25, ...config }) =>
    bounded(withConfig({ ...config, recursionLimit: Math.min(recursionLimit, 100) }));
  return agent;
};
export const createAgent = ({ middleware = [], ...params }) =>
  bounded(create({ ...params, middleware: ${PLACES[place]} }));
`;

/** @param write Contract: lets the tests in this folder make their agents with this middleware, at this place. */
const comparisons = (
  write: (folder: string, middleware: string, place: keyof typeof PLACES) => Promise<void>,
): Suite["comparisons"] =>
  (["last", "first"] as const).map((place) => ({
    title: place,
    without: (folder) => write(folder, EMPTY, place),
    ours: (folder) => write(folder, OURS, place),
  }));

const testConfig = (include: string, plugins = "[]"): string => `
export default {
  define: { __PKG_VERSION__: '"0.0.0"' },
  plugins: ${plugins},
  test: {
    globals: true,
    testTimeout: 60_000,
    environment: "node",
    // Not again: some of the tests count what the tests before them have made.
    retry: 0,
    include: ["${include}"],
    exclude: ["**/*.int.test.ts", "**/*.bench.test.ts"],
  },
};
`;

/** Where the tests of LangChain find `createAgent`. */
const FACTORY = "agents/index";

export const LANGCHAIN: Suite = {
  name: "LangChain's agents",
  project: "libs/langchain",
  vitestConfig: testConfig("src/agents/**/*.test.ts"),
  /** Replaces each source by the installed module that was made from it. */
  prepare: async (folder) => {
    const source = join(folder, "src");
    const paths = await readdir(source, { recursive: true });
    for (const path of paths) {
      if (!path.endsWith(".ts") || /\.test\.ts$|(?:^|\/)tests\//.test(path)) continue;
      const module = join(INSTALLED, path.replace(/\.ts$/, ".js"));
      const isInstalled = await access(module).then(
        () => true,
        () => false,
      );
      if (isInstalled) await writeFile(join(source, path), `export * from ${JSON.stringify(module)};\n`);
    }
    const whole = JSON.stringify(join(INSTALLED, "index.js"));
    const index = `export * from ${whole};\nexport { createAgent } from "./${FACTORY}.js";\n`;
    await writeFile(join(source, "index.ts"), index);
  },
  comparisons: comparisons((folder, middleware, place) =>
    writeFile(join(folder, "src", `${FACTORY}.ts`), adding(`${FACTORY}.js`, middleware, place)),
  ),
};

/** What deepagents and its tests import as LangChain. */
const REPLACEMENT = "langchain.js";

/** Our own code gets LangChain itself. */
const REPLACING = `[
  {
    name: "replacing",
    enforce: "pre",
    resolveId: (id, importer = "") =>
      id === "langchain" && importer.startsWith(import.meta.dirname + "/src") ? import.meta.dirname + "/${REPLACEMENT}" : null,
  },
]`;

const PLAIN = `export * from ${JSON.stringify(join(INSTALLED, "index.js"))};\n`;

export const DEEPAGENTS: Suite = {
  name: "deepagents",
  project: "libs/deepagents",
  vitestConfig: testConfig("src/**/*.test.ts", REPLACING),
  prepare: (folder) => writeFile(join(folder, REPLACEMENT), PLAIN),
  comparisons: comparisons((folder, middleware, place) =>
    writeFile(join(folder, REPLACEMENT), adding("index.js", middleware, place)),
  ),
};
