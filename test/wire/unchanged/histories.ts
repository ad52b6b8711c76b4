/** Sound histories, as a client and its provider leave them in a thread. */

import type { AIMessage, BaseMessage, SystemMessage, ToolMessage } from "@langchain/core/messages";
import { call, PICTURE, PICTURE_URL, result, says, system, user } from "../../support/wire-messages.js";
import type { Client, Family, Maker } from "./clients.js";

export interface History {
  readonly title: string;
  /** `createAgentGraph` has a text as its prompt, so one of blocks goes only under the middleware. */
  readonly systemPrompt?: string | SystemMessage;
  /** The setting of the graph. @default "off" */
  readonly promptCache?: "auto";
  /** Definitions of tools that the provider runs. */
  readonly tools?: readonly object[];
  /** Where the provider says that it accepts the history, although its strict check refuses it. */
  readonly accepted?: string;
  /** The same history of what the strict check knows. The check judges this one. */
  readonly plain?: () => BaseMessage[];
  /** Makes new messages, because a run changes their ids. */
  readonly messages: () => BaseMessage[];
}

/** What a history is built of, in the names and ids of one maker. */
export interface Pieces {
  readonly says: (content: unknown, fields?: object) => AIMessage;
  readonly calls: (content: unknown, places: readonly number[], fields?: object) => AIMessage;
  readonly result: (place: number, content?: unknown, fields?: object) => ToolMessage;
  readonly id: (place: number) => string;
}

const PDF = "JVBERi0xLjQKJcOkw7zDtsOfCg==";
const CITIES = ["Oslo", "Rome", "Bergen", "Turin", "Malmö"];
const cityOf = (place: number) => CITIES[place % CITIES.length] ?? "Oslo";

export function piecesOf({ provider, model, callId, callBlock }: Maker): Pieces {
  const written = {
    model_name: model,
    ...(provider !== undefined && { model_provider: provider }),
  };
  const saysOwn = (content: unknown, fields: object = {}) => {
    const response_metadata = { ...written, ...Reflect.get(fields, "response_metadata") };
    return says(content, { ...fields, response_metadata });
  };
  return {
    says: saysOwn,
    calls: (content, places, fields = {}) => {
      const tool_calls = places.map((place) => call(callId(place), cityOf(place)));
      return saysOwn(callBlock === undefined ? content : withBlocks(content, tool_calls.map(callBlock)), {
        tool_calls,
        ...fields,
      });
    },
    result: (place, content = `The sky over ${cityOf(place)} is clear.`, fields = {}) =>
      result(callId(place), content, { name: "look", ...fields }),
    id: callId,
  };
}

/** The content with a block for each call, unless it has them. */
function withBlocks(content: unknown, calls: readonly object[]): unknown {
  if (typeof content === "string")
    return [...(content === "" ? [] : [{ type: "text", text: content }]), ...calls];
  const blocks: readonly object[] = Array.isArray(content) ? content : [];
  const types = new Set(calls.map((call): unknown => Reflect.get(call, "type")));
  return blocks.some((block) => types.has(Reflect.get(block, "type"))) ? blocks : [...blocks, ...calls];
}

type Make = (pieces: Pieces) => readonly BaseMessage[];

const HI = "How is the sky?";

