/**
 * Tools that the provider runs, in every form, over HTTP through the real clients: what is sent, what of the response is
 * sent back to the same provider, and what to another one. The providers refuse a call without its result. LangChain's
 * client for Anthropic leaves out some results when it sends a message, and more when it streams a response.
 */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createAgentGraph, toModelInput, validateHistory } from "../../src/index.js";
import { anthropicAt, clientOf, geminiAt, openAIAt, responsesAt } from "../support/clients.js";
import type { ProviderTool } from "../support/internals.js";
import { checkAnthropic } from "../support/strict-provider/check-anthropic.js";
import { checkGemini } from "../support/strict-provider/check-gemini.js";
import { checkResponses } from "../support/strict-provider/check-responses.js";
import type { Fields, RequestCheck } from "../support/strict-provider/refusal.js";
import { anthropic, gemini, openAI, serve, TEXT } from "../support/strict-provider/serve-responses.js";
import { type ProviderName, startStrictProvider } from "../support/strict-provider/start-strict-provider.js";
import { rowsOf, stopAtEnd } from "../support/test-tools.js";
import { inThread, pairedMessagesOf, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

/** Sends a message in each turn. Returns the thread, and the calls that were run. */
async function converse(model: BaseChatModel, tools: readonly ProviderTool[], turns = 2) {
  const { fast, runs } = createProbe();
  // Gemini takes no other tools beside its own.
  const own = model.getName() === "ChatGoogleGenerativeAI" ? [] : [fast];
  const graph = createAgentGraph({ model, tools: [...own, ...tools], checkpointer: new MemorySaver() });
  for (let turn = 1; turn < turns; turn += 1) await graph.invoke(user("How many?"), inThread("1"));
  const messages = pairedMessagesOf(await graph.invoke(user("Sure?"), inThread("1")));
  expect(runs).toEqual([]);
  return messages;
}

const asked = (...responses: readonly BaseMessage[]): BaseMessage[] => [
  new HumanMessage("How many?"),
  ...responses,
  new HumanMessage("Sure?"),
];

const strict = stopAtEnd(await startStrictProvider());

/** What another provider gets: the text, what the tools returned, and nothing that only the author can read. */
async function expectText(history: BaseMessage[], dialect: ProviderName | "strict", known: string) {
  const input = toModelInput(history, { dialect });
  const text = input.map((each) => each.text).join("\n");
  expect(text).toContain(known);
  expect(text).toContain(TEXT);
  await (await clientOf(dialect === "strict" ? "openai" : dialect, strict)).invoke(input);
  const sent = JSON.stringify(strict.lastRequest());
  expect(sent).toContain(TEXT);
  expect(sent).not.toMatch(/server_tool_use|c2VjcmV0|web_search_call|grounding/);
  // Text blocks are sent to OpenAI's chat with their citations.
  if (dialect !== "openai") expect(sent).not.toMatch(/citation|encrypted/);
}

const call = (id: string, name: string, input: object = { about: "Oslo" }) => ({
  type: "server_tool_use",
  id: `srvtoolu_${id}`,
  name,
  input,
});
const result = (id: string, type: string, content: unknown) => ({
  type,
  tool_use_id: `srvtoolu_${id}`,
  content,
});
const SECRET = "c2VjcmV0c2VjcmV0";
const found = [
  {
    type: "web_search_result",
    url: "https://oslo.example",
    title: "Oslo",
    encrypted_content: SECRET,
    page_age: null,
  },
];
const ran = (type: string, stdout: string) => ({ type, stdout, stderr: "", return_code: 0, content: [] });

/** What the model gets to know of the result, and the blocks. */
const FORMS = rowsOf<[known: string, blocks: readonly Fields[]]>({
  "web search": [
    "https://oslo.example",
    [call("1", "web_search"), result("1", "web_search_tool_result", found)],
  ],
  "web search inside code execution": [
    "717,710",
    [
      call("1", "code_execution", { code: "await web_search('Oslo')" }),
      { ...call("2", "web_search"), caller: { type: "code_execution_20260120", tool_id: "srvtoolu_1" } },
      result("2", "web_search_tool_result", found),
      result("1", "code_execution_tool_result", ran("code_execution_result", "717,710")),
    ],
  ],
  "code execution": [
    "717,710",
    [
      call("1", "code_execution", { code: "print(717_710)" }),
      result("1", "code_execution_tool_result", ran("code_execution_result", "717,710")),
    ],
  ],
  "a shell": [
    "717,710",
    [
      call("1", "bash_code_execution", { command: "wc people" }),
      result("1", "bash_code_execution_tool_result", ran("bash_code_execution_result", "717,710")),
    ],
  ],
  "an editor": [
    "717,710",
    [
      call("1", "text_editor_code_execution", { command: "view", path: "people" }),
      result("1", "text_editor_code_execution_tool_result", {
        type: "text_editor_code_execution_view_result",
        file_type: "text",
        content: "717,710",
      }),
    ],
  ],
  "web fetch": [
    "717,710 people",
    [
      call("1", "web_fetch", { url: "https://oslo.example" }),
      result("1", "web_fetch_tool_result", {
        type: "web_fetch_result",
        url: "https://oslo.example",
        content: {
          type: "document",
          source: { type: "text", media_type: "text/plain", data: "717,710 people" },
        },
      }),
    ],
  ],
  "an advisor": [
    "Count them.",
    [
      call("1", "advisor", {}),
      result("1", "advisor_tool_result", { type: "advisor_result", text: "Count them." }),
    ],
  ],
  "an MCP server": [
    "717,710",
    [
      { type: "mcp_tool_use", id: "mcptoolu_1", name: "people", server_name: "city", input: { of: "Oslo" } },
      {
        type: "mcp_tool_result",
        tool_use_id: "mcptoolu_1",
        is_error: false,
        content: [{ type: "text", text: "717,710" }],
      },
    ],
  ],
  "a search for tools": [
    "weather",
    [
      call("1", "tool_search_tool_regex", { pattern: "weather" }),
      result("1", "tool_search_tool_result", {
        type: "tool_search_tool_search_result",
        tool_references: [{ type: "tool_reference", tool_name: "weather" }],
      }),
    ],
  ],
});

const TOOL = { type: "code_execution_20260120", name: "code_execution" };
const CITED = {
  type: "web_search_result_location",
  url: "https://oslo.example",
  cited_text: TEXT,
  encrypted_index: "abc",
};
const CLOSING = { type: "text", text: TEXT, citations: [CITED] };
const LOOKING = { type: "text", text: "I look. " };

/** The content of the assistant messages that were sent last. */
function sentBack({ requests }: Awaited<ReturnType<typeof serve>>): unknown[] {
  const messages = requests.at(-1)?.body["messages"] as { role: string; content: unknown }[];
  return messages.filter(({ role }) => role === "assistant").flatMap(({ content }) => content);
}

describe.each(FORMS)("The call of a tool that Anthropic runs (%s)", (_, known, blocks) => {
  it.each([
    ["streamed", { streaming: true }],
    ["complete", { disableStreaming: true }],
  ])("is sent with its result, or both as text, after a %s response.", async (_way, options) => {
    const server = await serve(checkAnthropic, [
      anthropic([LOOKING, ...blocks, CLOSING]),
      anthropic([CLOSING]),
    ]);
    expect(await converse(anthropicAt(server.url, options), [TOOL])).toHaveLength(4);
    expect(JSON.stringify(sentBack(server))).toContain(known);
  });

  it("is sent with its result, or both as text, if the response of a plain client is in the thread.", async () => {
    const whole = anthropic([...blocks, CLOSING]);
    const { url } = await serve(checkAnthropic, [whole, whole, whole, whole]);
    const response = await anthropicAt(url).invoke("How many?");
    const v1 = await anthropicAt(url, { outputVersion: "v1" }).invoke("How many?");
    for (const stored of [response, v1]) {
      const input = toModelInput(asked(stored), { dialect: "anthropic", modelId: "claude-sonnet-4-5" });
      expect(validateHistory(input, "anthropic")).toEqual([]);
      expect(JSON.stringify(input)).toContain(known);
      await anthropicAt(url).invoke(input);
    }
  });

  it.each(["openai", "openai-responses", "gemini", "strict"] as const)(
    "leaves what it returned for %s.",
    (dialect) => {
      const content = [...blocks, CLOSING] as BaseMessage["content"];
      const response = new AIMessage({ content, response_metadata: { model_provider: "anthropic" } });
      return expectText(asked(response), dialect, known);
    },
  );
});

describe("A tool of Anthropic", () => {
  const search = { type: "web_search_20250305", name: "web_search", max_uses: 2 };
  const searched = [call("1", "web_search"), result("1", "web_search_tool_result", found)];

  it("is sent as it is, its call is not run, and its blocks are sent back", async () => {
    const answers = [anthropic([LOOKING, ...searched, CLOSING]), anthropic([CLOSING])];
    const server = await serve(checkAnthropic, answers);
    const messages = await converse(anthropicAt(server.url), [search]);
    expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "human", "ai"]);
    expect(server.requests[0]?.body["tools"]).toContainEqual(search);
    expect(sentBack(server)).toMatchObject([LOOKING, ...searched, CLOSING]);
  });

  it("whose result is missing is not sent back, because Anthropic refuses its call alone", async () => {
    const broken = anthropic([LOOKING, { type: "text", text: TEXT }, call("1", "web_search")], "end_turn");
    const server = await serve(checkAnthropic, [broken, anthropic([CLOSING])]);
    await converse(anthropicAt(server.url), [search]);
    expect(sentBack(server)).toMatchObject([{ type: "text" }, { type: "text" }]);
  });
});

