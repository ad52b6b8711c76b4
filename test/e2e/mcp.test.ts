/** The served graph with MCP servers of the official SDK, over stdio and over HTTP. */

import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { startDevServer } from "../../scripts/dev-server.js";
import { mcpFile, startHttpServer, stdioServer, testFolder } from "../support/mcp/start-mcp-server.js";
import { user } from "../support/thread.js";
import { newThread, readLog } from "./served.js";

it("The served graph calls tools of MCP servers, asks for approval, and does without a server that is missing.", async () => {
  const log = join(testFolder(), "log");
  const http = await startHttpServer();
  const mcpServers = {
    local: stdioServer({ MCP_LOG: log, MCP_SECRET: "given" }),
    remote: { url: http.url },
    away: { command: "no-such-command" },
  };
  const env = {
    MODEL: "offline:",
    MCP_SERVERS: mcpFile({ mcpServers }),
    REQUIRE_APPROVAL: "local__broken,away__anything",
  };
  const server = await startDevServer({ env });
  onTestFinished(() => server.stop());
  const one = await newThread(server.client, "agent");
  const results = async (text: string) =>
    (await one.send(text)).filter((line) => line.startsWith("tool: ")).slice(-2);
  expect(await results('call local__add {"a": 1, "b": 2} and call remote__add {"a": 3, "b": 4}')).toEqual([
    "tool: 3",
    "tool: 7",
  ]);
  // The process gets the variables of the file, and none of the graph's.
  expect((await results("call local__who and call remote__calculator"))[0]).toMatch(/^tool: \d+ given /);

  const two = await newThread(server.client, "agent");
  const asked = await two.invoke(user("call local__broken and call remote__broken").messages);
  expect(JSON.stringify(asked)).toContain('"name":"local__broken"');
  await two.resume({ type: "approve" });
  const failed = (await two.script()).filter((line) => line.startsWith("tool! "));
  expect(failed).toEqual([1, 2].map(() => expect.stringContaining("the disk is full")));

  await http.kill();
  expect((await one.send('call local__add {"a": 5, "b": 6}')).at(-2)).toBe("tool: 11");
  // All runs share one process, and the log names the missing server once.
  expect(readLog(log).filter((line) => line === "start")).toHaveLength(1);
  expect(server.output().match(/The MCP server `away` is left out/g)).toHaveLength(1);
});
