import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { AGENTS } from "./shared-server.js";

const repository = fileURLToPath(new URL("../..", import.meta.url));

it("the command line tool makes an image recipe of langgraph.json that serves the agent", async () => {
  const directory = await mkdtemp(join(tmpdir(), "tether-image-"));
  try {
    const recipe = join(directory, "Dockerfile");
    const tool = join(repository, "node_modules/.bin/langgraphjs");
    const env = { ...process.env, LANGGRAPH_CLI_NO_ANALYTICS: "1" };
    await promisify(execFile)(tool, ["dockerfile", recipe], { cwd: repository, env });
    const text = await readFile(recipe, "utf8");
    expect(text).toMatch(/^FROM .*langgraphjs-api:20$/m);
    expect(text).toMatch(/LANGSERVE_GRAPHS.*"agent":"\.\/src\/deploy\/agent\.ts:graph"/);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

it("the product serves the graph that these tests serve", async () => {
  const product = JSON.parse(await readFile(join(repository, "langgraph.json"), "utf8"));
  const fixture = JSON.parse(await readFile(AGENTS, "utf8"));
  expect(product).toEqual({ node_version: "20", graphs: { agent: "./src/deploy/agent.ts:graph" } });
  expect(fixture.graphs.agent).toBe("../../../src/deploy/agent.ts:graph");
});