/** Histories that any provider can have. */
const COMMON: Readonly<Record<string, Make>> = {
  "a plain turn": ({ says }) => [user("Hello."), says("Good morning."), user(HI)],
  "a system message in front": ({ says }) => [system("Be brief."), user("Hello."), says("Hi."), user(HI)],
  "system messages in mid-thread": ({ says }) => [
    system("Be brief."),
    user("Hello."),
    says("Hi."),
    system("The user has moved to Oslo."),
    user(HI),
  ],
  "a system message at the end": ({ says }) => [
    user("Hello."),
    says("Hi."),
    user(HI),
    system("Answer in one sentence."),
  ],
  "one call": ({ says, calls, result }) => [
    user(HI),
    calls("", [1]),
    result(1),
    says("It is clear."),
    user("Thanks."),
  ],
  "a call whose result is the last message": ({ calls, result }) => [user(HI), calls("", [1]), result(1)],
  "a text beside a call": ({ calls, result }) => [user(HI), calls("I look.", [1]), result(1)],
  "parallel calls": ({ calls, result }) => [user(HI), calls("", [1, 2, 3]), result(1), result(2), result(3)],
  "results in another order": ({ calls, result }) => [user(HI), calls("", [1, 2]), result(2), result(1)],
  "calls after calls": ({ says, calls, result }) => [
    user(HI),
    calls("", [1]),
    result(1),
    calls("And now Rome.", [2]),
    result(2),
    says("Both are clear."),
    user("Thanks."),
  ],
  "one call id in two turns": ({ says, calls, result }) => [
    user(HI),
    calls("", [1]),
    result(1),
    says("Clear."),
    user("And now?"),
    calls("", [1]),
    result(1),
  ],
  "a user message right after a result": ({ calls, result }) => [
    user(HI),
    calls("", [1]),
    result(1),
    user("Stop."),
  ],
  "an error as a result": ({ calls, result }) => [
    user(HI),
    calls("", [1]),
    result(1, "Error: the service is down.", { status: "error" }),
  ],
  "a result without a name": ({ calls, result }) => [
    user(HI),
    calls("", [1]),
    result(1, "clear", { name: undefined }),
  ],
  "an empty result": ({ calls, result }) => [user(HI), calls("", [1]), result(1, "")],
  "a result of several texts": ({ calls, result }) => [
    user(HI),
    calls("", [1]),
    result(1, [
      { type: "text", text: "It is clear." },
      { type: "text", text: "It is cold." },
    ]),
  ],
  "a picture in a result": ({ calls, result }) => [
    user(HI),
    calls("", [1]),
    result(1, [
      { type: "text", text: "The camera shows:" },
      { type: "image", mimeType: "image/png", data: PICTURE },
    ]),
  ],
  "a picture in a result, as `image_url`": ({ calls, result }) => [
    user(HI),
    calls("", [1]),
    result(1, [
      { type: "text", text: "The camera shows:" },
      { type: "image_url", image_url: { url: PICTURE_URL } },
    ]),
  ],
  "a resource link in a result": ({ calls, result }) => [
    user(HI),
    calls("", [1]),
    result(1, [
      { type: "text", text: "See the report." },
      { type: "resource_link", uri: "https://example.com/sky.txt", name: "sky.txt" },
    ]),
  ],
  "a resource with a text in a result": ({ calls, result }) => [
    user(HI),
    calls("", [1]),
    result(1, [
      { type: "text", text: "See the report." },
      { type: "resource", resource: { uri: "demo://sky.txt", mimeType: "text/plain", text: "Clear." } },
    ]),
  ],
  "an empty list beside a call": ({ calls, result }) => [user(HI), calls([], [1]), result(1)],
  "a name of a tool with a dot": ({ says, result, id }) => [
    user(HI),
    says("", { tool_calls: [{ id: id(1), name: "sky.look", args: {}, type: "tool_call" }] }),
    result(1, "clear", { name: "sky.look" }),
  ],
  "a user's picture": () => [
    user([
      { type: "text", text: "What is this?" },
      { type: "image", mimeType: "image/png", data: PICTURE },
    ]),
  ],
  "a user's picture by address": () => [
    user([
      { type: "text", text: "What is this?" },
      { type: "image", url: "https://example.com/a.png", mimeType: "image/png" },
    ]),
  ],
  "a user's picture, as `image_url`": () => [
    user([
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url: PICTURE_URL } },
    ]),
  ],
  "a user's picture by address, as `image_url`": () => [
    user([
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: { url: "https://example.com/a.png", detail: "low" } },
    ]),
  ],
  "a user's picture, in LangChain's older form": () => [
    user([
      { type: "text", text: "What is this?" },
      { type: "image", source_type: "base64", mime_type: "image/png", data: PICTURE },
    ]),
  ],
  "a user's picture by address, as a text": () => [
    user([
      { type: "text", text: "What is this?" },
      { type: "image_url", image_url: "https://example.com/a.png" },
    ]),
  ],
  "a user's file of plain text": () => [
    user([
      { type: "text", text: "What is this?" },
      { type: "text-plain", text: "The sky is clear.", mimeType: "text/plain" },
    ]),
  ],
  "a user's PDF": () => [
    user([
      { type: "text", text: "What is this?" },
      { type: "file", mimeType: "application/pdf", data: PDF, metadata: { filename: "a.pdf", name: "a" } },
    ]),
  ],
  "a user's PDF, in LangChain's older form": () => [
    user([
      { type: "text", text: "What is this?" },
      {
        type: "file",
        source_type: "base64",
        mime_type: "application/pdf",
        data: PDF,
        metadata: { filename: "a.pdf", name: "a" },
      },
    ]),
  ],
  "names of users": ({ says }) => [
    user("Hello.", { name: "anna" }),
    says("Hi.", { name: "helper" }),
    user(HI, { name: "bert_2" }),
  ],
  "a name of a user with a space": ({ says }) => [user("Hello.", { name: "Ann Lee" }), says("Hi."), user(HI)],
  "an empty message of the user": ({ says }) => [user("Hello."), says("Hi."), user("")],
  "two user messages in a row": ({ says }) => [user("Hello."), says("Hi."), user("One more:"), user(HI)],
  "two responses in a row": ({ says }) => [user("Hello."), says("Hi."), says("I am here."), user(HI)],
  "a greeting of the assistant first": ({ says }) => [says("Welcome."), user(HI)],
  "an empty response": ({ says }) => [user("Hello."), says(""), user(HI)],
  "texts in several blocks": ({ says }) => [
    user([
      { type: "text", text: "Hello." },
      { type: "text", text: "I am Anna." },
    ]),
    says([
      { type: "text", text: "Hi." },
      { type: "text", text: "What may I do?" },
    ]),
    user(HI),
  ],
  "text blocks beside a call": ({ calls, result }) => [
    user(HI),
    calls([{ type: "text", text: "I look." }], [1]),
    result(1),
  ],
  "a text with citations": ({ says }) => [
    user("Hello."),
    says([
      {
        type: "text",
        text: "The sky is blue.",
        annotations: [
          {
            type: "url_citation",
            url: "https://example.com",
            title: "Sky",
            start_index: 0,
            end_index: 16,
          },
        ],
      },
    ]),
    user(HI),
  ],
  "scripts, emoji and control characters": ({ says, calls, result }) => [
    user("Größe 漢字 🇳🇴 👩‍👩‍👧 \u202Eabc\u202C \t\n line two\r\n"),
    says("שלום — “quotes” \\ / \u0007"),
    user(" leading and trailing "),
    calls("", [4]),
    result(4, '{"text": "🌤️\\n"}'),
  ],
  "a long thread": ({ says, calls, result }) =>
    Array.from({ length: 20 }, (_, index) => [
      user(`Question ${index}: how is the sky?`),
      calls(index % 2 === 0 ? "" : "I look.", [index + 100]),
      result(index + 100),
      says(`Answer ${index}.`),
    ])
      .flat()
      .concat(user(HI)),
};

