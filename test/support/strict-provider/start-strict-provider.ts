/**
 * Providers that answer over HTTP and refuse a bad history as the real ones do. A check stands in front of the mock
 * server aimock, which speaks the protocols and streams; DashScope's own protocol, which it lacks, is answered here.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type ChatCompletionRequest, type FixtureResponse, LLMock } from "@copilotkit/aimock";
import { checkAnthropic } from "./check-anthropic.js";
import { checkDashScope, checkDashScopeNative, checkDeepSeek, checkOpenAI } from "./check-chat.js";
import { checkGemini } from "./check-gemini.js";
import { checkMistral } from "./check-mistral.js";
import { checkResponses } from "./check-responses.js";
import type { RequestCheck } from "./refusal.js";

const CHECKS = {
  openai: checkOpenAI,
  "openai-responses": checkResponses,
  dashscope: checkDashScope,
  "dashscope-native": checkDashScopeNative,
  deepseek: checkDeepSeek,
  anthropic: checkAnthropic,
  gemini: checkGemini,
  mistral: checkMistral,
} as const satisfies Readonly<Record<string, RequestCheck>>;

export type ProviderName = keyof typeof CHECKS;

export interface StrictProvider {
  /** Where a provider answers, without a slash at the end. Below it the paths are the provider's own. */
  readonly url: (provider: ProviderName) => string;
  /** The body of the latest request. */
  readonly lastRequest: () => unknown;
  /** The status of each answer, in order. */
  readonly statuses: readonly number[];
  /** The next requests fail like that, one each. */
  readonly failNext: (...failures: readonly Failure[]) => void;
  readonly stop: () => Promise<void>;
}

export interface Failure {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** @default one that says that it is busy */
  readonly body?: object;
}

export const ANSWER = "All is well.";
const BUSY = { code: "Busy", message: "Busy.", error: { message: "Busy." } };

/** @param reply What is answered to a history that is accepted. DashScope's own protocol has but one answer. */
export async function startStrictProvider(
  reply: (request: ChatCompletionRequest) => FixtureResponse = () => ({ content: ANSWER }),
): Promise<StrictProvider> {
  const mock = new LLMock({ port: 0, logLevel: "silent" });
  mock.on({ predicate: () => true }, reply);
  await mock.start();
  let last: unknown;
  const statuses: number[] = [];
  const failures: Failure[] = [];
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
    answer(request, response, mock.url, (body) => {
      last = body;
    }).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: (provider) => `http://127.0.0.1:${port}/${provider}`,
    lastRequest: () => last,
    statuses,
    failNext: (...next) => {
      failures.splice(0, failures.length, ...next);
      statuses.length = 0;
    },
    stop: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await mock.stop();
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  mockUrl: string,
  remember: (body: unknown) => void,
): Promise<void> {
  const [, name = "", ...path] = (request.url ?? "").split("/");
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk);
  const text = Buffer.concat(chunks).toString("utf8");
  const body: unknown = JSON.parse(text);
  remember(body);
  if (!isProvider(name)) throw new Error(`There is no strict provider ${name}.`);
  const refusal = CHECKS[name](body);
  if (refusal !== undefined) {
    response.writeHead(refusal.status, { "content-type": "application/json" });
    response.end(JSON.stringify(refusal.body));
    return;
  }
  if (name === "dashscope-native") {
    answerNatively(response, request.headers.accept === "text/event-stream");
    return;
  }
  const answered = await fetch(`${mockUrl}/${path.join("/")}`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: "Bearer mock", "x-api-key": "mock" },
    body: text,
  });
  response.writeHead(answered.status, {
    "content-type": answered.headers.get("content-type") ?? "text/plain",
  });
  response.end(Buffer.from(await answered.arrayBuffer()));
}

function isProvider(name: string): name is ProviderName {
  return Object.hasOwn(CHECKS, name);
}

function answerNatively(response: ServerResponse, streams: boolean): void {
  const reply = (content: string, finish_reason: string) =>
    JSON.stringify({
      request_id: "strict",
      output: { choices: [{ finish_reason, message: { role: "assistant", content } }] },
      usage: { input_tokens: 1, output_tokens: 1, total_tokens: 2 },
    });
  if (!streams) {
    response.writeHead(200, { "content-type": "application/json" }).end(reply(ANSWER, "stop"));
    return;
  }
  response.writeHead(200, { "content-type": "text/event-stream" });
  const [first = "", ...rest] = ANSWER.split(" ");
  response.write(`id:1\nevent:result\ndata:${reply(first, "null")}\n\n`);
  response.end(`id:2\nevent:result\ndata:${reply(` ${rest.join(" ")}`, "stop")}\n\n`);
}
