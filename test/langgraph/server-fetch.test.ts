/** Pins where LangGraph's server keeps the function that sends requests to it. */

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { expect, it } from "vitest";
import { serverFetch } from "../../src/threads/langgraph/run-host.js";

it("LangGraph's server binds the function under the same symbol", () => {
  const require = createRequire(import.meta.url);
  const root = dirname(require.resolve("@langchain/langgraph-api/package.json"));
  const code = readFileSync(join(root, "dist/loopback.mjs"), "utf8");
  expect(code).toContain('Symbol.for("langgraph_api:fetch")');
  expect(code).toContain("app.request(url, init)");
});

it("fails clearly in a process without a server", () => {
  expect(() => serverFetch("/ok", {})).toThrow("Expected a LangGraph server in this process.");
});