/** Histories with fields that the models of one maker write, or that only its client sends. */
const OWN: Readonly<Record<Family, Readonly<Record<string, Make>>>> = {
  chat: {
    "reasoning in `reasoning_content`": ({ says, calls, result }) => [
      user(HI),
      calls("", [1], { additional_kwargs: { reasoning_content: "I should look." } }),
      result(1),
      says("Clear.", { additional_kwargs: { reasoning_content: "It is clear." } }),
      user("Thanks."),
    ],
    "reasoning in `reasoning`": ({ calls, result }) => [
      user(HI),
      calls("", [1], { additional_kwargs: { reasoning: "I should look." } }),
      result(1),
    ],
    "reasoning in `reasoning_details`": ({ calls, result }) => [
      user(HI),
      calls("", [1], {
        additional_kwargs: {
          reasoning_details: [
            { type: "reasoning.text", text: "I should look.", signature: "c2lnbmVk", index: 0 },
          ],
        },
      }),
      result(1),
    ],
    "a signature in `extra_content` of a call": ({ calls, result, id }) => [
      user(HI),
      calls("", [1], {
        additional_kwargs: {
          tool_calls: [
            {
              id: id(1),
              type: "function",
              function: { name: "look", arguments: '{"city":"Rome"}' },
              extra_content: { google: { thought_signature: "c2ln" } },
            },
          ],
        },
      }),
      result(1),
    ],
    "a reasoning block": ({ says }) => [
      user("Hello."),
      says([
        { type: "reasoning", reasoning: "They greet." },
        { type: "text", text: "Hi." },
      ]),
      user(HI),
    ],
    "a refusal": ({ says }) => [
      user("Hello."),
      says("", { additional_kwargs: { refusal: "I cannot help with that." } }),
      user(HI),
    ],
    "cache marks": ({ says }) => [
      user([{ type: "text", text: "A long text.", cache_control: { type: "ephemeral" } }]),
      says("Hi."),
      user([{ type: "text", text: HI, cache_control: { type: "ephemeral" } }]),
    ],
    "a user's sound": () => [
      user([
        { type: "text", text: "What is this?" },
        { type: "input_audio", input_audio: { data: "UklGRg==", format: "wav" } },
      ]),
    ],
    "a user's file by id": () => [
      user([
        { type: "text", text: "What is this?" },
        { type: "file", file: { file_id: "file-abc123" } },
      ]),
    ],
  },
  responses: {
    "reasoning items with ids": ({ calls, result, id }) => [
      user(HI),
      calls("", [1], {
        id: "resp_1",
        additional_kwargs: {
          reasoning: { id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: "I look." }] },
          __openai_function_call_ids__: { [id(1)]: "fc_1" },
        },
        response_metadata: {
          id: "resp_1",
          output: [
            { id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: "I look." }] },
            { id: "fc_1", type: "function_call", call_id: id(1), name: "look", arguments: '{"city":"Rome"}' },
          ],
        },
      }),
      result(1),
    ],
    "reasoning items with ids, from a stream": ({ calls, result, id }) => [
      user(HI),
      calls("", [1], {
        additional_kwargs: {
          reasoning: { id: "rs_1", type: "reasoning", summary: [{ type: "summary_text", text: "I look." }] },
          __openai_function_call_ids__: { [id(1)]: "fc_1" },
        },
      }),
      result(1),
    ],
    "encrypted reasoning": ({ calls, result, id }) => [
      user(HI),
      calls("", [1], {
        additional_kwargs: {
          reasoning: { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "Z2hpZGRlbg==" },
        },
        response_metadata: {
          output: [
            { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "Z2hpZGRlbg==" },
            { id: "fc_1", type: "function_call", call_id: id(1), name: "look", arguments: '{"city":"Rome"}' },
          ],
        },
      }),
      result(1),
    ],
    "a stored message with a phase": ({ says }) => [
      user("Hello."),
      says([{ type: "text", text: "Hi.", phase: "final_answer", annotations: [] }], {
        id: "msg_2",
        response_metadata: {
          output: [
            {
              id: "msg_2",
              type: "message",
              role: "assistant",
              status: "completed",
              phase: "final_answer",
              content: [{ type: "output_text", text: "Hi.", annotations: [] }],
            },
          ],
        },
      }),
      user(HI),
    ],
    "a stored message, from a stream": ({ says }) => [
      user("Hello."),
      says([{ type: "text", text: "Hi.", annotations: [] }], { id: "msg_2" }),
      user(HI),
    ],
    "a finished web search": ({ says }) => [
      user(HI),
      says([{ type: "text", text: "Clear.", annotations: [] }], {
        id: "msg_2",
        additional_kwargs: {
          tool_outputs: [
            {
              id: "ws_1",
              type: "web_search_call",
              status: "completed",
              action: { type: "search", query: "sky" },
            },
          ],
        },
        response_metadata: {
          output: [
            {
              id: "ws_1",
              type: "web_search_call",
              status: "completed",
              action: { type: "search", query: "sky" },
            },
            {
              id: "msg_2",
              type: "message",
              role: "assistant",
              status: "completed",
              content: [{ type: "output_text", text: "Clear.", annotations: [] }],
            },
          ],
        },
      }),
      user("Thanks."),
    ],
    "a custom tool": ({ says, id }) => [
      user("Write it."),
      says("", {
        tool_calls: [{ id: id(1), name: "write", args: { input: "free text {" }, type: "tool_call" }],
        additional_kwargs: { __openai_custom_tool_call_ids__: { [id(1)]: "ctc_1" } },
        response_metadata: {
          output: [
            { id: "ctc_1", type: "custom_tool_call", call_id: id(1), name: "write", input: "free text {" },
          ],
        },
      }),
      result(id(1), "written", { name: "write", additional_kwargs: { customTool: true } }),
    ],
    "a refusal part": ({ says }) => [
      user("Hello."),
      says([{ type: "refusal", refusal: "I cannot help with that." }], {
        response_metadata: {
          output: [
            {
              id: "msg_2",
              type: "message",
              role: "assistant",
              status: "completed",
              content: [{ type: "refusal", refusal: "I cannot help with that." }],
            },
          ],
        },
      }),
      user(HI),
    ],
    "a user's picture, as `input_image`": () => [
      user([
        { type: "input_text", text: "What is this?" },
        { type: "input_image", image_url: PICTURE_URL, detail: "auto" },
      ]),
    ],
    "a user's file by id": () => [
      user([
        { type: "input_text", text: "What is this?" },
        { type: "input_file", file_id: "file-abc123" },
      ]),
    ],
  },
  anthropic: {
    "signed thinking": ({ says, calls, result, id }) => [
      user(HI),
      calls(
        [
          { type: "thinking", thinking: "I should look.", signature: "c2lnbmVk" },
          { type: "text", text: "I look." },
          { type: "tool_use", id: id(1), name: "look", input: { city: "Rome" } },
        ],
        [1],
      ),
      result(1),
      says([
        { type: "thinking", thinking: "It is clear.", signature: "c2lnbmVk" },
        { type: "text", text: "Clear." },
      ]),
      user("Thanks."),
    ],
    "redacted thinking": ({ says }) => [
      user("Hello."),
      says([
        { type: "redacted_thinking", data: "ZW5jcnlwdGVk" },
        { type: "text", text: "Hi." },
      ]),
      user(HI),
    ],
    "a finished web search": ({ says }) => [
      user(HI),
      says([
        { type: "text", text: "I search." },
        { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "sky" } },
        {
          type: "web_search_tool_result",
          tool_use_id: "srvtoolu_1",
          content: [
            {
              type: "web_search_result",
              url: "https://example.com",
              title: "Sky",
              encrypted_content: "ZW5j",
              page_age: null,
            },
          ],
        },
        {
          type: "text",
          text: "Clear.",
          citations: [
            {
              type: "web_search_result_location",
              url: "https://example.com",
              title: "Sky",
              encrypted_index: "ZW5j",
              cited_text: "clear",
            },
          ],
        },
      ]),
      user("Thanks."),
    ],
    "a finished code execution": ({ says }) => [
      user(HI),
      says([
        {
          type: "server_tool_use",
          id: "srvtoolu_1",
          name: "bash_code_execution",
          input: { command: "date" },
        },
        {
          type: "bash_code_execution_tool_result",
          tool_use_id: "srvtoolu_1",
          content: {
            type: "bash_code_execution_result",
            stdout: "now",
            stderr: "",
            return_code: 0,
            content: [],
          },
        },
        { type: "text", text: "Now." },
      ]),
      user("Thanks."),
    ],
    "a web search that its provider still runs": ({ calls, result, id }) => [
      user(HI),
      calls(
        [
          { type: "server_tool_use", id: "srvtoolu_1", name: "web_search", input: { query: "sky" } },
          { type: "tool_use", id: id(1), name: "look", input: { city: "Rome" } },
        ],
        [1],
      ),
      result(1),
    ],
    "cache marks": ({ says, calls, result, id }) => [
      user([{ type: "text", text: "A long text.", cache_control: { type: "ephemeral" } }]),
      says([{ type: "text", text: "Hi.", cache_control: { type: "ephemeral" } }]),
      user(HI),
      calls([{ type: "tool_use", id: id(1), name: "look", input: { city: "Rome" } }], [1]),
      result(1, [{ type: "text", text: "clear", cache_control: { type: "ephemeral" } }]),
    ],
    "a mark of one hour": () => [
      user([{ type: "text", text: HI, cache_control: { type: "ephemeral", ttl: "1h" } }]),
    ],
    "a document with citations": () => [
      user([
        {
          type: "document",
          source: { type: "text", media_type: "text/plain", data: "The sky is clear." },
          title: "Sky",
          citations: { enabled: true },
        },
        { type: "text", text: HI },
      ]),
    ],
    "search results in a result": ({ calls, result }) => [
      user(HI),
      calls("", [1]),
      result(1, [
        {
          type: "search_result",
          source: "https://example.com",
          title: "Sky",
          content: [{ type: "text", text: "clear" }],
          citations: { enabled: true },
        },
      ]),
    ],
    "a picture in Anthropic's form": () => [
      user([
        { type: "image", source: { type: "base64", media_type: "image/png", data: PICTURE } },
        { type: "text", text: "What is this?" },
      ]),
    ],
    "a picture by address in Anthropic's form": () => [
      user([
        { type: "image", source: { type: "url", url: "https://example.com/a.png" } },
        { type: "text", text: "What is this?" },
      ]),
    ],
    "a reference to a tool in a result": ({ calls, result }) => [
      user(HI),
      calls("", [1]),
      result(1, [{ type: "tool_reference", tool_name: "look" }]),
    ],
  },
  google: {
    "a signed call": ({ says, calls, result, id }) => [
      user(HI),
      calls(
        [
          {
            type: "functionCall",
            functionCall: { name: "look", args: { city: "Rome" }, id: id(1) },
            thoughtSignature: "c2ln",
          },
        ],
        [1],
      ),
      result(1),
      says("Clear.", {
        additional_kwargs: {
          originalTextContentBlock: { type: "text", text: "Clear.", thoughtSignature: "ZW5k" },
        },
      }),
      user("Thanks."),
    ],
    "a thought": ({ says }) => [
      user("Hello."),
      says([
        { type: "reasoning", reasoning: "They greet." },
        { type: "text", text: "Hi." },
      ]),
      user(HI),
    ],
    "code that Google ran": ({ says }) => [
      user("2 + 2?"),
      says([
        { type: "executableCode", executableCode: { language: "PYTHON", code: "print(2 + 2)" } },
        { type: "codeExecutionResult", codeExecutionResult: { outcome: "OUTCOME_OK", output: "4" } },
        { type: "text", text: "4" },
      ]),
      user("Thanks."),
    ],
    "a picture that the model has made": ({ says }) => [
      user("Draw the sky."),
      says([
        { type: "text", text: "Here it is." },
        {
          type: "inlineData",
          inlineData: { mimeType: "image/png", data: PICTURE },
          thoughtSignature: "c2ln",
        },
      ]),
      user("Now at night."),
    ],
    "a picture in Google's form": () => [
      user([
        { type: "media", mimeType: "image/png", data: PICTURE },
        { type: "text", text: "What is this?" },
      ]),
    ],
    "a file in Google's storage": () => [
      user([
        { type: "media", mimeType: "application/pdf", fileUri: "gs://house/a.pdf" },
        { type: "text", text: "What is this?" },
      ]),
    ],
  },
  "google-genai": {
    "a signed call": ({ calls, result, id }) => [
      user(HI),
      calls("", [1], {
        additional_kwargs: { __gemini_function_call_thought_signatures__: { [id(1)]: "c2ln" } },
      }),
      result(1),
    ],
    "a thought": ({ says }) => [
      user("Hello."),
      says([
        { type: "thinking", thinking: "They greet.", signature: "c2ln" },
        { type: "text", text: "Hi." },
      ]),
      user(HI),
    ],
    "code that Google ran": ({ says }) => [
      user("2 + 2?"),
      says([
        { type: "executableCode", executableCode: { language: "PYTHON", code: "print(2 + 2)" } },
        { type: "codeExecutionResult", codeExecutionResult: { outcome: "OUTCOME_OK", output: "4" } },
        { type: "text", text: "4" },
      ]),
      user("Thanks."),
    ],
    "a picture in Google's form": () => [
      user([
        { type: "media", mimeType: "image/png", data: PICTURE },
        { type: "text", text: "What is this?" },
      ]),
    ],
    "a file in Google's storage": () => [
      user([
        { type: "media", mimeType: "application/pdf", fileUri: "https://example.com/v1beta/files/a" },
        { type: "text", text: "What is this?" },
      ]),
    ],
  },
  bedrock: {
    "signed reasoning": ({ calls, result }) => [
      user(HI),
      calls(
        [
          { type: "reasoning_content", reasoningText: { text: "I should look.", signature: "c2ln" } },
          { type: "text", text: "I look." },
        ],
        [1],
      ),
      result(1),
    ],
    "redacted reasoning": ({ says }) => [
      user("Hello."),
      says([
        { type: "reasoning_content", redactedContent: "ZW5jcnlwdGVk" },
        { type: "text", text: "Hi." },
      ]),
      user(HI),
    ],
    "cache points": ({ says, calls, result }) => [
      user([{ type: "text", text: "A long text." }, { cachePoint: { type: "default" } }]),
      says("Hi."),
      user(HI),
      calls("I look.", [1]),
      result(1, [{ type: "text", text: "clear" }, { cachePoint: { type: "default" } }]),
    ],
    "a picture in Bedrock's form": () => [
      user([
        { type: "text", text: "What is this?" },
        { type: "image", image: { format: "png", source: { bytes: new Uint8Array([1, 2, 3]) } } },
      ]),
    ],
    "JSON in a result": ({ calls, result }) => [
      user(HI),
      calls("", [1]),
      result(1, [{ sky: "clear", degrees: 18 }]),
    ],
  },
  ollama: {
    "reasoning in `reasoning_content`": ({ calls, result }) => [
      user(HI),
      calls("", [1], { additional_kwargs: { reasoning_content: "I should look." } }),
      result(1),
    ],
  },
  mistral: {
    "a thinking block": ({ says }) => [
      user("Hello."),
      says([
        { type: "thinking", thinking: [{ type: "text", text: "They greet." }] },
        { type: "text", text: "Hi." },
      ]),
      user(HI),
    ],
    "a document by address": () => [
      user([
        { type: "text", text: "What is this?" },
        { type: "document_url", document_url: "https://example.com/a.pdf" },
      ]),
    ],
    "a reference block": ({ says }) => [
      user("Hello."),
      says([
        { type: "text", text: "The sky is blue." },
        { type: "reference", reference_ids: [1] },
      ]),
      user(HI),
    ],
  },
  other: {},
};

