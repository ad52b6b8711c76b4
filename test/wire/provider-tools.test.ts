/**
 * Tools that the provider runs, over HTTP through the real clients: what is sent, what of the response is sent back to the
 * same provider, and what to another one.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createAgentGraph, type ProviderTool } from "../../src/index.js";
import { anthropicEvents } from "../support/anthropic-events.js";
import { anthropicAt, geminiAt, openAIAt } from "../support/clients.js";
import { type Events, startEventServer } from "../support/event-server.js";
import { createProbe } from "../support/probe-tools.js";
import { inThread, pairedMessagesOf, user } from "../support/thread.js";

const usage = { input_tokens: 5, output_tokens: 5 };
const CITATION = {
  type: "web_search_result_location",
  url: "https://example.org",
  title: "Oslo",
  encrypted_index: "abc",
  cited_text: "Oslo is large.",
};
const SEARCH = { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "Oslo" } };
const FOUND = {
  type: "web_search_tool_result",
  tool_use_id: "srvtoolu_1",
  content: [
    {
      type: "web_search_result",
      url: "https://example.org",
      title: "Oslo",
      encrypted_content: "xyz",
      page_age: null,
    },
  ],
};

function openAIEvents(output: readonly Record<string, unknown>[], text: string): Events {
  const response = {
    id: "resp_1",
    object: "response",
    model: "gpt-4o",
    status: "completed",
    output,
    usage: { ...usage, total_tokens: 10 },
  };
  return [
    { type: "response.created", response: { ...response, status: "in_progress", output: [] } },
    ...output.flatMap((item, output_index) => [
      { type: "response.output_item.added", output_index, item },
      ...(item["type"] === "message"
        ? [
            {
              type: "response.output_text.delta",
              output_index,
              content_index: 0,
              item_id: item["id"],
              delta: text,
            },
          ]
        : []),
      { type: "response.output_item.done", output_index, item },
    ]),
    { type: "response.completed", response },
  ];
}

const openAIMessage = (text: string, id: string) => ({
  type: "message",
  id,
  role: "assistant",
  status: "completed",
  content: [
    {
      type: "output_text",
      text,
      annotations: [
        { type: "url_citation", url: "https://example.org", title: "Oslo", start_index: 0, end_index: 4 },
      ],
    },
  ],
});

const geminiEvents = (text: string): Events => [
  {
    candidates: [
      {
        content: { role: "model", parts: [{ text }] },
        finishReason: "STOP",
        index: 0,
        groundingMetadata: {
          webSearchQueries: ["Oslo"],
          groundingChunks: [{ web: { uri: "https://example.org" } }],
        },
      },
    ],
    usageMetadata: { promptTokenCount: 5, candidatesTokenCount: 5, totalTokenCount: 10 },
  },
];

const WEB_SEARCH_CALL = {
  type: "web_search_call",
  id: "ws_1",
  status: "completed",
  action: { type: "search", query: "Oslo" },
};

type Kind = "anthropic" | "openai" | "gemini";

/** Sends a message in each turn. Returns the requests and the thread. */
async function converse(kind: Kind, tool: ProviderTool, ...turns: Events[]) {
  const { url, requests } = await startEventServer(...turns);
  const model = {
    anthropic: () => anthropicAt(url),
    // The rules of the provider are not known by the address of this server.
    openai: () =>
      Object.defineProperty(openAIAt(`${url}/v1`, { model: "gpt-4o" }), "_llmType", {
        value: () => "azure_openai",
      }),
    gemini: () => geminiAt(url),
  }[kind]();
  const probe = createProbe();
  const tools = kind === "gemini" ? [tool] : [probe.fast, tool];
  const graph = createAgentGraph({ model, tools, checkpointer: new MemorySaver() });
  let messages: BaseMessage[] = [];
  for (const [index] of turns.entries())
    messages = pairedMessagesOf(await graph.invoke(user(`go ${index}`), inThread("1")));
  return { requests, messages, runs: probe.runs };
}

/** Goes on with the thread under another provider, and returns what that is sent. */
async function goOnWith(kind: Kind, messages: readonly BaseMessage[], events: Events) {
  const { url, requests } = await startEventServer(events);
  const model = {
    anthropic: () => anthropicAt(url),
    openai: () => openAIAt(`${url}/v1`, { model: "gpt-4o", useResponsesApi: true }),
    gemini: () => geminiAt(url),
  }[kind]();
  await createAgentGraph({ model }).invoke({ messages: [...messages, { role: "user", content: "next" }] });
  return requests[0]?.body;
}