const item = (type: string, fields: object) => ({ type, id: `${type}_1`, status: "completed", ...fields });
const reasoning = { type: "reasoning", id: "rs_9", summary: [] };

/** Items of OpenAI's Responses API, with what the model gets to know of them elsewhere. */
const ITEMS = rowsOf<[known: string, item: Fields]>({
  "web search": ["Oslo is large.", item("web_search_call", { action: { type: "search", query: "Oslo" } })],
  "a file search": [
    "people.txt",
    item("file_search_call", { queries: ["Oslo"], results: [{ filename: "people.txt", text: "717,710" }] }),
  ],
  code: [
    "717,710",
    item("code_interpreter_call", {
      code: "print(717_710)",
      container_id: "c",
      outputs: [{ type: "logs", logs: "717,710" }],
    }),
  ],
  "an MCP server": [
    "717,710",
    item("mcp_call", {
      name: "people",
      server_label: "city",
      arguments: "{}",
      output: "717,710",
      error: null,
    }),
  ],
});

const openAIAtUrl = (url: string) => responsesAt(`${url}/v1`);
const annotations = [
  { type: "url_citation", url: "https://oslo.example", title: "Oslo", start_index: 0, end_index: 4 },
];
const message = {
  type: "message",
  id: "msg_9",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: TEXT, annotations }],
};

