/**
 * Hosts that say nothing, or reset the connection, through the real clients. The client's own retries are off. The request is
 * ended and sent again without streaming, and no tool call of it is run, whether somebody listens or not.
 */

import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent, modelFallbackMiddleware } from "langchain";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createAgentGraph, ModelError } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { answerTo, chainWish, createLook, playChain } from "../support/chain-script.js";
import { clientAt, MADE_MODELS, makeModelAt, PROVIDERS } from "../support/clients.js";
import { listen } from "../support/listen.js";
import { type AnyAgent, MANNERS, openAgentThread, openThread } from "../support/open-thread.js";
import { shown } from "../support/stream-faults.js";
import { type ProviderName, startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { stopAtEnd } from "../support/test-tools.js";
import { messagesOf, user } from "../support/thread.js";

const strict = stopAtEnd(await startStrictProvider(({ messages }) => playChain(messages)));

type Trouble =
  | "says nothing"
  | "says nothing after its headers"
  | "says nothing after half of its response"
  | "is reset before its headers"
  | "is reset after its headers"
  | "is reset after half of its response";

const RESET: readonly Trouble[] = [
  "is reset before its headers",
  "is reset after its headers",
  "is reset after half of its response",
];
const SILENT: readonly Trouble[] = [
  "says nothing",
  "says nothing after its headers",
  "says nothing after half of its response",
];

/** What the next requests meet, each with one of these. The others are passed on to the strict provider. */
const troubles: Trouble[] = [];
/** Whether each troubled request was ended by the client. */
const ended: Promise<void>[] = [];

const proxy = createServer((request, response) => {
  relay(request, response, troubles.shift()).catch(() => response.destroy());
});

async function relay(request: IncomingMessage, response: ServerResponse, trouble: Trouble | undefined) {
  const body = Buffer.concat(await request.toArray()).toString();
  const { host: _, "content-length": _length, connection: _connection, ...headers } = request.headers;
  const isSilent = trouble?.startsWith("says") === true;
  if (isSilent) ended.push(new Promise((resolve) => response.once("close", () => resolve())));
  const stop = () => {
    if (!isSilent) {
      response.socket?.resetAndDestroy();
      return;
    }
    stalled += 1;
    response.once("close", () => {
      stalled -= 1;
    });
  };
  if (trouble === "says nothing" || trouble === "is reset before its headers") return stop();
  const answered = await fetch(`${new URL(strict.url("openai")).origin}${request.url}`, {
    method: "POST",
    headers: headers as Record<string, string>,
    body,
  });
  const text = await answered.text();
  response.writeHead(answered.status, { "content-type": answered.headers.get("content-type") ?? "" });
  response.flushHeaders();
  if (trouble === undefined) response.end(text);
  else if (trouble.includes("half")) response.write(text.slice(0, text.length / 2), () => setImmediate(stop));
  else setImmediate(stop);
}

const { url } = stopAtEnd(await listen(proxy));

beforeEach(() => {
  troubles.splice(0);
  ended.splice(0);
});

type Client = ProviderName | "google";
const CLIENTS: readonly Client[] = [...PROVIDERS, "google"];

const google = MADE_MODELS.find(({ name }) => name.startsWith("google:"));

async function clientOf(client: Client): Promise<BaseChatModel> {
  if (client !== "google") return clientAt(client, `${url}/${client}`);
  if (google === undefined) throw new Error("There is no model of Google.");
  return makeModelAt(google, `${url}/gemini`);
}

const IDLE = 1_234_567;
const PATIENT = { modelIdleTimeoutMs: IDLE };

/** How many requests wait for a host that says nothing. */
let stalled = 0;
/** Time passes for the limit of silence only while a host says nothing, so a busy machine changes nothing. */
beforeEach(() => {
  const { setTimeout: real } = globalThis;
  const timer = (run: (...given: unknown[]) => void, delay?: number, ...values: unknown[]) => {
    if (delay !== IDLE) return real(run, delay, ...values);
    return setInterval(() => {
      if (stalled > 0) run();
    }, 20);
  };
  const spy = vi.spyOn(globalThis, "setTimeout").mockImplementation(timer as never);
  return () => spy.mockRestore();
});

const CITIES = [["Oslo", "Rome"]];

async function openGraph(client: Client, options: object = {}) {
  const { look, looked } = createLook();
  const graph = createAgentGraph({
    model: await clientOf(client),
    tools: [look],
    checkpointer: new MemorySaver(),
    ...options,
  });
  return { ...openThread(graph), looked };
}

const ROWS = CLIENTS.flatMap((client) =>
  [...SILENT, ...RESET].flatMap((trouble) => MANNERS.map((manner) => ({ client, trouble, manner }))),
);

/** Google's first client hides why it could not reach its host. A model that was made by name sends such a request again. */
const isRetried = ({ client, trouble }: (typeof ROWS)[number]) =>
  trouble === "is reset before its headers" && (client === "gemini" || client === "google");

describe.each(ROWS.filter((row) => !isRetried(row)))(
  "$client, $manner, whose connection $trouble,",
  ({ client, trouble, manner }) => {
    const reason = RESET.includes(trouble) ? "transport-error" : "silent";

    it("is asked again, and runs each call once", async () => {
      troubles.push(trouble);
      const thread = await openGraph(client, reason === "silent" ? PATIENT : {});
      const { messages, events, error } = await thread.send(chainWish(CITIES), undefined, manner);
      expect(error).toBeUndefined();
      const stored = await thread.read();
      expect(stored.at(-1)?.text).toBe(answerTo(CITIES));
      expect(shown(messages)).toEqual(shown(stored));
      expect(thread.looked.toSorted()).toEqual(["Oslo", "Rome"]);
      expect(events[0]).toMatchObject({ type: "response-broken", reason });
      expect(events.at(-1)).toMatchObject({ type: "run-end", usedFallback: true });
      await Promise.all(ended);
    });
  },
);

const HALVES = ROWS.filter(({ trouble }) => trouble.includes("half"));

describe("Under `tetherMiddleware`,", () => {
  it.each(HALVES)(
    "$client, $manner, is asked again if its connection $trouble",
    async ({ client, trouble, manner }) => {
      troubles.push(trouble);
      const { look, looked } = createLook();
      const middleware = [tetherMiddleware(trouble.startsWith("says") ? PATIENT : {})];
      const agent = createAgent({
        model: await clientOf(client),
        tools: [look],
        checkpointer: new MemorySaver(),
        middleware,
      });
      const thread = openAgentThread(agent as unknown as AnyAgent);
      const { messages, error } = await thread.run(user(chainWish(CITIES)), { manner });
      expect(error).toBeUndefined();
      const stored = messagesOf(await thread.values());
      expect(stored.at(-1)?.text).toBe(answerTo(CITIES));
      expect(shown(messages)).toEqual(shown(stored));
      expect(looked.toSorted()).toEqual(["Oslo", "Rome"]);
      await Promise.all(ended);
    },
  );
});

const LISTENING = CLIENTS.flatMap((client) => MANNERS.map((manner) => [client, manner] as const));

describe.each(LISTENING)("%s, %s, that stays silent", (client, manner) => {
  it("ends each of its requests, and then the run with an error that says so", async () => {
    troubles.push("says nothing after half of its response", "says nothing");
    const thread = await openGraph(client, { maxStreamFallbackAttempts: 1, modelIdleTimeoutMs: IDLE });
    const { messages, error } = await thread.send(chainWish(CITIES), undefined, manner);
    expect(error).toBeInstanceOf(ModelError);
    expect(String(error)).toContain("the model was silent for longer than `modelIdleTimeoutMs`");
    expect(ended).toHaveLength(2);
    await Promise.all(ended);
    expect(messages.filter(({ type }) => type !== "human")).toEqual([]);
    expect(thread.looked).toEqual([]);
    expect((await thread.read()).map(({ type }) => type)).toEqual(["human"]);
  });
});

describe.each(MANNERS)("After a model that is %s and stays silent", (manner) => {
  const silence: readonly Trouble[] = ["says nothing", "says nothing after its headers"];
  const options = { maxStreamFallbackAttempts: 1, modelIdleTimeoutMs: IDLE };

  it("the fallback model is asked", async () => {
    troubles.push(...silence);
    const thread = await openGraph("openai", {
      ...options,
      fallbackModels: [clientAt("anthropic", strict.url("anthropic"))],
    });
    const { error, events } = await thread.send(chainWish(CITIES), undefined, manner);
    expect(error).toBeUndefined();
    expect((await thread.read()).at(-1)?.text).toBe(answerTo(CITIES));
    const types = events.map(({ type }) => type);
    expect(types.slice(0, 3)).toEqual(["response-broken", "response-broken", "model-switched"]);
    await Promise.all(ended);
  });

  it("the model of `modelFallbackMiddleware` is asked", async () => {
    troubles.push(...silence);
    const { look } = createLook();
    const agent = createAgent({
      model: await clientOf("openai"),
      tools: [look],
      checkpointer: new MemorySaver(),
      middleware: [
        modelFallbackMiddleware((await clientAt("anthropic", strict.url("anthropic"))) as never),
        tetherMiddleware(options),
      ],
    });
    const thread = openAgentThread(agent as unknown as AnyAgent);
    const { error } = await thread.run(user(chainWish(CITIES)), { manner });
    expect(error).toBeUndefined();
    expect(messagesOf(await thread.values()).at(-1)?.text).toBe(answerTo(CITIES));
    await Promise.all(ended);
  });
});
