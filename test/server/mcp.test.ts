/** The file of MCP servers, and what becomes of servers that fail, hang, or return what providers do not take. */

import { createServer, request } from "node:http";
import type { ToolMessage } from "@langchain/core/messages";
import { describe, expect, it, onTestFinished } from "vitest";
import { connectMcpServers } from "../../server/mcp.js";
import { createAgentGraph, InvalidSettingError } from "../../src/index.js";
import { deferred } from "../support/deferred.js";
import { listen } from "../support/listen.js";
import { mcpFile, startHttpServer } from "../support/mcp/start-mcp-server.js";
import { calls } from "../support/models.js";
import { scripted } from "../support/scripted-model.js";
import { rowsOf } from "../support/test-tools.js";
import { pairedMessagesOf, user } from "../support/thread.js";

/** The servers of a file, and what the operator is told. The time for their start is not over. */
function connect(mcpServers: object, environment: Record<string, string> = {}) {
  const said: string[] = [];
  const { promise: timeIsUp, resolve: endTime } = deferred();
  const variables = { ...environment, MCP_SERVERS: mcpFile({ mcpServers }) };
  const mcp = connectMcpServers(variables, (text) => said.push(text), timeIsUp);
  return { ...mcp, said, endTime };
}

/** A server that takes requests and answers none. */
async function startSilentServer(): Promise<{ url: string; stop: () => Promise<unknown> }> {
  const server = await listen(createServer(() => {}));
  onTestFinished(() => server.stop());
  return server;
}

describe("connectMcpServers", () => {
  it("gives an agent tools with legal names, and results that every provider takes", async () => {
    const { url } = await startHttpServer();
    const { load, prefixes, said } = connect({ "my server": { url } });
    expect(prefixes).toEqual(["my_server__"]);
    const tools = await load();
    const names = "add calculator find_in_files picture resource structured broken wait who".split(" ");
    expect(tools.map(({ name }) => name)).toEqual(names.map((name) => `my_server__${name}`));

    const asked = calls(
      ["my_server__add", { a: 20, b: 22 }],
      ["my_server__find_in_files"],
      ["my_server__picture"],
      ["my_server__resource"],
      ["my_server__structured"],
      ["my_server__broken"],
    );
    const graph = createAgentGraph({ model: scripted(asked, "done"), tools, includeDetailedErrors: true });
    const messages = pairedMessagesOf(await graph.invoke(user("go")));
    const results = messages.filter((message): message is ToolMessage => message.type === "tool");
    expect(results.map(({ content }) => content)).toEqual([
      "42",
      "found",
      [
        { type: "text", text: "here it is" },
        { type: "image_url", image_url: { url: expect.stringMatching(/^data:image\/png;base64,iVBO/) } },
      ],
      [
        { type: "text", text: "the text" },
        { type: "text", text: "Resource: file:///b.txt" },
      ],
      '{"value":7}',
      expect.stringContaining("the disk is full"),
    ]);
    expect(results.map(({ status }) => status)).toEqual([..."12345"].map(() => "success").concat("error"));
    expect(said).toEqual([]);
  });

  it("sends headers with variables of the environment", async () => {
    const { url } = await startHttpServer();
    const headers = { "x-secret": `\${TOKEN} \${ABSENT:-otherwise}` };
    const { load } = connect({ a: { url, headers } }, { TOKEN: "sesame" });
    const who = (await load()).find(({ name }) => name === "a__who");
    expect(await who?.invoke({})).toContain("sesame otherwise");
  });

  it("leaves out a server that fails, and tells it once and without its secrets", async () => {
    const { url } = await startHttpServer();
    const silent = await startSilentServer();
    await silent.stop();
    const secret = "sesame-open-sesame";
    const away = { url: `${silent.url}/?api_key=${secret}`, headers: { authorization: secret } };
    const { load, prefixes, said } = connect({
      away,
      none: { command: "no-such-command" },
      here: { url },
    });
    for (let run = 0; run < 2; run += 1)
      expect(new Set((await load()).map(({ name }) => name.split("__")[0]))).toEqual(new Set(["here"]));
    expect(prefixes).toEqual(["away__", "none__", "here__"]);
    expect(said.toSorted()).toEqual([
      expect.stringMatching(/^The MCP server `away` is left out\. /),
      expect.stringMatching(/^The MCP server `none` is left out\. .*no-such-command/),
    ]);
    expect(said.join()).not.toContain(secret);
  });

  it("waits for a server that hangs no longer than the time for its start, and tells it", async () => {
    const { url } = await startHttpServer();
    const silent = await startSilentServer();
    const { load, said, endTime } = connect({ silent: { url: `${silent.url}/mcp` }, here: { url } });
    let isLoaded = false;
    const first = load().finally(() => {
      isLoaded = true;
    });
    await connect({ here: { url } }).load();
    expect(isLoaded).toBe(false);
    endTime();
    await first;
    await expect.poll(async () => (await load()).map(({ name }) => name)).toContain("here__add");
    expect(said).toContainEqual(expect.stringMatching(/^The MCP server `silent` has not answered yet\. /));
  });

  it("takes a server that answers after the time for its start", async () => {
    const { url } = await startHttpServer();
    const { promise: isOpen, resolve: open } = deferred();
    const late = await listen(
      createServer(async (incoming, outgoing) => {
        await isOpen;
        const { headers, method = "GET" } = incoming;
        const forwarded = request(url, { headers, method }, (answer) => {
          answer.pipe(outgoing.writeHead(answer.statusCode ?? 500, answer.headers));
        });
        incoming.pipe(forwarded.on("error", () => outgoing.destroy()));
      }),
    );
    onTestFinished(() => late.stop());
    const { load, said, endTime } = connect({ late: { url: `${late.url}/mcp` } });
    endTime();
    expect(await load()).toEqual([]);
    open();
    await expect.poll(async () => (await load()).map(({ name }) => name)).toContain("late__add");
    expect(said).toHaveLength(1);
  });

  it("takes no file, no servers and disabled servers", async () => {
    expect(await connectMcpServers({}, () => {}).load()).toEqual([]);
    expect(await connect({}).load()).toEqual([]);
    expect(connect({ a: { command: "no-such-command", disabled: true } }).prefixes).toEqual([]);
  });
});

