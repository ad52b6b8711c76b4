/** The agent of pi, with the transcript that it keeps: https://github.com/earendil-works/pi/tree/main/packages/agent */

import { Agent, type AgentMessage, type AgentTool } from "@earendil-works/pi-agent-core";
import { createModels, createProvider } from "@earendil-works/pi-ai";
import { anthropicMessagesApi } from "@earendil-works/pi-ai/api/anthropic-messages.lazy";
import { googleGenerativeAIApi } from "@earendil-works/pi-ai/api/google-generative-ai.lazy";
import { mistralConversationsApi } from "@earendil-works/pi-ai/api/mistral-conversations.lazy";
import { openAICompletionsApi } from "@earendil-works/pi-ai/api/openai-completions.lazy";
import { openAIResponsesApi } from "@earendil-works/pi-ai/api/openai-responses.lazy";
import type { StoredMessage } from "@langchain/core/messages";
import type { Adapter, Endpoint, Host } from "../adapter.js";
import { callsOfStored, picturesOfStored, textOfStored } from "../stored.js";

/** The protocols of its clients, with their models and the paths below which they send their requests. */
const MODELS = {
  openai: ["openai-completions", "openai", "gpt-5", "/v1"],
  "openai-responses": ["openai-responses", "openai", "gpt-5", "/v1"],
  anthropic: ["anthropic-messages", "anthropic", "claude-sonnet-4-5", ""],
  gemini: ["google-generative-ai", "google", "gemini-2.5-flash", "/v1beta"],
  mistral: ["mistral-conversations", "mistral", "mistral-large-latest", ""],
  deepseek: ["openai-completions", "deepseek", "deepseek-v4-flash", "/v1"],
} as const satisfies Partial<
  Record<Host, readonly [api: string, provider: string, id: string, path: string]>
>;

const CLIENTS = {
  "openai-completions": openAICompletionsApi(),
  "openai-responses": openAIResponsesApi(),
  "anthropic-messages": anthropicMessagesApi(),
  "google-generative-ai": googleGenerativeAIApi(),
  "mistral-conversations": mistralConversationsApi(),
};

export const adapter: Adapter = {
  name: "pi-agent",
  title: "pi-agent-core",
  packages: ["@earendil-works/pi-agent-core"],
  hosts: Object.keys(MODELS) as Host[],
  summarises: false,
  open: async ({ endpoint, tools }) => {
    const model = modelOf(endpoint);
    const models = createModels();
    const auth = { apiKey: { name: "key", resolve: async () => ({ auth: { apiKey: "test-key" } }) } };
    models.setProvider(createProvider({ id: model.provider, auth, models: [model], api: CLIENTS }));
    const agent = new Agent({
      initialState: {
        model,
        tools: tools.map(
          ({ name, description, schema, run }): AgentTool => ({
            name,
            label: name,
            description,
            parameters: schema as never,
            execute: async (_id, args) => ({
              content: [{ type: "text", text: await run(Object(args)) }],
              details: {},
            }),
          }),
        ),
      },
      streamFn: models.streamSimple.bind(models),
    });
    return {
      send: async (messages) => {
        await agent.prompt(messages.flatMap((message) => toPi(message, model)));
        const last = agent.state.messages.findLast(({ role }) => role === "assistant");
        if (last?.role !== "assistant") throw new Error("The run ended without a response.");
        const { stopReason, errorMessage, content } = last;
        if (stopReason !== "stop")
          throw new Error(errorMessage ?? `The last response ended with "${stopReason}".`);
        return content.map((block) => (block.type === "text" ? block.text : "")).join("");
      },
      read: async () => [],
    };
  },
};

function modelOf({ host, url }: Endpoint) {
  const [api, provider, id, path] = MODELS[host as keyof typeof MODELS];
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 };
  const limits = { contextWindow: 200_000, maxTokens: 8_000 };
  return {
    id,
    name: id,
    api,
    provider,
    baseUrl: `${url}${path}`,
    reasoning: false,
    input: ["text" as const, "image" as const],
    cost,
    ...limits,
  };
}

function toPi(
  stored: StoredMessage,
  { api, provider, id: model }: ReturnType<typeof modelOf>,
): AgentMessage[] {
  const text = textOfStored(stored);
  const timestamp = 0;
  if (stored.type === "system") return [{ role: "system", content: text, timestamp }];
  if (stored.type === "human") {
    const pictures = picturesOfStored(stored).map((picture) => ({ type: "image" as const, ...picture }));
    return [{ role: "user", content: [{ type: "text", text }, ...pictures], timestamp }];
  }
  if (stored.type === "tool") {
    const about = { toolCallId: stored.data.tool_call_id ?? "", toolName: stored.data.name ?? "" };
    return [{ role: "toolResult", ...about, content: [{ type: "text", text }], isError: false, timestamp }];
  }
  const calls = callsOfStored(stored).map(({ id, name, args }) => ({
    type: "toolCall" as const,
    id,
    name,
    arguments: Object(args),
  }));
  const cost = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, total: 0 };
  const usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0, totalTokens: 0, cost };
  const content = [...(text === "" ? [] : [{ type: "text" as const, text }]), ...calls];
  const stopReason = calls.length > 0 ? ("toolUse" as const) : ("stop" as const);
  return [{ role: "assistant", content, api, provider, model, usage, stopReason, timestamp }];
}
