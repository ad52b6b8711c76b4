/** The served graph with MCP servers of the official SDK, over stdio and over HTTP. */

import { join } from "node:path";
import { Client } from "@langchain/langgraph-sdk";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { type DevServer, startDevServer } from "../../scripts/dev-server.js";
import { mcpFile, startHttpServer, stdioServer, testFolder } from "../support/mcp/start-mcp-server.js";
import { user } from "../support/thread.js";
import { readLog, Thread, until } from "./served.js";

async function serveMcp(mcpServers: object, env: Record<string, string> = {}) {
  const server: DevServer = await startDevServer({
    env: { MODEL: "offline:", MCP_SERVERS: mcpFile({ mcpServers }), ...env },
  });
  onTestFinished(() => server.stop());
  const client = new Client({ apiUrl: server.url, apiKey: null });
  const thread = async () => new Thread(client, "agent", (await client.threads.create()).thread_id);
  return { client, thread };
}

describe("the served graph with MCP servers", () => {
  it("calls their tools, goes on when one is killed in the middle of a call, and connects again", async () => {
    const log = join(testFolder(), "log");
    const http = await startHttpServer("0", { MCP_LOG: log });
    const env = { REQUIRE_APPROVAL: "broken" };
    const { client, thread } = await serveMcp(
      {
        local: stdioServer({ MCP_LOG: log }),
        remote: { url: http.url },
        away: { command: "no-such-command" },
      },
      env,
    );
    // Nothing connects before a run.
    expect(readLog(log)).toEqual([]);
    const one = await thread();
    expect(await one.send('call add {"a": 1, "b": 2} and call remote__add {"a": 3, "b": 4}')).toEqual([
      expect.stringContaining("human: call add"),
      "ai> add remote__add",
      "tool: 3",
      "tool: 7",
      expect.stringMatching(/^ai: /),
    ]);
    const events: unknown[] = [];
    const run = (async () => {
      const input = user("call remote__wait");
      for await (const { event, data } of client.runs.stream(one.id, "agent", {
        input,
        streamMode: "custom",
      }))
        if (event === "custom") events.push(data);
    })();
    await until(() => readLog(log).includes("wait"));
    await http.kill();
    await run;
    expect((await one.script()).slice(-2)).toEqual([
      expect.stringContaining("The connection to the MCP server `remote` was lost during the call"),
      expect.stringMatching(/^ai: /),
    ]);
    expect(events[0]).toEqual({
      type: "mcp-server-failed",
      server: "away",
      reason: expect.stringContaining("no-such-command"),
    });
    await startHttpServer(http.port);
    // After a failure the server is tried again only after a while.
    const add = async () => (await one.send('call remote__add {"a": 5, "b": 6}')).at(-2);
    await vi.waitUntil(async () => (await add()) === "tool: 11", { timeout: 60_000, interval: 500 });

    // The name of the server's tool means the tools of both servers.
    const two = await thread();
    const asked = await client.runs.wait(two.id, "agent", {
      input: user("call broken and call remote__broken"),
    });
    expect(JSON.stringify(asked)).toContain('"name":"remote__broken"');
    await client.runs.wait(two.id, "agent", {
      command: { resume: { decisions: [{ type: "approve" }, { type: "reject" }] } },
    });
    expect((await two.script())[2]).toContain("the disk is full");
    expect(readLog(log).filter((line) => line === "start")).toHaveLength(1);
  });

  it("does not start with a bad file, and names the place", async () => {
    const starting = serveMcp({ one: { comand: "node" } });
    await expect(starting).rejects.toThrow(/mcpServers\.one.*Did you mean `command`\?/);
  });
});