const faults = rowsOf<[content: unknown, says: RegExp]>({
  "text that is no JSON": ["{", /JSON/],
  "no servers": [{}, /mcpServers/],
  "a list of servers": [{ mcpServers: [] }, /mcpServers/],
  "a server that is a text": [{ mcpServers: { a: "x" } }, /mcpServers\.a/],
  "neither a command nor a URL": [{ mcpServers: { a: {} } }, /In `mcpServers\.a`:.*at url$/s],
  "a command that is no text": [{ mcpServers: { a: { command: 1 } } }, /In `mcpServers\.a`:.*at command$/s],
  "a URL of another kind": [{ mcpServers: { a: { url: "ftp://a" } } }, /In `mcpServers\.a`:.*at url$/s],
  "a timeout of nothing": [
    { mcpServers: { a: { command: "x", defaultToolTimeout: 0 } } },
    /In `mcpServers\.a`:.*at defaultToolTimeout$/s,
  ],
  "a variable that is not set": [
    { mcpServers: { a: { command: `\${NO_SUCH_VARIABLE}` } } },
    /the variable `NO_SUCH_VARIABLE`, which is not set/,
  ],
});

it.each(faults)("A file with %s is refused, and the error names the fault", (_what, content, says) => {
  const file = mcpFile(content);
  const connected = () => connectMcpServers({ MCP_SERVERS: file }, () => {});
  expect(connected).toThrow(says);
  expect(connected).toThrow(`The file of \`MCP_SERVERS\` (${file}) cannot be used.`);
  expect(connected).toThrow(InvalidSettingError);
});

it("A file that is missing is refused, with its name", () => {
  expect(() => connectMcpServers({ MCP_SERVERS: "no-such-file.json" }, () => {})).toThrow(
    /no-such-file\.json/,
  );
});
