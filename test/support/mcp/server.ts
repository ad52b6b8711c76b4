/**
 * An MCP server of the official SDK, for a process of its own. Arguments: `stdio`, or `http` and a port. With `http` it
 * prints the URL of its streamable transport. The path `/sse` has server-sent events.
 */

import { randomUUID } from "node:crypto";
import { appendFileSync } from "node:fs";
import { createServer, type IncomingMessage } from "node:http";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { SSEServerTransport } from "@modelcontextprotocol/sdk/server/sse.js";
import { StdioServerTransport } from "@modelcontextprotocol/sdk/server/stdio.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { z } from "zod";

/** A picture of one pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const text = (content: string) => ({ type: "text" as const, text: content });
const log = (line: string) => {
  const file = process.env["MCP_LOG"];
  if (file !== undefined) appendFileSync(file, `${line}\n`);
};

function createMcpServer(headers: IncomingMessage["headers"] = {}) {
  const server = new McpServer({ name: "test", version: "1.0.0" });
  const { registerTool } = server;
  const register = registerTool.bind(server);
  register(
    "add",
    { description: "Adds.", inputSchema: { a: z.number(), b: z.number() } },
    async ({ a, b }) => ({ content: [text(String(a + b))] }),
  );
  register("calculator", { description: "Has the name of another tool.", inputSchema: {} }, async () => ({
    content: [text("from the MCP server")],
  }));
  register("find.in.files", { description: "Has a name that providers refuse." }, async () => ({
    content: [text("found")],
  }));
  register("picture", { description: "Draws." }, async () => ({
    content: [text("here it is"), { type: "image" as const, data: PNG, mimeType: "image/png" }],
  }));
  register("resource", { description: "Reads." }, async () => ({
    content: [
      {
        type: "resource" as const,
        resource: { uri: "file:///a.txt", mimeType: "text/plain", text: "the text" },
      },
      { type: "resource_link" as const, uri: "file:///b.txt", name: "b" },
    ],
  }));
  register(
    "structured",
    { description: "Returns structured content.", outputSchema: { value: z.number() } },
    async () => ({ content: [], structuredContent: { value: 7 } }),
  );
  register("broken", { description: "Returns an error." }, async () => ({
    content: [text("the disk is full")],
    isError: true,
  }));
  register("wait", { description: "Waits until the server is killed." }, async () => {
    log("wait");
    return new Promise<never>(() => {});
  });
  register("who", { description: "Tells what it was started with." }, async () => ({
    content: [text(`${process.pid} ${process.env["MCP_SECRET"]} ${headers["x-secret"]}`)],
  }));
  return server;
}

// The types of the SDK do not have `exactOptionalPropertyTypes`.
const asTransport = (transport: object) => transport as Transport;

if (process.argv[2] === "stdio") {
  log("start");
  await createMcpServer().connect(new StdioServerTransport());
} else {
  const sessions = new Map<string, StreamableHTTPServerTransport>();
  const streams = new Map<string, SSEServerTransport>();
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "/", "http://localhost");
    if (pathname === "/sse") {
      const stream = new SSEServerTransport("/messages", response);
      streams.set(stream.sessionId, stream);
      await createMcpServer(request.headers).connect(asTransport(stream));
      return;
    }
    if (pathname === "/messages") {
      await streams.get(searchParams.get("sessionId") ?? "")?.handlePostMessage(request, response);
      return;
    }
    const id = request.headers["mcp-session-id"];
    const known = typeof id === "string" ? sessions.get(id) : undefined;
    if (id !== undefined && known === undefined) {
      response.writeHead(404).end("Session not found");
      return;
    }
    const transport =
      known ??
      new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        onsessioninitialized: (session) => void sessions.set(session, transport),
      });
    if (known === undefined) await createMcpServer(request.headers).connect(asTransport(transport));
    await transport.handleRequest(request, response);
  });
  server.listen(Number(process.argv[3]), "127.0.0.1", () => {
    const address = server.address();
    if (typeof address === "object") console.log(`http://127.0.0.1:${address?.port}/mcp`);
  });
}