/** Histories that a provider accepts although its strict check does not know them, with the source. */
const ACCEPTED: Readonly<Record<string, string>> = {
  "a web search that its provider still runs": "anthropics/anthropic-sdk-typescript/issues/1090",
  "a reference to a tool in a result": "platform.claude.com: tool search, custom tool search implementation",
  "a custom tool": "platform.openai.com: function calling, custom tools",
};

/** A history, as it is made for any maker. */
type Making = (maker: Maker) => readonly BaseMessage[];

const MAKING = new WeakMap<History, Making>();

/** Every history of a client. */
export function historiesOf(client: Client): readonly History[] {
  const { "a plain turn": plain, "system messages in mid-thread": mixed } = COMMON;
  const prompted = { systemPrompt: "You help people who look at the sky." };
  const rows: readonly (readonly [title: string, make: Make | undefined, more: Partial<History>])[] = [
    ["a system prompt", plain, prompted],
    ["the prompt cache of the graph", plain, { ...prompted, promptCache: "auto" }],
    ["a system prompt beside stored ones", mixed, prompted],
    ...Object.entries({ ...COMMON, ...OWN[client.family] }).map(
      ([title, make]) => [title, make, {}] as const,
    ),
  ];
  return rows.map(([title, make, more]) => {
    const making: Making = (maker) => make?.(piecesOf(maker)) ?? [];
    const accepted = ACCEPTED[title];
    const history: History = {
      title,
      ...(accepted !== undefined && { accepted }),
      ...more,
      messages: () => [...making(client)],
    };
    MAKING.set(history, making);
    return history;
  });
}

/** One thread of several histories. Each has call ids of its own, and a response stands between them. */
export function chained(client: Client, histories: readonly History[]): History {
  const { says } = piecesOf(client);
  const messages = () =>
    histories.flatMap((history, index) => {
      const maker = { ...client, callId: (place: number) => client.callId(place + 200 * index) };
      const piece = MAKING.get(history)?.(maker) ?? history.messages();
      return index === 0 ? piece : [says("Go on."), ...piece];
    });
  const accepted = histories.find((history) => history.accepted !== undefined)?.accepted;
  return {
    title: histories.map(({ title }) => title).join(" + "),
    ...(accepted !== undefined && { accepted }),
    messages,
  };
}
