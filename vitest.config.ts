import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** See `test/support/law-runs.ts`. */
const lawRuns = Number(process.env["LAW_RUNS"] ?? 1);

export default defineConfig({
  resolve: {
    // The first match wins, and the name of the package is the beginning of its other entries.
    alias: {
      "langgraph-tether/doctor": fileURLToPath(new URL("src/doctor.ts", import.meta.url)),
      "langgraph-tether/langchain": fileURLToPath(new URL("src/langchain.ts", import.meta.url)),
      "langgraph-tether": fileURLToPath(new URL("src/index.ts", import.meta.url)),
    },
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/e2e/shared-server.ts",
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
    // LangChain takes a second to load, and no test changes what another one imports.
    isolate: false,
    // One would wait while its server works; vitest's default on two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
  },
});
