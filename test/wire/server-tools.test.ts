/**
 * Every form of a tool that Anthropic or OpenAI runs, over HTTP through the real client. The provider refuses a call
 * without its result. LangChain's client for Anthropic leaves out some results when it sends a message, and more when it
 * streams a response.
 */

import { createServer } from "node:http";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { ChatOpenAI } from "@langchain/openai";
import { describe, expect, it, onTestFinished } from "vitest";
import { createAgentGraph, toModelInput, validateHistory } from "../../src/index.js";
import { type AnthropicBlock, startAnthropic } from "../support/anthropic-events.js";
import { anthropicAt } from "../support/clients.js";
import { listen } from "../support/listen.js";
import { checkResponses } from "../support/strict-provider/check-responses.js";
import { inThread, pairedMessagesOf, user } from "../support/thread.js";
import { rowsOf } from "../support/titled.js";

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
const FORMS = rowsOf<[known: string, blocks: readonly AnthropicBlock[]]>({
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
const ANSWER = { type: "text", text: "Oslo is large." };

const clientFor = (url: string, more: object = {}) => anthropicAt(url, more);

/** The content of the assistant messages that were sent last. */
function sentBack({ requests }: Awaited<ReturnType<typeof startAnthropic>>): unknown[] {
  const messages = requests.at(-1)?.messages ?? [];
  return messages.filter(({ role }) => role === "assistant").flatMap(({ content }) => content);
}

describe.each(FORMS)("The call of a tool that Anthropic runs (%s)", (_, known, blocks) => {
  it.each([
    ["streamed", { streaming: true }],
    ["complete", { disableStreaming: true }],
  ])("is sent with its result, or both as text, after a %s response.", async (_way, options) => {
    const server = await startAnthropic([{ type: "text", text: "I look." }, ...blocks, ANSWER], [ANSWER]);
    const model = clientFor(server.url, options);
    const graph = createAgentGraph({ model, tools: [TOOL], checkpointer: new MemorySaver() });
    await graph.invoke(user("How many?"), inThread("1"));
    const messages = pairedMessagesOf(await graph.invoke(user("Sure?"), inThread("1")));
    expect(messages).toHaveLength(4);
    expect(JSON.stringify(sentBack(server))).toContain(known);
  });

  it("is sent with its result, or both as text, if the response of a plain client is in the thread.", async () => {
    const server = await startAnthropic([...blocks, ANSWER], [...blocks, ANSWER], [ANSWER], [ANSWER]);
    const response = await clientFor(server.url).invoke("How many?");
    const v1 = await clientFor(server.url, { outputVersion: "v1" }).invoke("How many?");
    for (const stored of [response, v1]) {
      const history = [new HumanMessage("How many?"), stored, new HumanMessage("Sure?")];
      const input = toModelInput(history, { dialect: "anthropic", modelId: "claude-sonnet-4-5" });
      expect(validateHistory(input, "anthropic")).toEqual([]);
      expect(JSON.stringify(input)).toContain(known);
      await clientFor(server.url).invoke(input);
    }
  });

  it.each(["openai", "gemini", "strict"] as const)("leaves what it returned for %s.", async (dialect) => {
    const response = new AIMessage({
      content: [...blocks, ANSWER] as BaseMessage["content"],
      response_metadata: { model_provider: "anthropic" },
    });
    const history = [new HumanMessage("How many?"), response, new HumanMessage("Sure?")];
    const [, sent] = toModelInput(history, { dialect });
    expect(sent?.text).toContain(known);
    expect(sent?.text).toContain(ANSWER.text);
    expect(sent?.text).not.toContain(SECRET);
  });
});

const item = (type: string, fields: object) => ({ type, id: `${type}_1`, status: "completed", ...fields });
const reasoning = { type: "reasoning", id: "rs_9", summary: [] };

/** Items of OpenAI's Responses API, with what the model gets to know of them elsewhere. */
const ITEMS = rowsOf<[known: string, item: AnthropicBlock]>({
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

describe.each(ITEMS)("The item of a tool that OpenAI runs (%s)", (_, known, called) => {
  const message = {
    type: "message",
    id: "msg_9",
    role: "assistant",
    status: "completed",
    content: [{ type: "output_text", text: ANSWER.text, annotations: [] }],
  };
  const output = [reasoning, called, message];

  /** The Responses API, which refuses a bad history, and its client. */
  async function startOpenAI() {
    const requests: unknown[] = [];
    const ids = new Set(output.map(({ id }) => String(id)));
    const server = createServer(async (request, response) => {
      const body = JSON.parse(Buffer.concat(await request.toArray()).toString());
      const refusal = Array.isArray(body.input) ? checkResponses(body, ids) : undefined;
      requests.push(body.input);
      const answer = { id: "resp_1", object: "response", model: "gpt-5", status: "completed", output };
      response.writeHead(refusal?.status ?? 200, { "content-type": "application/json" });
      response.end(JSON.stringify(refusal?.body ?? answer));
    });
    const { url, stop } = await listen(server);
    onTestFinished(() => stop());
    const configuration = { baseURL: `${url}/v1` };
    const options = { model: "gpt-5", apiKey: "x", maxRetries: 0, useResponsesApi: true };
    return { model: new ChatOpenAI({ ...options, configuration }), requests };
  }

  const historyOf = (response: BaseMessage) => [
    new HumanMessage("How many?"),
    response,
    new HumanMessage("Sure?"),
  ];
  const target = { dialect: "openai-responses", modelId: "gpt-5" } as const;

  it("is sent back with the reasoning before it, and leaves what it returned for another provider.", async () => {
    const { model, requests } = await startOpenAI();
    const history = historyOf(await model.invoke("How many?"));
    await model.invoke(toModelInput(history, target));
    expect(requests.at(-1)).toMatchObject([{ role: "user" }, ...output, { role: "user" }]);
    for (const dialect of ["anthropic", "gemini", "strict", "openai"] as const) {
      const [, sent] = toModelInput(history, { dialect });
      expect(sent?.text).toContain(known);
      expect(sent?.text).toContain(ANSWER.text);
    }
  });

  it("becomes text beside reasoning whose following item is missing.", async () => {
    const { model } = await startOpenAI();
    const response = await model.invoke("How many?");
    // The response has ended at its limit, in the middle of a thought.
    response.response_metadata["output"] = [called, message, reasoning];
    expect(validateHistory(historyOf(response), "openai-responses").map(({ rule }) => rule)).toEqual([
      "reasoning-alone",
    ]);
    const input = toModelInput(historyOf(response), target);
    await model.invoke(input);
    expect(input[1]?.text).toContain(known);
  });
});
