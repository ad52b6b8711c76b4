import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

/** See `test/support/law-runs.ts`. */
const lawRuns = Number(process.env["LAW_RUNS"] ?? 1);

export default defineConfig({
  resolve: {
    alias: { "langgraph-tether": fileURLToPath(new URL("src/index.ts", import.meta.url)) },
  },
  test: {
    include: ["test/**/*.test.ts"],
    globalSetup: "test/e2e/shared-server.ts",
    testTimeout: 30_000 * lawRuns,
    // LangChain takes a second to load, and no test changes what another one imports.
    isolate: false,
    // One would wait while its server works; vitest's default on two cores.
    maxWorkers: Math.max(2, availableParallelism() - 1),
  },
});
