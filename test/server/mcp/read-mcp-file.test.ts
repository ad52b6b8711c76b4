import { describe, expect, it } from "vitest";
import { readMcpServers } from "../../../server/mcp/read-mcp-file.js";
import { InvalidSettingError } from "../../../src/index.js";
import { mcpFile } from "../../support/mcp/start-mcp-server.js";
import { rowsOf } from "../../support/test-tools.js";

const read = (content: unknown, environment: Record<string, string> = {}) =>
  readMcpServers({ ...environment, MCP_SERVERS: mcpFile(content) });
const readOne = (server: unknown, environment: Record<string, string> = {}) =>
  read({ mcpServers: { one: server } }, environment)[0];

const variable = (name: string) => `\${${name}}`;

describe("readMcpServers", () => {
  it.each([{}, { MCP_SERVERS: "" }, { MCP_SERVERS: " " }])("finds no servers with %j", (environment) => {
    expect(readMcpServers(environment)).toEqual([]);
  });

  it("reads servers over stdio and over HTTP, in the order of the file", () => {
    const servers = read({
      mcpServers: {
        local: { command: "node", args: ["server.js"], env: { A: "1" }, cwd: "/tmp", defaultToolTimeout: 5 },
        remote: { url: "https://example.com/mcp", headers: { a: "b" } },
        off: { disabled: true, command: 7 },
        old: { type: "sse", url: "http://127.0.0.1:1/sse" },
      },
    });
    const stdio = { command: "node", args: ["server.js"], env: { A: "1" }, cwd: "/tmp" };
    const defaultToolTimeout = undefined;
    expect(servers).toEqual([
      { name: "local", connection: stdio, defaultToolTimeout: 5 },
      {
        name: "remote",
        connection: { url: "https://example.com/mcp", headers: { a: "b" } },
        defaultToolTimeout,
      },
      { name: "old", connection: { url: "http://127.0.0.1:1/sse", type: "sse" }, defaultToolTimeout },
    ]);
  });

  it.each(["http", "streamable-http", "streamableHttp", "streamable_http"])("takes the type %s", (type) => {
    expect(readOne({ type, url: "https://example.com" })?.connection).toMatchObject({ type: "http" });
    expect(readOne({ transport: type, url: "https://example.com" })?.connection).toMatchObject({
      transport: "http",
    });
  });

  it("ignores fields that only other clients know", () => {
    expect(readOne({ command: "node", autoApprove: ["x"], description: "mine" })?.name).toBe("one");
  });

  it("replaces environment variables in every text", () => {
    const server = {
      url: `https://${variable("HOST")}/mcp`,
      headers: {
        authorization: `Bearer ${variable("TOKEN")}`,
        region: variable("REGION:-eu"),
        empty: variable("REGION:-"),
      },
    };
    expect(readOne(server, { HOST: "example.com", TOKEN: "secret" })?.connection).toMatchObject({
      url: "https://example.com/mcp",
      headers: { authorization: "Bearer secret", region: "eu", empty: "" },
    });
  });
});

describe("a bad file", () => {
  const one = (server: unknown) => ({ mcpServers: { one: server } });
  const REFUSED = rowsOf<[content: unknown, reason: string]>({
    "is not JSON": ["{ mcpServers", "JSON"],
    "has no servers": [{}, "Expected an object with `mcpServers`."],
    "misspells `mcpServers`": [{ mcpserver: {} }, "Did you mean `mcpServers`?"],
    "has a list": [{ mcpServers: [] }, "Expected an object with `mcpServers`."],
    "has a server that is a text": [one("x"), "Expected `mcpServers.one` to be an object."],
    "has a server without an address": [one({}), "either a `command` or a `url`"],
    "has a server with two addresses": [
      one({ command: "a", url: "https://b" }),
      "either a `command` or a `url`",
    ],
    "misspells a field": [one({ comand: "node" }), "Did you mean `command`?"],
    "misspells a field that can be left out": [
      one({ url: "https://a", header: {} }),
      "Did you mean `headers`?",
    ],
    "has a command of a wrong type": [one({ command: 7 }), "`mcpServers.one.command` is not"],
    "has an argument of a wrong type": [
      one({ command: "a", args: ["b", 7] }),
      "`mcpServers.one.args.1` is not",
    ],
    "has a URL of another protocol": [one({ url: "ftp://a" }), "`mcpServers.one.url` is not"],
    "has an unknown type": [one({ type: "websocket", url: "https://a" }), "`mcpServers.one.type` is not"],
    "names a variable that is not set": [
      one({ url: "https://a", headers: { key: variable("NOT_SET") } }),
      "`mcpServers.one.headers.key` needs the environment variable `NOT_SET`, which is not set.",
    ],
  });

  it.each(REFUSED)("is refused with its path if it %s", (_, content, reason) => {
    const MCP_SERVERS = mcpFile(content);
    const attempt = () => readMcpServers({ MCP_SERVERS });
    expect(attempt).toThrow(InvalidSettingError);
    expect(attempt).toThrow(MCP_SERVERS);
    expect(attempt).toThrow(reason);
  });

  it("is refused if there is none", () => {
    expect(() => readMcpServers({ MCP_SERVERS: "no/such/file.json" })).toThrow(
      /^The file of `MCP_SERVERS` \(.*no\/such\/file\.json\) cannot be used\. ENOENT/,
    );
  });
});
