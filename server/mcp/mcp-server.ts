/** One MCP server: its connection, which is made when it is first needed, and made again when it was lost. */

import type { MessageContent } from "@langchain/core/messages";
import type { DynamicStructuredTool } from "@langchain/core/tools";
import { createRedact, type Redact } from "../../src/providers/failure/redact.js";
import { importOptional } from "../../src/shared/import-optional.js";
import { errorMessage, isError } from "../../src/shared/is-error.js";
import { defined, isRecord, recordsIn } from "../../src/shared/values.js";
import { liveView } from "../../src/shared/views.js";
import { withDeadline } from "../../src/shared/waiting.js";
import type { McpServerSettings } from "./read-mcp-file.js";

/** How long a server may take to start and to list its tools, in milliseconds. The first start can download a package. */
const CONNECT_TIMEOUT = 30_000;
/** How long a server may take to say that it is there, in milliseconds. */
const PING_TIMEOUT = 5_000;
/** After how many milliseconds a server that failed is tried again. It doubles with each failure in a row. */
const FIRST_DELAY = 1_000;
const LONGEST_DELAY = 60_000;

type Connection = Awaited<ReturnType<typeof openConnection>>;

export interface McpServerOptions extends McpServerSettings {
  /** Contract: returns the time in milliseconds. */
  readonly now?: () => number;
}

export class McpServer {
  readonly name: string;
  readonly #options: McpServerOptions;
  readonly #redact: Redact;
  readonly #now: () => number;
  #connection: Connection | undefined;
  #connecting: Promise<Connection> | undefined;
  #failure: { readonly error: Error; readonly retryAt: number; readonly delay: number } | undefined;

  constructor(options: McpServerOptions) {
    this.name = options.name;
    this.#options = options;
    this.#redact = createRedact(options.connection);
    this.#now = options.now ?? Date.now;
  }

  /**
   * The tools of the server.
   *
   * @throws Error that says why the server cannot be used. Until it is time to try again, the last one.
   */
  async tools(): Promise<readonly DynamicStructuredTool[]> {
    if (this.#connecting === undefined && this.#failure !== undefined && this.#now() < this.#failure.retryAt)
      throw this.#failure.error;
    return [...(await this.#connect()).tools.values()];
  }

  /**
   * Calls a tool. A connection that was lost is made again first. A call is repeated only if the server refused it because
   * it does not know the session, as after a restart.
   *
   * @throws Error with a text for the model.
   */
  async call(
    toolName: string,
    args: Record<string, unknown>,
    config: object | undefined,
  ): Promise<readonly [content: unknown, artifact: unknown]> {
    const connection = await this.#connect();
    const tool = connection.tools.get(toolName);
    if (tool === undefined)
      throw new Error(`The MCP server \`${this.name}\` has no tool \`${toolName}\` now.`);
    const { defaultToolTimeout: timeout } = this.#options;
    try {
      const [content, artifacts] = await tool.func(args, undefined, { ...config, ...defined({ timeout }) });
      return [toolContent(content, structuredOf(artifacts)), artifacts];
    } catch (error) {
      if (isErrorOfTool(error)) throw error;
      if (!Object(Object(config).signal).aborted) await connection.verify();
      if (!connection.isClosed()) throw this.#redacted(error);
      if (connection.isSessionLost() && wasRefused(error)) return this.call(toolName, args, config);
      throw new Error(
        `The connection to the MCP server \`${this.name}\` was lost during the call. It may or may not have taken effect.`,
      );
    }
  }

  async close(): Promise<void> {
    const connection = this.#connection ?? (await this.#connecting?.catch(() => undefined));
    await connection?.close();
  }

  async #connect(): Promise<Connection> {
    if (this.#connection?.isClosed() === false) return this.#connection;
    this.#connecting ??= this.#open().finally(() => {
      this.#connecting = undefined;
    });
    return this.#connecting;
  }

  async #open(): Promise<Connection> {
    try {
      this.#connection = await withDeadline((signal) => openConnection(this.#options, signal), {
        signal: undefined,
        timeoutMs: CONNECT_TIMEOUT,
        timeoutError: () => new Error(`it did not list its tools within ${CONNECT_TIMEOUT / 1000} seconds`),
      });
      this.#failure = undefined;
      return this.#connection;
    } catch (error) {
      const delay = Math.min((this.#failure?.delay ?? FIRST_DELAY / 2) * 2, LONGEST_DELAY);
      const reason = new Error(
        `The MCP server \`${this.name}\` cannot be used: ${this.#redacted(error).message}`,
      );
      this.#failure = { error: reason, retryAt: this.#now() + delay, delay };
      throw reason;
    }
  }

  #redacted(error: unknown): Error {
    return new Error(this.#redact(errorMessage(error)));
  }
}

