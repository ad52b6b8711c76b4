/**
 * Providers that answer over HTTP and refuse a bad history as the real ones do. A check stands in front of the mock
 * server aimock, which speaks the protocols and streams; DashScope's own protocol, which it lacks, is answered here.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { LLMock } from "@copilotkit/aimock";
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
  readonly stop: () => Promise<void>;
}

export const ANSWER = "All is well.";

export async function startStrictProvider(): Promise<StrictProvider> {
  const mock = new LLMock({ port: 0, logLevel: "silent" });
  mock.on({ predicate: () => true }, { content: ANSWER });
  await mock.start();
  let last: unknown;
  const server = createServer((request, response) => {
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
