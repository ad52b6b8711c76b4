import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@langchain/langgraph-sdk";
import { afterEach, describe, expect, it } from "vitest";
import { type DevServer, type DevServerOptions, startDevServer } from "../../scripts/dev-server.js";
import { user } from "../support/thread.js";

const config = fileURLToPath(new URL("../fixtures/echo/langgraph.json", import.meta.url));

const servers: DevServer[] = [];
const directories: string[] = [];

async function start(options: DevServerOptions = {}): Promise<DevServer> {
  const server = await startDevServer({ config, ...options });
  servers.push(server);
  return server;
}

async function makeDirectory(): Promise<string> {
  const directory = await mkdtemp(join(tmpdir(), "dev-server-test-"));
  directories.push(directory);
  return directory;
}

async function contents(client: Client, threadId: string): Promise<unknown[]> {
  const { values } = await client.threads.getState<{ messages: { content: unknown }[] }>(threadId);
  return values.messages.map((message) => message.content);
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.stop()));
  await Promise.all(directories.splice(0).map((directory) => rm(directory, { recursive: true })));
});

describe("startDevServer", () => {
  it("serves the graphs of a config until it is stopped; another server continues its threads, and ends with the process that started it", async () => {
    const stateDirectory = await makeDirectory();
    const first = await start({ stateDirectory, env: { ECHO_PREFIX: "you said " } });
    const { thread_id } = await first.client.threads.create();
    await first.client.runs.wait(thread_id, "echo", { input: user("one") });
    // The variables of the caller win over those of the config.
    expect(await contents(first.client, thread_id)).toEqual(["one", "you said one"]);
    expect(first.output()).toContain("Server running at 127.0.0.1");

    await first.stop();
    await expect(fetch(`${first.url}/ok`)).rejects.toThrow("fetch failed");
    expect(() => process.kill(first.processId, 0)).toThrow("ESRCH");

    const options = JSON.stringify({ config, stateDirectory });
    const code = `const { startDevServer } = await import(${JSON.stringify(new URL("../../scripts/dev-server.ts", import.meta.url))});
      console.log((await startDevServer(${options})).url);`;
    const starter = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", code], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    const [line] = await once(starter.stdout, "data");
    const client = new Client({ apiUrl: String(line).trim(), apiKey: null });
    await client.runs.wait(thread_id, "echo", { input: user("two") });
    expect(await contents(client, thread_id)).toEqual(["one", "you said one", "two", "echo: two"]);

    starter.kill("SIGKILL");
    const isUp = () =>
      fetch(`${String(line).trim()}/ok`).then(
        () => true,
        () => false,
      );
    await expect.poll(isUp).toBe(false);
  });

  it("reports the server's output if a graph cannot be loaded", async () => {
    const directory = await makeDirectory();
    const broken = join(directory, "langgraph.json");
    await writeFile(broken, JSON.stringify({ graphs: { missing: "./missing.ts:graph" } }));
    await expect(start({ config: broken })).rejects.toThrow(/failed to start[\s\S]*missing\.ts/);
  });

  it("gives up on a server that does not respond in time", async () => {
    await expect(start({ startTimeoutMs: 1 })).rejects.toThrow("did not respond within 1 ms");
  });
});