/**
 * The MCP client of LangChain connects, and turns the tools of the server into LangChain tools.
 *
 * @param signal Aborts when nobody waits for the connection any more. It is closed then.
 */
async function openConnection({ name, connection }: McpServerOptions, signal: AbortSignal) {
  const { MultiServerMCPClient, loadMcpTools } =
    await importOptional<typeof import("@langchain/mcp-adapters")>("@langchain/mcp-adapters");
  const pool = new MultiServerMCPClient({
    mcpServers: { [name]: connection },
    onConnectionError: "throw",
  });
  let tools: readonly DynamicStructuredTool[] | undefined;
  // A private method of the pool: it gets the client before the client has read anything that the server says of its tools.
  Object.assign(pool, {
    _loadToolsForServer: async (_name: string, client: McpClient) => {
      tools = await loadMcpTools(name, guardToolList(client, signal), {
        throwOnLoadError: false,
        // Otherwise resources would be artifacts, which no model sees.
        outputHandling: "content",
      });
    },
  });
  const close = () => void pool.close().catch(() => {});
  signal.addEventListener("abort", close, { once: true });
  try {
    const client = await pool.getClient(name);
    signal.throwIfAborted();
    if (client === undefined || tools === undefined) throw new Error("it closed the connection");
    let isClosed = false;
    let isSessionLost = false;
    client.onclose = () => {
      isClosed = true;
    };
    let verifying: Promise<void> | undefined;
    const verify = async () => {
      const ping = () => client.ping({ timeout: PING_TIMEOUT }).then(() => {});
      verifying ??= ping()
        .catch(() => client.close())
        .catch(() => {})
        .finally(() => {
          verifying = undefined;
        });
      await verifying;
    };
    // Over HTTP a call does not fail when its server dies: its stream ends, and the client waits for the response.
    client.onerror = (error) => {
      if (Reflect.get(error, "code") === 404) isSessionLost = true;
      void verify();
    };
    return {
      // Tools have the names of the server here.
      tools: new Map(tools.map((tool) => [tool.name, tool])),
      isClosed: () => isClosed,
      /** Whether the server has answered that it does not know the session. */
      isSessionLost: () => isSessionLost,
      /** Closes the connection if the server does not respond. All calls that go on fail then. */
      verify: async () => {
        if (!isClosed) await verify();
      },
      close: () => pool.close(),
    };
  } catch (error) {
    await pool.close().catch(() => {});
    throw error;
  } finally {
    signal.removeEventListener("abort", close);
  }
}

/** The server answered the request of the call itself with an error, so it has not begun the call. */
function wasRefused(error: unknown): boolean {
  return isError(error) && error.message.includes("Error POSTing to endpoint");
}

/** The tool ran, and returned an error. The connection is sound. */
function isErrorOfTool(error: unknown): boolean {
  return isError(error) && error.name === "ToolException" && !error.message.startsWith("Error calling tool");
}

function structuredOf(artifacts: unknown): unknown {
  return recordsIn(artifacts).find(({ type }) => type === "mcp_structured_content")?.["data"];
}

/*
 * Reads the list of tools of an MCP server such that no server can stop the process with it.
 */

type McpClient = Parameters<typeof import("@langchain/mcp-adapters")["loadMcpTools"]>[1];

const MOST_PAGES = 100;
const MOST_TOOLS = 1_000;
/** How many objects and lists the schemas of all tools may have together, where each `$ref` counts as what it refers to. */
const MOST_PARTS = 100_000;

/**
 * A view of the client that reads a list of tools up to limits, and leaves out of the schemas what can keep the process
 * busy for minutes. All other requests pass.
 *
 * @param signal Ends the reading of a list when it aborts.
 * @throws From its requests: Error if the list is longer than the limits.
 */
function guardToolList(client: McpClient, signal: AbortSignal): McpClient {
  let pages = 0;
  let tools = 0;
  const parts = { left: MOST_PARTS };
  const request: McpClient["request"] = async (asked, schema, options) => {
    if (asked.method !== "tools/list") return client.request(asked, schema, options);
    signal.throwIfAborted();
    pages += 1;
    const page = await client.request(asked, schema, options);
    const listed = isRecord(page) && Array.isArray(page["tools"]) ? page["tools"] : [];
    tools += listed.length;
    if (pages > MOST_PAGES || tools > MOST_TOOLS)
      throw new Error(`its list of tools is longer than ${MOST_PAGES} pages or ${MOST_TOOLS} tools`);
    // Without the schema of its output, the client does not check what a tool returns, and so compiles no pattern for it.
    return Object.assign(page, {
      tools: listed.map(({ outputSchema: _, inputSchema, ...tool }) => {
        const harmless = withoutPatterns(inputSchema);
        countParts(harmless, harmless, new Set(), parts);
        return { ...tool, inputSchema: harmless };
      }),
    });
  };
  return liveView(client, { request });
}

