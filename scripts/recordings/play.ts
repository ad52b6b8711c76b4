/** Plays answers to an agent: alone, with the middleware, and as our graph. Every request is noted, and none leaves the machine. */

import { AsyncLocalStorage } from "node:async_hooks";
import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { createAgent } from "langchain";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { type Answer, asksForStream } from "./protocols.js";
import { type Fields, isFields, parsed } from "./values.js";

export const WAYS = ["alone", "tetherMiddleware", "createAgentGraph"] as const;
export type Way = (typeof WAYS)[number];

/** Contract: gives the answer to a request, whose place among the requests of the play is given. */
export type Answering = (request: SentRequest, place: number) => Answer;

export interface SentRequest {
  readonly url: URL;
  readonly body: Fields;
  readonly asksForStream: boolean;
}

export interface Play {
  readonly requests: readonly SentRequest[];
  /** The messages of the thread at the end. Empty after an error. */
  readonly messages: readonly BaseMessage[];
  /** The text that a reader of the stream saw, by message. */
  readonly shown: readonly string[];
  readonly error: string | undefined;
}

export interface Scene {
  readonly create: () => BaseChatModel;
  /** The names of the user's tools. */
  readonly toolNames: readonly string[];
  /** Tools that the provider runs, as its client takes them. */
  readonly serverTools: readonly Fields[];
  readonly messages: readonly BaseMessage[];
  readonly answer: Answering;
  /** Whether somebody reads the stream. */
  readonly isRead: boolean;
}

/** A play that takes longer hangs. */
const LIMIT_MS = 20_000;
/** More requests than any fault needs. */
const MOST_REQUESTS = 10;

/** What is noted while a play runs. A request that comes after its end belongs to none. */
const stage = new AsyncLocalStorage<{ readonly answer: Answering; readonly requests: SentRequest[] }>();

/** Leads every request of this process to the play that makes it. */
export function takeOverFetch(): void {
  globalThis.fetch = async (input, init) => {
    const request = new Request(input, init);
    const text = await request.text();
    const body = parsed(text);
    const url = new URL(request.url);
    const play = stage.getStore();
    // Clients look for tokenizers, credentials and open connections beside their requests.
    if (play === undefined || !isFields(body) || request.method !== "POST")
      return new Response("", { status: 404 });
    const sent = { url, body, asksForStream: asksForStream(url, body) };
    play.requests.push(sent);
    if (play.requests.length > MOST_REQUESTS) throw new Error(`More than ${MOST_REQUESTS} requests.`);
    const answer = play.answer(sent, play.requests.length - 1);
    return new Response(new Uint8Array(answer.body), {
      status: answer.status,
      headers: { ...answer.headers, "content-type": answer.type || "application/json" },
    });
  };
}

/** @param way `model`: the client itself, without an agent. */
export async function play(way: Way | "model", scene: Scene): Promise<Play> {
  const requests: SentRequest[] = [];
  const shown = new Map<string, string>();
  let messages: readonly BaseMessage[] = [];
  let timer: NodeJS.Timeout | undefined;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new Error(`It hung for ${LIMIT_MS / 1000} seconds.`));
    }, LIMIT_MS);
  });
  const run = stage.run({ answer: scene.answer, requests }, async () => {
    if (way === "model") {
      messages = [await scene.create().invoke([...scene.messages])];
      return;
    }
    const agent = agentFor(way, scene);
    const input = { messages: [...scene.messages] };
    if (!scene.isRead) {
      ({ messages } = (await agent.invoke(input)) as { messages: BaseMessage[] });
      return;
    }
    const stream = await agent.stream(input, { streamMode: ["messages", "values"] });
    for await (const [mode, value] of stream as AsyncIterable<[string, unknown]>) {
      if (mode === "values") ({ messages } = value as { messages: BaseMessage[] });
      else noteShown(shown, value as [BaseMessage]);
    }
  });
  let error: string | undefined;
  try {
    await Promise.race([run, limit]);
  } catch (thrown) {
    error = thrown instanceof Error ? `${thrown.name}: ${thrown.message}`.slice(0, 300) : String(thrown);
  } finally {
    clearTimeout(timer);
    run.catch(() => {});
  }
  return {
    requests: [...requests],
    messages,
    shown: [...shown.values()].filter((text) => text !== ""),
    error,
  };
}

interface Agent {
  invoke(input: object): Promise<unknown>;
  stream(input: object, config: object): Promise<unknown>;
}

function agentFor(way: Way, { create, toolNames, serverTools }: Scene): Agent {
  const model = create();
  const tools = [...toolNames.map(userTool), ...serverTools] as never;
  if (way === "alone") return createAgent({ model, tools }) as unknown as Agent;
  if (way === "tetherMiddleware")
    return createAgent({ model, tools, middleware: [tetherMiddleware()] }) as unknown as Agent;
  // The program alone sets no marks for a prompt cache.
  return createAgentGraph({ model, tools, promptCache: "off" }) as unknown as Agent;
}

export const TOOL_TEXT = "done";

/** A tool that takes everything. */
const userTool = (name: string) =>
  tool(() => TOOL_TEXT, {
    name,
    description: `Does ${name}.`,
    schema: { type: "object", properties: {}, additionalProperties: true },
  });

function noteShown(shown: Map<string, string>, [message]: readonly [BaseMessage]): void {
  if (!AIMessage.isInstance(message)) return;
  const key = message.id ?? "";
  shown.set(key, (shown.get(key) ?? "") + message.text);
}

export const human = (text: string) => new HumanMessage(text);
