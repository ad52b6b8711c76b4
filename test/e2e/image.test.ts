/** The recipe of an image, and what it copies. */

import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { AGENTS } from "./shared-servers.js";

const repository = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string) => readFile(join(repository, path), "utf8");

it("the command line tool makes an image recipe of langgraph.json that serves the agent", async () => {
  const directory = await mkdtemp(join(tmpdir(), "tether-image-"));
  try {
    const recipe = join(directory, "Dockerfile");
    const tool = join(repository, "node_modules/.bin/langgraphjs");
    const secret = "sk-never-in-an-image";
    const env = {
      ...process.env,
      LANGGRAPH_CLI_NO_ANALYTICS: "1",
      OPENAI_API_KEY: secret,
      AUTH_API_KEYS: secret,
    };
    await promisify(execFile)(tool, ["dockerfile", recipe], { cwd: repository, env });
    const text = await readFile(recipe, "utf8");
    const { node_version } = JSON.parse(await read("langgraph.json"));
    expect(text).toMatch(new RegExp(`^FROM .*langgraphjs-api:${node_version}$`, "m"));
    expect(text).toMatch(/LANGSERVE_GRAPHS.*"agent":"\.\/server\/agent\.ts:graph"/);
    // The packages of the server's side are development dependencies of the library.
    expect(text.indexOf("ENV NPM_CONFIG_INCLUDE=dev")).toBeLessThan(text.indexOf("RUN npm ci"));
    expect(text).toContain("RUN npm ci");
    for (const name of ["LANGGRAPH_AUTH", "LANGGRAPH_HTTP"])
      expect(text).toMatch(new RegExp(`^ENV ${name}=`, "m"));
    expect(text).not.toContain(secret);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
});

it("an image gets neither secrets nor threads of this machine", async () => {
  const ignored = (await read(".dockerignore")).split("\n");
  for (const path of [".env", ".env.*", ".git", ".langgraph_api", "threads.sqlite*", "node_modules"])
    expect(ignored).toContain(path);
});

it("the product serves the graph that these tests serve, with the same access control", async () => {
  const product = JSON.parse(await read("langgraph.json"));
  const fixture = JSON.parse(await readFile(AGENTS, "utf8"));
  const { auth, http, graphs } = fixture;
  const served = { auth, http, graphs: { agent: graphs.agent } };
  expect(JSON.parse(JSON.stringify(served).replaceAll("../../../server", "./server"))).toEqual({
    auth: product.auth,
    http: product.http,
    graphs: product.graphs,
  });
});
