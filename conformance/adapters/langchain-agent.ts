/** What the agents of LangChain, deepagents and LangGraph have in common: models, tools, and a thread. */

import { ChatAnthropic } from "@langchain/anthropic";
import {
  type BaseMessage,
  mapChatMessagesToStoredMessages,
  mapStoredMessagesToChatMessages,
  RemoveMessage,
  type StoredMessage,
} from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatDeepSeek } from "@langchain/deepseek";
import { ChatGoogleGenerativeAI } from "@langchain/google-genai";
import { MemorySaver } from "@langchain/langgraph";
import { ChatMistralAI } from "@langchain/mistralai";
import { ChatOpenAI } from "@langchain/openai";
import { humanInTheLoopMiddleware } from "langchain";
import type { Adapter, Agent, AgentOptions, Endpoint, Host, MakeGraph, ToolSpec } from "../adapter.js";

const apiKey = "test-key";
const openAI = (url: string, model: string, timeout: number | undefined, useResponsesApi = false) =>
  new ChatOpenAI({
    model,
    apiKey,
    useResponsesApi,
    configuration: { baseURL: `${url}/v1` },
    ...(timeout !== undefined && { timeout }),
  });

/** Finish reasons with which a message says that it is not whole. */
const CUT_OFF = ["length", "content_filter", "insufficient_system_resource"];

/** The clients of LangChain, with their defaults. */
const MODELS = {
  openai: (url, timeout) => openAI(url, "gpt-5", timeout),
  "openai-responses": (url, timeout) => openAI(url, "gpt-5", timeout, true),
  dashscope: (url, timeout) => openAI(url, "qwen-max", timeout),
  deepseek: (url) =>
    new ChatDeepSeek({ model: "deepseek-v4-flash", apiKey, configuration: { baseURL: `${url}/v1` } }),
  anthropic: (url, timeout) =>
    new ChatAnthropic({
      model: "claude-sonnet-4-5",
      apiKey,
      anthropicApiUrl: url,
      ...(timeout !== undefined && { clientOptions: { timeout } }),
    }),
  gemini: (url) => new ChatGoogleGenerativeAI({ model: "gemini-2.5-flash", apiKey, baseUrl: url }),
  mistral: (url) => new ChatMistralAI({ model: "mistral-large-latest", apiKey, serverURL: url }),
} as const satisfies Partial<Record<Host, (url: string, timeout?: number) => unknown>>;

export function createModel({ host, url, window }: Endpoint, timeout?: number): unknown {
  const model = MODELS[host as keyof typeof MODELS](url, timeout);
  if (window === undefined) return model;
  // The real window of these models is much larger than that of a case.
  const profile = window === "unknown" ? {} : { maxInputTokens: window };
  return Object.defineProperty(model, "profile", { value: profile });
}

const createTool = ({ name, description, schema, run }: ToolSpec) =>
  tool((args) => run(Object(args)), { name, description, schema } as never);

/** What lets the calls of some tools of `createAgent` wait for a decision. */
export const approvalMiddleware = (tools: readonly string[] | undefined) =>
  tools === undefined
    ? []
    : [
        humanInTheLoopMiddleware({
          interruptOn: Object.fromEntries(tools.map((name) => [name, true])),
        } as never),
      ];

export function langchainAdapter(
  about: Pick<Adapter, "name" | "title" | "packages" | "hasApprovals" | "summarises">,
  makeGraph: MakeGraph,
): Adapter {
  return {
    ...about,
    hosts: Object.keys(MODELS) as Host[],
    makeGraph,
    open: async (options) => openThread(makeGraph, options),
  };
}

function openThread(
  makeGraph: MakeGraph,
  { endpoint, tools, summary, idleMs, listens = true }: AgentOptions,
): Agent {
  const graph = makeGraph({
    model: createModel(endpoint, idleMs),
    tools: tools.map(createTool),
    checkpointer: new MemorySaver(),
    ...(summary && { summary }),
    ...(idleMs !== undefined && { idleMs }),
  });
  const config = { configurable: { thread_id: "1" } };
  /** Where the next turn begins. */
  let start: object = config;
  const read = async () => ((await graph.getState(config)).values.messages ?? []) as BaseMessage[];
  return {
    send: async (messages) => {
      const input = { messages: mapStoredMessagesToChatMessages([...messages]) };
      let last: BaseMessage | undefined;
      const streamMode = listens ? ["messages", "values"] : ["values", "custom"];
      const stream = await graph.stream(input, { ...start, streamMode });
      start = config;
      for await (const [mode, data] of stream as AsyncIterable<[string, { messages?: BaseMessage[] }]>)
        if (mode === "values") last = data.messages?.at(-1);
      const reason: unknown = last?.response_metadata["finish_reason"];
      if (CUT_OFF.includes(String(reason))) throw new Error(`The last response ended with "${reason}".`);
      return last?.text ?? "";
    },
    read: async () => mapChatMessagesToStoredMessages(await read()),
    remember: async () => {
      const { config: remembered } = await graph.getState(config);
      return () => {
        start = remembered;
      };
    },
    update: async (messages) => {
      await graph.updateState(config, { messages: messages.map(toMessage) });
    },
  };
}

function toMessage(value: unknown): BaseMessage {
  const { type, id } = value as { type: string; id?: string };
  if (type === "remove") return new RemoveMessage({ id: id ?? "" });
  const [message] = mapStoredMessagesToChatMessages([value as StoredMessage]);
  if (message === undefined) throw new Error("Expected a message.");
  return message;
}
