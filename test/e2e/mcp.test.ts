/** The served graph with MCP servers of the official SDK, over stdio and over HTTP. */

import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { startDevServer } from "../../scripts/dev-server.js";
import { mcpFile, startHttpServer, stdioServer, testFolder } from "../support/mcp/start-mcp-server.js";
import { user } from "../support/thread.js";
import { newThread, readLog, until } from "./served.js";

it("The served graph calls tools of MCP servers, goes on when one is killed in the middle of a call, and connects again.", async () => {
  const log = join(testFolder(), "log");
  const http = await startHttpServer("0", { MCP_LOG: log });
  const mcpServers = {
    local: stdioServer({ MCP_LOG: log }),
    remote: { url: http.url },
    away: { command: "no-such-command" },
  };
  const env = { MODEL: "offline:", MCP_SERVERS: mcpFile({ mcpServers }), REQUIRE_APPROVAL: "broken" };
  const server = await startDevServer({ env });
  onTestFinished(() => server.stop());
  // Nothing connects before a run.
  expect(readLog(log)).toEqual([]);
  const one = await newThread(server.client, "agent");
  expect(await one.send('call add {"a": 1, "b": 2} and call remote__add {"a": 3, "b": 4}')).toEqual([
    expect.stringContaining("human: call add"),
    "ai> add remote__add",
    "tool: 3",
    "tool: 7",
    expect.stringMatching(/^ai: /),
  ]);
  const run = one.stream(user("call remote__wait"), "custom");
  await until(() => readLog(log).includes("wait"));
  await http.kill();
  const events = await run;
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
  const two = await newThread(server.client, "agent");
  const asked = await two.invoke(user("call broken and call remote__broken").messages);
  expect(JSON.stringify(asked)).toContain('"name":"remote__broken"');
  await two.resume({ type: "approve" }, { type: "reject" });
  expect((await two.script())[2]).toContain("the disk is full");
  expect(readLog(log).filter((line) => line === "start")).toHaveLength(1);
});
