/**
 * Reads recorded exchanges of a folder, by the shape of its files: cassettes in YAML or JSON, bodies of responses, and the
 * events of streams.
 */

import { readdir, readFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { crc32, gunzipSync, inflateSync } from "node:zlib";
import { parseAllDocuments, type ScalarTag } from "yaml";
import { type Fields, isFields, listOf, parsed, textOf } from "./values.js";

/** One request and what was answered. */
export interface Exchange {
  /** The file below the folder, and the place in it: `chat/stream.yaml#2`. */
  readonly place: string;
  /** Undefined: only the response was recorded. */
  readonly url: URL | undefined;
  /** The request's body. Undefined: it was not recorded, or is no JSON. */
  readonly request: Fields | undefined;
  readonly status: number;
  readonly type: string;
  /** Other headers that clients read. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** The exchanges of each file, in their order. A file that cannot be read has an error. */
export async function* readExchanges(folder: string): AsyncGenerator<{
  readonly file: string;
  readonly exchanges: readonly Exchange[];
  readonly error?: string;
}> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => FILES.test(name)).sort();
  for (const name of names) {
    const path = join(folder, name);
    const file = relative(folder, path);
    try {
      yield { file, exchanges: exchangesIn(file, await readFile(path)) };
    } catch (error) {
      yield { file, exchanges: [], error: String(error).slice(0, 200) };
    }
  }
}

const FILES = /\.(?:ya?ml|json|txt|sse|jsonl|ndjson)(?:\.gz)?$/;

/** What is in a file, whatever its name. */
export function exchangesIn(file: string, bytes: Buffer): Exchange[] {
  // A recorder of Rust puts words in place of ids, which no provider would accept. Any provider accepts these.
  const text = opened(bytes)
    .toString("utf8")
    .replaceAll(/\bcall_REDACTED_(\d+)/g, (_, number: string) => `call${number.padStart(5, "0")}`);
  const documents = /\.ya?ml(?:\.gz)?$/.test(file) ? parseYaml(text) : [parsed(text)];
  if (documents[0] === undefined) return eventsIn(file, text);
  const pairs = documents.flatMap(pairsIn);
  if (pairs.length > 0)
    return pairs.flatMap(([request, response], index) =>
      exchangeOf(`${file}#${index + 1}`, request, response),
    );
  return documents.flatMap((document) => (isFields(document) ? plainBody(file, document) : []));
}

type Pair = readonly [request: unknown, response: unknown];

/**
 * `interactions` of VCR in Python, `http_interactions` in Ruby, two lists of LangChain, `when` and `then` of Rust's
 * httpmock, or a single exchange.
 */
function pairsIn(whole: unknown): Pair[] {
  if (!isFields(whole)) return [];
  const { interactions, http_interactions, requests, responses } = whole;
  if (Array.isArray(requests) && Array.isArray(responses))
    return requests.map((request, index): Pair => [request, responses[index]]);
  if (isFields(whole["when"])) return [[whole["when"], whole["then"]]];
  const list = listOf(interactions ?? http_interactions ?? (whole["request"] === undefined ? [] : [whole]));
  return list.map(({ request, response }): Pair => [request, response]);
}

function exchangeOf(place: string, request: unknown, response: unknown): Exchange[] {
  if (!isFields(request) || !isFields(response)) return [];
  const address = textOf(request["uri"] ?? request["url"]).replaceAll(PLACEHOLDERS, "us-east-1");
  const body = bytesOf(response["parsed_body"] ?? response["body"] ?? response["content"]);
  const status = isFields(response["status"]) ? response["status"]["code"] : response["status"];
  return [
    {
      place,
      url: URL.parse(address.startsWith("us-east-1/") ? `http://${address}` : address) ?? undefined,
      request: requestBody(request["parsed_body"] ?? request["body"]),
      status: Number(status ?? response["status_code"] ?? 200),
      type: headerOf(response["headers"] ?? response["header"], "content-type") || typeOf(body),
      headers: headersOf(response["headers"]),
      body,
    },
  ];
}

/** A recorder leaves regions and addresses out: `<AWS_REGION>`. */
const PLACEHOLDERS = /<\w+>/g;

function requestBody(body: unknown): Fields | undefined {
  if (isFields(body) && !(body["string"] instanceof Uint8Array) && typeof body["string"] !== "string")
    return body;
  const value = parsed(bytesOf(body).toString("utf8"));
  return isFields(value) ? value : undefined;
}

/** The bytes of a body, which is a text, bytes, a list of them, JSON, or one of these under `string`. */
function bytesOf(body: unknown): Buffer {
  if (body === undefined || body === null) return Buffer.alloc(0);
  if (typeof body === "string") return Buffer.from(body);
  if (body instanceof Uint8Array) return opened(Buffer.from(body));
  if (isFields(body) && (body["string"] !== undefined || body["encoding"] !== undefined))
    return bytesOf(body["string"]);
  if (isFields(body) && "base64_string" in body)
    return opened(Buffer.from(textOf(body["base64_string"]), "base64"));
  return Buffer.from(JSON.stringify(body));
}

