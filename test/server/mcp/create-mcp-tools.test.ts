/** Real MCP servers of the official SDK, under an agent. */

import { createServer } from "node:net";
import { join } from "node:path";
import type { AIMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it, onTestFinished } from "vitest";
import { createMcpTools } from "../../../server/mcp/create-mcp-tools.js";
import { readMcpServers } from "../../../server/mcp/read-mcp-file.js";
import { createAgentGraph, toModelInput } from "../../../src/index.js";
import { readLog, until } from "../../e2e/served.js";
import { mcpFile, startHttpServer, stdioServer, testFolder } from "../../support/mcp/start-mcp-server.js";
import { calls } from "../../support/models.js";
import { scripted } from "../../support/scripted-model.js";
import { inThread, pairedMessagesOf, pairedScript, user } from "../../support/thread.js";

interface Clock {
  time: number;
}

/** The tools of these servers, with a clock that stands still. */
function mcpOf(mcpServers: object, clock: Clock = { time: 0 }) {
  const settings = readMcpServers({ MCP_SERVERS: mcpFile({ mcpServers }) });
  const mcp = createMcpTools(settings.map((server) => ({ ...server, now: () => clock.time })));
  onTestFinished(mcp.close);
  return {
    ...mcp,
    names: async (own: readonly string[] = []) => (await mcp.load(own)).tools.map(({ tool }) => tool.name),
    /** A new graph, as each run of a server has it. Returns its lines after a message, or the results. */
    agent: async (...steps: readonly (AIMessage | string)[]) => {
      const graph = createAgentGraph({
        model: scripted(...steps),
        tools: (await mcp.load([])).tools.map(({ tool }) => tool),
        includeDetailedErrors: true,
        checkpointer: new MemorySaver(),
      });
      const invoke = (options: object = {}) => graph.invoke(user("go"), { ...inThread("1"), ...options });
      return {
        graph,
        invoke,
        lines: async () => pairedScript(await invoke()),
        results: async () =>
          pairedMessagesOf(await invoke()).filter(
            (message): message is ToolMessage => message.type === "tool",
          ),
      };
    },
  };
}

async function freePort(): Promise<string> {
  const server = createServer().listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  return String(typeof address === "object" ? address?.port : address);
}

const SERVED_TOOLS = "add calculator find_in_files picture resource structured broken wait who".split(" ");
const ADD = calls(["add", { a: 2, b: 2 }]);

const TRANSPORTS = [
  ["stdio", async () => stdioServer()],
  ["HTTP", async () => ({ url: (await startHttpServer()).url })],
  [
    "server-sent events",
    async () => ({ type: "sse", url: (await startHttpServer()).url.replace("/mcp", "/sse") }),
  ],
] as const;

describe.each(TRANSPORTS)("an MCP server over %s", (_, start) => {
  it("gives the agent its tools, which answer with text, pictures, resources and structured content", async () => {
    const mcp = mcpOf({ test: await start() });
    expect(await mcp.names()).toEqual(SERVED_TOOLS);
    const agent = await mcp.agent(
      calls(
        ...([
          ["add", { a: 20, b: 22 }],
          ["find_in_files"],
          ["picture"],
          ["resource"],
          ["structured"],
        ] as const),
        ...([["broken"], ["add", { a: "x" }]] as const),
      ),
      "done",
    );
    const results = await agent.results();
    const [add, find, picture, resource, structured, broken, invalid] = results;
    expect(add).toMatchObject({ content: "42", status: "success", name: "add" });
    expect(find?.content).toBe("found");
    expect(picture?.content).toEqual([
      { type: "text", text: "here it is" },
      { type: "image_url", image_url: { url: expect.stringMatching(/^data:image\/png;base64,iVBO/) } },
    ]);
    expect(resource?.content).toBe("the text\nResource: file:///b.txt");
    expect(structured?.content).toBe('{"value":7}');
    expect(broken).toMatchObject({ status: "error", content: expect.stringContaining("the disk is full") });
    expect(invalid).toMatchObject({ status: "error", content: expect.stringContaining("schema") });

    const { messages = [] } = (await agent.graph.getState(inThread("1"))).values;
    const forAnthropic = toModelInput(messages, { dialect: "anthropic" });
    expect(JSON.stringify(forAnthropic)).toContain("data:image/png;base64,");
    const forOthers = JSON.stringify(toModelInput(messages, { dialect: "deepseek" }));
    expect(forOthers).toContain("here it is");
    expect(forOthers).not.toContain("base64");
  });
});