/** Follows references as those who read the schema do: a few of them can stand for billions of parts. */
function countParts(value: unknown, root: unknown, followed: Set<string>, parts: { left: number }): void {
  if (typeof value !== "object" || value === null) return;
  parts.left -= 1;
  if (parts.left < 0) throw new Error(`the schemas of its tools have more than ${MOST_PARTS} parts`);
  for (const inner of Object.values(value)) countParts(inner, root, followed, parts);
  const reference: unknown = Reflect.get(value, "$ref");
  if (typeof reference !== "string" || followed.has(reference)) return;
  followed.add(reference);
  const target = reference
    .split("/")
    .slice(1)
    .reduce<unknown>((at, key) => Reflect.get(Object(at), key), root);
  countParts(target, root, followed, parts);
  followed.delete(reference);
}

/** The only references that are followed: to a place in the schema, by plain names. */
const PLAIN_REFERENCE = /^#(?:\/[\w$.-]+)+$/;
/** What would give such a reference another meaning, or refers to something in another way. */
const NAMES = /^\$?id$|^\$anchor$|^\$(?:dynamic|recursive)(?:Anchor|Ref)$/;
/** Keywords whose value is not a schema. */
const DATA: ReadonlySet<string> = new Set(["const", "default", "enum"]);
/** Keywords whose value has a schema under each name. */
const NAMED: ReadonlySet<string> = new Set(["$defs", "definitions", "dependentSchemas", "properties"]);
/** With `patternProperties`, these would refuse what matches a pattern. */
const REST: ReadonlySet<string> = new Set(["additionalProperties", "unevaluatedProperties"]);

/**
 * The schema without regular expressions, which would be compiled here, and can need minutes for a short text. The model
 * reads them in the description, and the server checks its arguments itself.
 */
function withoutPatterns(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(withoutPatterns);
  if (!isRecord(schema)) return schema;
  const { pattern, patternProperties, description, ...rest } = schema;
  const told = [
    description,
    pattern !== undefined && `Pattern: ${String(pattern)}`,
    patternProperties !== undefined &&
      `Patterns of names: ${Object.keys(Object(patternProperties)).join(", ")}`,
  ];
  const text = told.filter((part) => typeof part === "string").join("\n");
  const isKept = ([key, value]: readonly [string, unknown]): boolean => {
    if (key === "$ref") return PLAIN_REFERENCE.test(String(value));
    return !NAMES.test(key) && (patternProperties === undefined || !REST.has(key));
  };
  const fields = Object.entries(rest)
    .filter(isKept)
    .map(([key, value]) => [key, DATA.has(key) ? value : withinKeyword(key, value)]);
  return { ...Object.fromEntries(fields), ...(text !== "" && { description: text }) };
}

function withinKeyword(key: string, value: unknown): unknown {
  if (!NAMED.has(key) || !isRecord(value)) return withoutPatterns(value);
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withoutPatterns(inner)]));
}

/*
 * What an MCP tool returned, as the content of a tool result.
 */

type Block = Exclude<MessageContent, string>[number];

/**
 * Pictures, sounds and files stay blocks, which the model input brings into the form of the provider. What is text for a
 * model becomes text, without fields that a provider would refuse.
 *
 * @param structured What the tool returned as structured content. It is the content if there is no other.
 */
function toolContent(content: unknown, structured: unknown): MessageContent {
  const blocks = (Array.isArray(content) ? content : [content]).map(toBlock);
  if (blocks.length === 0) return structured === undefined ? "" : JSON.stringify(structured);
  const texts = blocks.filter((block) => typeof block === "string");
  if (texts.length === blocks.length) return texts.join("\n");
  return blocks.map((block): Block => (typeof block === "string" ? { type: "text", text: block } : block));
}

function toBlock(block: unknown): string | Block {
  if (!isRecord(block)) return String(block ?? "");
  const { type, source_type, text, url, mime_type } = block;
  if (type === "text" || source_type === "text") return String(text);
  // A link to a resource. Its address means something to the server, not to the provider.
  if (source_type === "url")
    return typeof mime_type === "string" ? `Resource: ${url} (${mime_type})` : `Resource: ${url}`;
  return block as Block;
}