/** Without the compression, which the bytes themselves show. */
function opened(bytes: Buffer): Buffer {
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) return gunzipSync(bytes);
  if (bytes[0] === 0x78 && (bytes[1] === 0x9c || bytes[1] === 0xda || bytes[1] === 0x01))
    return inflateSync(bytes);
  return bytes;
}

/** What a body without a header is. A stream can begin with a comment: `: processing`. */
const typeOf = (body: Buffer) =>
  /^(?:event|data)?: ?/.test(body.toString("utf8", 0, 40)) ? "text/event-stream" : "application/json";

const READ = ["x-amzn-errortype", "retry-after", "x-should-retry"];

function headersOf(headers: unknown): Readonly<Record<string, string>> {
  const pairs = READ.map((name) => [name, headerOf(headers, name)] as const);
  return Object.fromEntries(pairs.filter(([, value]) => value !== ""));
}

function headerOf(headers: unknown, name: string): string {
  if (Array.isArray(headers))
    return textOf(listOf(headers).find((header) => header["name"] === name)?.["value"]);
  if (!isFields(headers)) return "";
  const found = Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];
  return textOf(Array.isArray(found) ? found[0] : found);
}

/** The body of a response without anything else. */
function plainBody(file: string, whole: Fields): Exchange[] {
  const body = Buffer.from(JSON.stringify(whole));
  const code = isFields(whole["error"]) ? whole["error"]["code"] : undefined;
  const isRefusal = whole["error"] !== undefined && whole["error"] !== null && whole["object"] === undefined;
  const status = !isRefusal ? 200 : typeof code === "number" && code >= 400 ? code : 400;
  return [{ place: file, url: undefined, request: undefined, status, type: "application/json", body }];
}

/** A stream: as it came, or an event a line. */
function eventsIn(file: string, text: string): Exchange[] {
  const one = { place: file, url: undefined, request: undefined, status: 200, type: "text/event-stream" };
  if (/^(?:event|data|id|:) ?/m.test(text) && /^data: ?[{[]/m.test(text))
    return [{ ...one, body: Buffer.from(text) }];
  const events = text.split("\n").flatMap((line) => {
    const event = parsed(line);
    return isFields(event) ? [event] : [];
  });
  return events.length === 0 ? [] : [{ ...one, ...streamOf(events) }];
}

/** The bytes of a stream with these events, as the provider whose events they are sends them. */
function streamOf(events: readonly Fields[]): Pick<Exchange, "body" | "type"> {
  if (events.some(isConverseEvent))
    return { body: Buffer.concat(events.map(frameOf)), type: "application/vnd.amazon.eventstream" };
  const lines = events.map((event) => {
    const name = typeof event["type"] === "string" ? `event: ${event["type"]}\n` : "";
    return `${name}data: ${JSON.stringify(event)}\n\n`;
  });
  const end = events.some((event) => Array.isArray(event["choices"])) ? "data: [DONE]\n\n" : "";
  return { body: Buffer.from(lines.join("") + end), type: "text/event-stream" };
}

const CONVERSE = ["messageStart", "contentBlockStart", "contentBlockDelta", "messageStop"];
const isConverseEvent = (event: Fields) => CONVERSE.some((name) => name in event);

/** A frame of Amazon's event streams: lengths, headers, payload, and the sums of both. */
export function frameOf(event: Fields): Buffer {
  const [name = "", payload = {}] = Object.entries(event)[0] ?? [];
  const body = Buffer.from(JSON.stringify(payload));
  const headers = Buffer.concat(
    [
      [":event-type", name],
      [":content-type", "application/json"],
      [":message-type", "event"],
    ].map(([key = "", value = ""]) => {
      const length = Buffer.alloc(2);
      length.writeUInt16BE(value.length);
      return Buffer.concat([
        Buffer.from([key.length]),
        Buffer.from(key),
        Buffer.from([7]),
        length,
        Buffer.from(value),
      ]);
    }),
  );
  const prelude = Buffer.alloc(8);
  prelude.writeUInt32BE(16 + headers.length + body.length, 0);
  prelude.writeUInt32BE(headers.length, 4);
  const head = Buffer.concat([prelude, sumOf(prelude), headers, body]);
  return Buffer.concat([head, sumOf(head)]);
}

function sumOf(bytes: Buffer): Buffer {
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(bytes));
  return sum;
}

/** Ruby writes `!binary` where Python writes `!!binary`. Other tags of a language are read as what is below them. */
const RUBY_BINARY: ScalarTag = {
  tag: "!binary",
  resolve: (text: string) => new Uint8Array(Buffer.from(text, "base64")),
};

function parseYaml(text: string): unknown[] {
  const documents = parseAllDocuments(text, {
    customTags: ["binary", RUBY_BINARY],
    logLevel: "error",
    strict: false,
    uniqueKeys: false,
  });
  return documents.map((document) => {
    const [error] = document.errors;
    if (error !== undefined) throw error;
    return document.toJS({ maxAliasCount: -1 });
  });
}