describe("a server that is killed in the middle of a call", () => {
  it.each(["stdio", "HTTP", "server-sent events"] as const)(
    "makes the call an error result, and is connected again at the next call (%s)",
    async (transport) => {
      const log = join(testFolder(), "log");
      const http = transport === "stdio" ? undefined : await startHttpServer("0", { MCP_LOG: log });
      const remote = (url: string) =>
        transport === "HTTP" ? { url } : { type: "sse", url: url.replace("/mcp", "/sse") };
      const address = http === undefined ? stdioServer({ MCP_LOG: log }) : remote(http.url);
      // Longer than any test. The call must not wait for it.
      const mcp = mcpOf({ test: { ...address, defaultToolTimeout: 2_000_000_000 } });
      const agent = await mcp.agent(calls(["who"]), calls(["wait"]), "it was lost", ADD, "it works");
      const run = agent.lines();
      await until(() => readLog(log).includes("wait"));
      const pid = Number(
        (await agent.graph.getState(inThread("1"))).values.messages?.[2]?.text.split(" ")[0],
      );
      if (http === undefined) process.kill(pid, "SIGKILL");
      else await http.kill();
      expect((await run).slice(4)).toEqual([
        "tool! Error: `wait` failed: The connection to the MCP server `test` was lost during the call. It may or may not have taken effect.",
        "ai: it was lost",
      ]);
      if (http !== undefined) await startHttpServer(http.port);
      expect((await agent.lines()).slice(-2)).toEqual(["tool: 4", "ai: it works"]);
    },
  );

  it("is connected again before a call if it was restarted between two calls", async () => {
    const http = await startHttpServer();
    const mcp = mcpOf({ test: { url: http.url } });
    const agent = await mcp.agent(ADD, "it works");
    await http.kill();
    await startHttpServer(http.port);
    expect((await agent.lines()).slice(-2)).toEqual(["tool: 4", "ai: it works"]);
  });

  it("leaves an error for each later call as long as it is away", async () => {
    const http = await startHttpServer();
    const mcp = mcpOf({ test: { url: http.url } });
    const agent = await mcp.agent(ADD, ADD, "it is away");
    await http.kill();
    const [first, second] = await agent.results();
    expect(first?.text).toMatch(/MCP server `test`/);
    expect(second?.text).toMatch(/^Error: `add` failed: The MCP server `test` cannot be used: /);
  });
});

describe("a run that is aborted in the middle of a call", () => {
  it("leaves the connection as it is", async () => {
    const log = join(testFolder(), "log");
    const mcp = mcpOf({ test: stdioServer({ MCP_LOG: log }) });
    const agent = await mcp.agent(calls(["wait"]), ADD, "it works");
    const abort = new AbortController();
    const run = agent.invoke({ signal: abort.signal });
    await until(() => readLog(log).includes("wait"));
    abort.abort();
    await expect(run).rejects.toThrow();
    expect((await agent.lines()).slice(-2)).toEqual(["tool: 4", "ai: it works"]);
    expect(readLog(log)).toEqual(["start", "wait"]);
  });
});

describe("a server that is down", () => {
  it("takes only its own tools with it, is named, and is tried again later", async () => {
    const port = await freePort();
    const clock: Clock = { time: 0 };
    const mcp = mcpOf(
      {
        away: { url: `http://127.0.0.1:${port}/mcp` },
        test: stdioServer(),
        typo: { command: "no-such-command" },
      },
      clock,
    );
    const { tools, events } = await mcp.load([]);
    expect(tools.map(({ tool }) => tool.name)).toEqual(SERVED_TOOLS);
    expect(events).toEqual([
      { type: "mcp-server-failed", server: "away", reason: expect.stringContaining("`away` cannot be used") },
      { type: "mcp-server-failed", server: "typo", reason: expect.stringContaining("ENOENT") },
    ]);
    await startHttpServer(port);
    expect((await mcp.load([])).events).toHaveLength(2);
    clock.time += 1000;
    const later = await mcp.load([]);
    expect(later.events.map(({ server }) => server)).toEqual(["typo"]);
    // The tools that were there keep their names.
    expect(await mcp.names()).toEqual([...SERVED_TOOLS.map((name) => `away__${name}`), ...SERVED_TOOLS]);
  });

  it("is not told its keys in the reason", async () => {
    const port = await freePort();
    const mcp = mcpOf({
      away: {
        url: `http://127.0.0.1:${port}/mcp?api_key=the-key-in-the-url`,
        headers: { "x-key": "the-key" },
      },
    });
    const { events } = await mcp.load([]);
    expect(events[0]?.reason).toContain("[redacted]");
    expect(JSON.stringify(events)).not.toContain("the-key");
  });
});

describe("connections", () => {
  it("are made once, also by loads at the same time, and get the environment and the headers of the file", async () => {
    const log = join(testFolder(), "log");
    const http = await startHttpServer();
    const mcp = mcpOf({
      local: stdioServer({ MCP_LOG: log, MCP_SECRET: "from env" }),
      remote: { url: http.url, headers: { "x-secret": "from headers" } },
    });
    await Promise.all([mcp.load([]), mcp.load([]), mcp.load([])]);
    expect(readLog(log)).toEqual(["start"]);
    const agent = await mcp.agent(calls(["who"], ["remote__who"]), "done");
    const [local, remote] = await agent.results();
    expect(local?.text).toContain("from env");
    expect(remote?.text).toContain("from headers");
    expect(readLog(log)).toEqual(["start"]);
  });
});
