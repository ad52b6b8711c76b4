/**
 * Providers on an HTTP server that refuse a bad history as the real ones do. Each request is checked and then passed to
 * the mock server aimock, which implements the protocols and their streams. It lacks DashScope's own protocol, which is
 * implemented here.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { LLMock } from "@copilotkit/aimock";
import { listen } from "../listen.js";
import { checkAnthropic } from "./check-anthropic.js";
import { checkDashScope, checkDashScopeNative, checkDeepSeek, checkGroq, checkOpenAI } from "./check-chat.js";
import { checkGemini } from "./check-gemini.js";
import { asMistralEvents, checkMistral, checkVllm, type Usage } from "./check-mistral.js";
import { checkResponses } from "./check-responses.js";
import { checkWindow, countTokens, type Window } from "./check-window.js";
import { checkText, isFields, listIn, type RequestCheck } from "./refusal.js";
import type { Break } from "./stream-cuts.js";

export interface SentMessage {
  readonly role: string;
  readonly content: unknown;
  readonly tool_calls?: readonly unknown[];
}

export interface Reply {
  readonly text?: string;
  /** The tool calls. The provider makes their ids. */
  readonly calls?: readonly { readonly name: string; readonly args: object }[];
  readonly reasoning?: string;
  /** The finish reason, in OpenAI's words. @default `stop`, or `tool_calls` if there are tool calls */
  readonly finish?: string;
  /** How the response breaks. */
  readonly broken?: Break;
  /** The body for a request that does not stream, in place of this response. A string is sent as it is. */
  readonly body?: object | string;
}

export interface Asked {
  readonly model: string;
  /** In OpenAI's form, converted from any protocol. */
  readonly messages: readonly SentMessage[];
  readonly streams: boolean;
}

export type Respond = (asked: Asked) => Reply;

let count = 0;

/** A complete response in one JSON body. */
function nativeBody({ text = "", calls = [], finish }: Reply): string {
  const tool_calls = toCalls(calls);
  const finish_reason = finish ?? (calls.length > 0 ? "tool_calls" : "stop");
  return toBody(finish_reason, { content: text, ...(calls.length > 0 && { tool_calls }) });
}

/**
 * The events of a stream. Only the first piece of a call has an id, and `"null"` means that there is no finish reason.
 */
function nativeEvents({ text = "", calls = [], finish }: Reply): string[] {
  const words = text.split(/(?<= )/).map((content) => toBody("null", { content }));
  const pieces = toCalls(calls).flatMap(({ function: { name, arguments: args }, ...call }) => [
    toPiece({ ...call, function: { name, arguments: "" } }),
    ...(args.match(/.{1,4}/gs) ?? []).map((piece) =>
      toPiece({ ...call, id: "", function: { arguments: piece } }),
    ),
  ]);
  const last = toBody(finish ?? (calls.length > 0 ? "tool_calls" : "stop"), { content: "" });
  return [...words, ...pieces, last].map((body, index) => `id:${index + 1}\nevent:result\ndata:${body}\n\n`);
}

function toCalls(calls: NonNullable<Reply["calls"]>) {
  return calls.map(({ name, args }, index) => {
    count += 1;
    const call = { name, arguments: JSON.stringify(args) };
    return { index, id: `call_native_${count}`, type: "function", function: call };
  });
}

function toPiece(call: object): string {
  return toBody("null", { content: "", tool_calls: [call] });
}

function toBody(finish_reason: string, message: object): string {
  return JSON.stringify({
    request_id: "strict",
    output: { choices: [{ finish_reason, message: { role: "assistant", ...message } }] },
    usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
  });
}

const CHECKS = {
  openai: checkOpenAI,
  "openai-responses": checkResponses,
  dashscope: checkDashScope,
  "dashscope-native": checkDashScopeNative,
  deepseek: checkDeepSeek,
  anthropic: checkAnthropic,
  gemini: checkGemini,
  mistral: checkMistral,
  groq: checkGroq,
  vllm: checkVllm,
} as const satisfies Readonly<Record<string, RequestCheck>>;

/** The hosts. Groq and vLLM have no dialect of their own: they are examples of unknown hosts. */
export type HostName = keyof typeof CHECKS;
const isHost = (name: string): name is HostName => Object.hasOwn(CHECKS, name);
export type ProviderName = Exclude<HostName, "groq" | "vllm">;

export interface Requested {
  readonly host: HostName;
  readonly streams: boolean;
  readonly body: unknown;
  /** The error of a refused request. */
  readonly refusal: object | undefined;
}

export interface StrictProvider {
  /** The base address of a provider, without a slash at the end. The paths below it are those of the provider. */
  readonly url: (host: HostName) => string;
  readonly requests: readonly Requested[];
  /** The body of the latest request. */
  readonly lastRequest: () => unknown;
  /** The HTTP status of each response, in order. */
  readonly statuses: readonly number[];
  /** Makes the next requests fail, each with one of these failures. */
  readonly failNext: (...failures: readonly Failure[]) => void;
  readonly stop: () => Promise<void>;
}

export interface Failure {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** @default a message that the provider is busy */
  readonly body?: object;
}