describe.each(ITEMS)("The item of a tool that OpenAI runs (%s)", (_, known, called) => {
  const output = [reasoning, called, message];
  const stored = new Set(output.map(({ id }) => String(id)));
  const target = { dialect: "openai-responses", modelId: "gpt-5" } as const;
  /** It takes what is no history yet. */
  const check: RequestCheck = (body, ids) =>
    typeof Reflect.get(Object(body), "input") === "string" ? undefined : checkResponses(body, ids);

  it("is sent back with the reasoning before it, and leaves what it returned for another provider.", async () => {
    const { url, requests } = await serve(check, [openAI(...output), openAI(...output)], stored);
    const response = await openAIAtUrl(url).invoke("How many?");
    await openAIAtUrl(url).invoke(toModelInput(asked(response), target));
    expect(requests.at(-1)?.body["input"]).toMatchObject([{ role: "user" }, ...output, { role: "user" }]);
    for (const dialect of ["anthropic", "gemini", "strict", "openai"] as const)
      await expectText(asked(response), dialect, known);
  });

  it("becomes text beside reasoning whose following item is missing.", async () => {
    const { url } = await serve(check, [openAI(...output), openAI(...output)], stored);
    const response = await openAIAtUrl(url).invoke("How many?");
    // The response has ended at its limit, in the middle of a thought.
    response.response_metadata["output"] = [called, message, reasoning];
    const broken = validateHistory(asked(response), "openai-responses").map(({ rule }) => rule);
    expect(broken).toEqual(["reasoning-alone"]);
    const input = toModelInput(asked(response), target);
    await openAIAtUrl(url).invoke(input);
    expect(input[1]?.text).toContain(known);
  });
});

it("A tool of OpenAI is sent as it is with the Responses API, and its items are sent back", async () => {
  const search = { type: "web_search_preview" };
  const searched = item("web_search_call", { action: { type: "search", query: "Oslo" } });
  const stored = new Set([searched.id, message.id]);
  const { url, requests } = await serve(checkResponses, [openAI(searched, message), openAI(message)], stored);
  // The rules of the provider are not known by the address of this server.
  const model = Object.defineProperty(openAIAt(`${url}/v1`), "_llmType", { value: () => "azure_openai" });
  const messages = await converse(model, [search]);
  expect(messages.map(({ type }) => type)).toEqual(["human", "ai", "human", "ai"]);
  expect(requests.map(({ path }) => path)).toEqual(["/v1/responses", "/v1/responses"]);
  expect(requests[0]?.body["tools"]).toContainEqual(search);
  expect(requests[1]?.body["input"]).toMatchObject([
    { role: "user" },
    { type: "web_search_call", id: searched.id },
    { type: "message", id: message.id },
    { role: "user" },
  ]);
});

const grounding = {
  groundingMetadata: {
    webSearchQueries: ["Oslo"],
    groundingChunks: [{ web: { uri: "https://oslo.example" } }],
  },
};

it("A tool of Gemini is sent as it is, and its answer goes on with any provider", async () => {
  const { url, requests } = await serve(checkGemini, [
    gemini([{ text: TEXT }], grounding),
    gemini([{ text: "Bye." }]),
  ]);
  const messages = await converse(geminiAt(url), [{ googleSearch: {} }]);
  expect(requests[0]?.body["tools"]).toEqual([{ googleSearch: {} }]);
  expect(messages.map(({ text }) => text)).toEqual(["How many?", TEXT, "Sure?", "Bye."]);
  const history = [...messages, new HumanMessage("Sure?")];
  for (const dialect of ["openai", "anthropic", "strict"] as const) await expectText(history, dialect, TEXT);
});
