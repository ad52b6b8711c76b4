import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

export default defineConfig({
  resolve: {
    alias: { "langgraph-tether": fileURLToPath(new URL("src/index.ts", import.meta.url)) },
  },
  test: {
    include: ["test/**/*.test.ts"],
    testTimeout: 30_000,
    // LangChain takes a second to load, and no test changes what another one imports.
    isolate: false,
  },
});
