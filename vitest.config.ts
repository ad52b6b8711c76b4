import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** See `test/support/test-tools.ts`. */
const lawRuns = Number(process.env["LAW_RUNS"] ?? 1);

/** Makes the delta channel the default of `messagesChannel`, so that any test runs over it. */
const deltaByDefault = {
  name: "delta-by-default",
  enforce: "pre" as const,
  transform(code: string, id: string) {
    if (!id.endsWith("/src/agent/settings/table.ts")) return undefined;
    const changed = code.replace('default: "full"', 'default: "delta"');
    if (changed === code)
      throw new Error("Expected the table of settings to have a default for the channel.");
    return changed;
  },
};

/**
 * What starts servers, browsers, databases or many processes, or tries thousands of cases. `npm test` leaves it out, and
 * `npm run test:all` runs it too.
 */
const THOROUGH =
  "test/{crash,databases,doctor/command,e2e,examples,laws,long-threads,scripts,soak,wire}/**/*.test.ts";

/** What counts steps replaces methods of the engine for its whole process. So each of these files has one of its own. */
const COUNTING = "test/laws/{faulty-thread,foreign-entry,foreign-text,linear}-laws.test.ts";

export default defineConfig({
  plugins: process.env["TEST_MESSAGES_CHANNEL"] === "delta" ? [deltaByDefault] : [],
  resolve: {
    // The first match wins, and the name of the package is the beginning of its other entries.
    alias: {
      "langgraph-tether/history": fileURLToPath(new URL("src/history.ts", import.meta.url)),
      "langgraph-tether/doctor": fileURLToPath(new URL("src/doctor.ts", import.meta.url)),
      "langgraph-tether/inspector": fileURLToPath(new URL("src/inspector.ts", import.meta.url)),
      "langgraph-tether/langchain": fileURLToPath(new URL("src/langchain.ts", import.meta.url)),
      "langgraph-tether": fileURLToPath(new URL("src/index.ts", import.meta.url)),
    },
  },
  test: {
    projects: [
      { extends: true, test: { name: "quick", include: ["test/**/*.test.ts"], exclude: [THOROUGH] } },
      {
        extends: true,
        test: {
          name: "thorough",
          include: [THOROUGH],
          exclude: [COUNTING],
          globalSetup: ["test/e2e/shared-servers.ts"],
        },
      },
      { extends: true, test: { name: "counting", include: [COUNTING], isolate: true } },
    ],
    // Only what hangs may take so long, also where other work takes most of the machine.
    testTimeout: 180_000 * lawRuns,
    hookTimeout: 180_000,
    teardownTimeout: 60_000,
    expect: { poll: { timeout: 60_000 } },
    // A test that expects a warning catches it, so what is printed is a warning that nobody expects.
    onConsoleLog: (text, stream, test) => {
      const name = test !== undefined && "fullName" in test ? test.fullName : "a file";
      throw new Error(`Unexpected output on ${stream} of ${name}: ${text}`);
    },
    // A run makes many short-lived objects. With room for them, a tenth of the time of all tests is saved.
    execArgv: ["--max-semi-space-size=64"],
    // LangChain takes a second to load, and no test changes what another one imports.
    isolate: false,
    // A worker often waits: a development server looks only every half second whether a run has ended.
    maxWorkers: availableParallelism() + 1,
    maxConcurrency: 10,
  },
});
