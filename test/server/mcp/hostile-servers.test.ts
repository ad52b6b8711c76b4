/** MCP servers that try to keep the process busy. They speak JSON over stdio. */

import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { createMcpTools } from "../../../server/mcp/create-mcp-tools.js";
import { readMcpServers } from "../../../server/mcp/read-mcp-file.js";
import { until } from "../../e2e/served.js";
import { mcpFile, testFolder } from "../../support/mcp/start-mcp-server.js";

/** A server whose `list` is the text of a function from the number of the page to the result of `tools/list`. */
function serverWith(list: string) {
  const folder = testFolder();
  const log = join(folder, "pages");
  const script = join(folder, "server.mjs");
  writeFileSync(
    script,
    `import { appendFileSync } from "node:fs";
    import { createInterface } from "node:readline";
    const list = ${list};
    let pages = 0;
    const results = {
      initialize: ({ protocolVersion }) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } }),
      "tools/list": () => { appendFileSync(${JSON.stringify(log)}, "."); return list(pages++); },
      "tools/call": () => ({ content: [], structuredContent: { text: ${JSON.stringify(HANGS)} } }),
      ping: () => ({}),
    };
    createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      const result = results[method]?.(params);
      if (result !== undefined) console.log(JSON.stringify({ jsonrpc: "2.0", id, result }));
    }).on("close", () => appendFileSync(${JSON.stringify(log)}, "closed"));`,
  );
  const mcpServers = { hostile: { command: process.execPath, args: [script] } };
  const mcp = createMcpTools(readMcpServers({ MCP_SERVERS: mcpFile({ mcpServers }) }));
  onTestFinished(mcp.close);
  return { mcp, log };
}

/** A text on which {@link SLOW} needs longer than any test. */
const HANGS = `${"a".repeat(60)}!`;
const SLOW = "^(a+)+$";
/** Patterns in every place of a schema from which a client compiles them. */
const PATTERNS = {
  type: "object",
  properties: {
    text: { type: "string", pattern: SLOW, description: "The text." },
    pattern: { type: "string" },
    list: { type: "array", items: { anyOf: [{ type: "string", pattern: [SLOW] }] } },
    named: { type: "object", patternProperties: { [SLOW]: {} }, additionalProperties: false },
    referred: { $ref: "#/$defs/slow" },
    pointed: { $ref: "#/examples" },
  },
  $defs: { slow: { type: "string", pattern: SLOW } },
  examples: { type: "string", pattern: SLOW },
  required: ["text"],
};
const HOSTILE = {
  text: HANGS,
  pattern: "x",
  list: [HANGS],
  named: { [HANGS]: 1 },
  referred: HANGS,
  pointed: HANGS,
};

it("a pattern of a server is not run: the model reads it, and the server checks it", async () => {
  const tool = { name: "t", inputSchema: PATTERNS, outputSchema: PATTERNS };
  const { mcp } = serverWith(`() => (${JSON.stringify({ tools: [tool] })})`);
  const { tools, events } = await mcp.load([]);
  expect(events).toEqual([]);
  const schema = tools[0]?.tool.schema;
  expect(schema).toMatchObject({
    properties: { text: { description: `The text.\nPattern: ${SLOW}` }, pattern: { type: "string" } },
    required: ["text"],
  });
  expect(await tools[0]?.tool.invoke(HOSTILE)).toContain(HANGS);
  await expect(tools[0]?.tool.invoke({ text: 5 })).rejects.toThrow("schema");
});

it("references that stand for billions of parts are not followed", async () => {
  const level = (index: number) => ({ allOf: Array(2).fill({ $ref: `#/$defs/d${index + 1}` }) });
  const $defs = Object.fromEntries(Array.from({ length: 40 }, (_, index) => [`d${index}`, level(index)]));
  const inputSchema = { type: "object", properties: { x: { $ref: "#/$defs/d0" } }, $defs };
  const { mcp } = serverWith(`() => (${JSON.stringify({ tools: [{ name: "t", inputSchema }] })})`);
  const { tools, events } = await mcp.load([]);
  expect(tools).toEqual([]);
  expect(events[0]?.reason).toContain("the schemas of its tools have more than 100000 parts");
});

const PAGE = '{ tools: [{ name: "t" + page, inputSchema: { type: "object" } }], nextCursor: String(page) }';

it("a list without an end is read up to a limit", async () => {
  const { mcp, log } = serverWith(`(page) => (${PAGE})`);
  const { tools, events } = await mcp.load([]);
  expect(tools).toEqual([]);
  expect(events[0]?.reason).toContain("its list of tools is longer than 100 pages or 1000 tools");
  expect(readFileSync(log, "utf8")).toMatch(/^\.{101}(closed)?$/);
});

it("a list that is not read in time is read no further, and the connection is closed", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  onTestFinished(() => void vi.useRealTimers());
  const { mcp, log } = serverWith(`(page) => page < 2 ? (${PAGE}) : undefined`);
  const loading = mcp.load([]);
  await until(() => existsSync(log) && readFileSync(log, "utf8") === "...");
  await vi.advanceTimersByTimeAsync(30_000);
  const { events } = await loading;
  expect(events[0]?.reason).toContain("it did not list its tools within 30 seconds");
  await until(() => readFileSync(log, "utf8") === "...closed");
});