export const ANSWER = "All is well.";
const BUSY = { code: "Busy", message: "Busy.", error: { message: "Busy." } };

export interface StrictProviderOptions {
  /** The model's window, which also says what responses report. Undefined: a request can have any length. */
  readonly window?: Window;
  /** How many characters a chunk of a stream has. @default 6 */
  readonly chunkSize?: number;
}

/**
 * @param respond Chooses the response to a request that is not refused. If responses differ, send one request at a
 * time.
 */
export async function startStrictProvider(
  respond: Respond = () => ({ text: ANSWER }),
  { window, chunkSize = 6 }: StrictProviderOptions = {},
): Promise<StrictProvider> {
  let reply: Reply = {};
  /** With a window, the tokens of the request that is answered, as the window counts them. */
  let usage: Usage | undefined;
  const mock = new LLMock({ port: 0, logLevel: "silent", chunkSize });
  mock.on({ predicate: () => true }, ({ model, messages, stream }) => {
    reply = respond({ model, messages: messages as SentMessage[], streams: stream === true });
    const { text, calls = [], reasoning, finish } = reply;
    const toolCalls = calls.map(({ name, args }) => ({ name, arguments: JSON.stringify(args) }));
    // The mock itself would report a token for four characters of the text.
    if (usage && window) usage = { ...usage, completion_tokens: countTokens({ text, calls }, window) };
    return {
      ...(usage && { usage }),
      ...((text !== undefined || calls.length === 0) && { content: text ?? "" }),
      ...(calls.length > 0 && { toolCalls }),
      ...(reasoning !== undefined && { reasoning }),
      ...(finish !== undefined && { finishReason: finish }),
    } as { content: string };
  });
  await mock.start();
  const requests: Requested[] = [];
  const statuses: number[] = [];
  const failures: Failure[] = [];
  /** The ids of the items that were sent, which the Responses API accepts later. */
  const stored = new Set<string>();
  const server = createServer((request, response) => {
    response.once("finish", () => statuses.push(response.statusCode));
    const failure = failures.shift();
    if (failure !== undefined) {
      const { status, headers, body = BUSY } = failure;
      request.resume();
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(body));
      return;
    }
    answer(request, response).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [, host = "", ...path] = (request.url ?? "").split("/");
    const text = Buffer.concat(await request.toArray()).toString();
    const body: unknown = JSON.parse(text);
    if (!isHost(host)) throw new Error(`There is no strict provider ${host}.`);
    // A provider counts the tokens of a valid history only.
    const refusal =
      checkText(host, text) ?? CHECKS[host](body, stored) ?? (window && checkWindow(host, body, window));
    usage = window && { prompt_tokens: countTokens(body, window), completion_tokens: 0 };
    const streams = isStreaming(request, body);
    requests.push({ host, streams, body, refusal: refusal?.body });
    if (refusal?.events !== undefined && streams) {
      sendEvents(response, refusal.events, {});
      return;
    }
    if (refusal !== undefined) {
      sendJson(response, JSON.stringify(refusal.body), refusal.status);
      return;
    }
    if (host === "dashscope-native") {
      const { model, input } = Object(body);
      reply = respond({ model: String(model), messages: listIn(input, "messages") as never, streams });
      if (streams) sendEvents(response, nativeEvents(reply), reply);
      else sendJson(response, bodyOf(reply, nativeBody(reply)));
      return;
    }
    const answered = await fetch(`${mock.url}/${path.join("/")}`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer mock", "x-api-key": "mock" },
      body: text,
    });
    const written = await answered.text();
    for (const [, id] of written.matchAll(/"id":"((?:fc|rs|msg)[^"]*)"/g))
      if (id !== undefined) stored.add(id);
    const events = written.split(/(?<=\n\n)/);
    if (streams) sendEvents(response, host === "mistral" ? asMistralEvents(events, usage) : events, reply);
    else sendJson(response, bodyOf(reply, written), answered.status);
  }

  const { url, stop } = await listen(server);
  return {
    url: (host) => `${url}/${host}`,
    requests,
    lastRequest: () => requests.at(-1)?.body,
    statuses,
    failNext: (...next) => {
      failures.splice(0, failures.length, ...next);
      statuses.length = 0;
    },
    stop: async () => {
      await stop();
      await mock.stop();
    },
  };
}

function isStreaming({ headers, url = "" }: IncomingMessage, body: unknown): boolean {
  return (
    (isFields(body) && body["stream"] === true) ||
    headers.accept === "text/event-stream" ||
    url.includes(":streamGenerateContent")
  );
}

/** @param whole The response in one piece. */
function bodyOf({ body, broken }: Reply, whole: string): string {
  if (typeof body === "object") return JSON.stringify(body);
  return body ?? broken?.body?.(whole) ?? whole;
}

function sendJson(response: ServerResponse, text: string, status = 200): void {
  response.writeHead(status, { "content-type": "application/json" }).end(text);
}

function sendEvents(response: ServerResponse, events: readonly string[], { broken }: Reply): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const event of broken?.events(events) ?? events) response.write(event);
  response.end();
}