const anthropicSearch = { type: "web_search_20250305", name: "web_search", max_uses: 2 };
const ANSWER = "Oslo is large.";
const answered = [
  { type: "text", text: "I look. " },
  SEARCH,
  FOUND,
  { type: "text", text: ANSWER, citations: [CITATION] },
];

describe("A tool of Anthropic", () => {
  it("is sent as it is, its call is not run, and its blocks are sent back", async () => {
    const last = anthropicEvents([{ type: "text", text: "Bye." }]);
    const { requests, messages, runs } = await converse(
      "anthropic",
      anthropicSearch,
      anthropicEvents(answered),
      last,
    );
    expect(requests[0]?.body["tools"]).toContainEqual(anthropicSearch);
    expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "human", "ai"]);
    expect(runs).toEqual([]);
    const sent = requests[1]?.body["messages"] as { content: Record<string, unknown>[] }[];
    expect(sent[1]?.content).toMatchObject([
      { type: "text", text: "I look. " },
      SEARCH,
      FOUND,
      { type: "text", text: ANSWER, citations: [CITATION] },
    ]);
  });

  it("whose result is missing is not sent back, because Anthropic refuses its call alone", async () => {
    const paused = anthropicEvents(
      [{ type: "text", text: "I look. " }, { type: "text", text: ANSWER }, SEARCH],
      "pause_turn",
    );
    const { requests } = await converse(
      "anthropic",
      anthropicSearch,
      paused,
      anthropicEvents([{ type: "text", text: "Bye." }]),
    );
    const sent = requests[1]?.body["messages"] as { content: Record<string, unknown>[] }[];
    expect(sent[1]?.content.map(({ type }) => type)).toEqual(["text", "text"]);
  });

  it("leaves only text for another provider: the response's, and what the tool returned", async () => {
    const { messages } = await converse("anthropic", anthropicSearch, anthropicEvents(answered));
    const events = openAIEvents([openAIMessage("Bye.", "msg_9")], "Bye.");
    const toOpenAI = JSON.stringify(await goOnWith("openai", messages, events));
    const toGemini = JSON.stringify(await goOnWith("gemini", messages, geminiEvents("Bye.")));
    for (const sent of [toOpenAI, toGemini]) {
      expect(sent).toContain(ANSWER);
      expect(sent).toContain("https://example.org");
      expect(sent).not.toMatch(/server_tool_use|citations|encrypted/);
    }
  });
});

describe("A tool of OpenAI", () => {
  const search = { type: "web_search_preview" };
  const first = openAIEvents([WEB_SEARCH_CALL, openAIMessage(ANSWER, "msg_1")], ANSWER);

  it("is sent as it is with the Responses API, its call is not run, and its items are sent back", async () => {
    const last = openAIEvents([openAIMessage("Bye.", "msg_2")], "Bye.");
    const { requests, messages, runs } = await converse("openai", search, first, last);
    expect(requests.map(({ path }) => path)).toEqual(["/v1/responses", "/v1/responses"]);
    expect(requests[0]?.body["tools"]).toContainEqual(search);
    expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "human", "ai"]);
    expect(runs).toEqual([]);
    expect(requests[1]?.body["input"]).toMatchObject([
      { role: "user" },
      { type: "web_search_call", id: "ws_1" },
      { type: "message", id: "msg_1" },
      { role: "user" },
    ]);
  });

  it("leaves only its text for another provider", async () => {
    const { messages } = await converse("openai", search, first);
    const toAnthropic = JSON.stringify(
      await goOnWith("anthropic", messages, anthropicEvents([{ type: "text", text: "Bye." }])),
    );
    const toGemini = JSON.stringify(await goOnWith("gemini", messages, geminiEvents("Bye.")));
    for (const sent of [toAnthropic, toGemini]) {
      expect(sent).toContain(ANSWER);
      expect(sent).not.toMatch(/web_search|annotations|url_citation|ws_1/);
    }
  });
});

describe("A tool of Gemini", () => {
  it("is sent as it is, and its answer goes on with any provider", async () => {
    const { requests, messages } = await converse(
      "gemini",
      { googleSearch: {} },
      geminiEvents(ANSWER),
      geminiEvents("Bye."),
    );
    expect(requests[0]?.body["tools"]).toEqual([{ googleSearch: {} }]);
    expect(messages.map(({ text }) => text)).toEqual(["go 0", ANSWER, "go 1", "Bye."]);
    const sent = JSON.stringify(
      await goOnWith("anthropic", messages, anthropicEvents([{ type: "text", text: "Bye." }])),
    );
    expect(sent).toContain(ANSWER);
    expect(sent).not.toMatch(/grounding/);
  });
});
