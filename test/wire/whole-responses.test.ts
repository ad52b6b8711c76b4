/** Which responses are whole, which are asked for again, and which another request would not repair. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { AIMessage, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { ChatGoogle } from "@langchain/google/node";
import { MemorySaver } from "@langchain/langgraph";
import type { ChatOpenAIFields } from "@langchain/openai";
import { createAgent } from "langchain";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { createAgentGraph, pairedMessagesReducer, repairHistory } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { anthropicAt, geminiAt, openAIAt } from "../support/clients.js";
import { startModelServer } from "../support/model-server.js";
import { openAgentThread, openThread } from "../support/open-thread.js";
import type { RequestCheck } from "../support/strict-provider/refusal.js";
import { type Answer, anthropic, gemini, openAI, serve } from "../support/strict-provider/serve-responses.js";
import { expectWarnings, OLD_PACKAGES } from "../support/test-tools.js";
import { inThread, user } from "../support/thread.js";

// Of a call that the client alone cannot read.
expectWarnings(OLD_PACKAGES);

type Fields = Readonly<Record<string, unknown>>;

const looked: unknown[] = [];
const look = tool(
  (given) => {
    looked.push(given);
    return "It is clear.";
  },
  { name: "look", schema: z.object({}) },
);

/** How a thread is asked. A client reads the stream, so the model streams too, unless it is told not to. */
const AGENTS = [
  [
    "createAgentGraph",
    (model: BaseChatModel, options: object = {}) => {
      const checkpointer = new MemorySaver();
      const graph = createAgentGraph({ model, tools: [look], checkpointer, ...options });
      const thread = openThread(graph);
      return { ...thread, values: async () => (await graph.getState(inThread("1"))).values };
    },
  ],
  [
    "tetherMiddleware",
    (model: BaseChatModel, options: object = {}) => {
      const middleware = [tetherMiddleware(options)];
      const agent = createAgent({ model, tools: [look], checkpointer: new MemorySaver(), middleware });
      const thread = openAgentThread(agent as never);
      return { ...thread, send: (text: string) => thread.run(user(text)) };
    },
  ],
] as const;

const MODES = [
  ["in a stream", {}],
  ["in one piece", { disableStreaming: true }],
] as const;

const anyRequest: RequestCheck = () => undefined;
const serveAll = (...answers: readonly Answer[]) => serve(anyRequest, answers);

const chatAt = (url: string, more: ChatOpenAIFields = {}) => openAIAt(`${url}/v1`, more);
const responsesAt = (url: string, more: ChatOpenAIFields = {}) =>
  chatAt(url, { useResponsesApi: true, ...more });
const googleAt = (url: string, more: object = {}) =>
  new ChatGoogle({ model: "gemini-2.5-flash", apiKey: "x", maxRetries: 0, endpoint: url, ...more } as never);

const USAGE = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };

interface ChatForm {
  /** @default "stop" */
  readonly finish?: string | null;
  /** Where the stream has its usage. @default "end" */
  readonly usage?: "end" | "always" | "first" | "last piece" | "never";
}

/** A message of Chat Completions, as its body has it. In a stream it comes in these pieces. */
function chat(message: Fields, form: ChatForm = {}, pieces: readonly Fields[] = [message]): Answer {
  const { finish = "stop", usage = "end" } = form;
  const head = { id: `chatcmpl-${Math.random()}`, created: 1, model: "gpt-5" };
  const event = (choices: readonly object[], more: object = {}) => ({
    ...head,
    object: "chat.completion.chunk",
    choices,
    ...more,
  });
  const deltas = [{ role: "assistant", content: null }, ...pieces];
  return {
    body: {
      ...head,
      object: "chat.completion",
      choices: [
        { index: 0, message: { role: "assistant", content: null, ...message }, finish_reason: finish },
      ],
      usage: USAGE,
    },
    events: [
      ...deltas.map((delta, index) =>
        event(
          [{ index: 0, delta, finish_reason: null }],
          usage === "always" ||
            (usage === "first" && index === 0) ||
            (usage === "last piece" && index === deltas.length - 1)
            ? { usage: USAGE }
            : {},
        ),
      ),
      ...(finish === null ? [] : [event([{ index: 0, delta: {}, finish_reason: finish }])]),
      ...(usage === "end" ? [event([], { usage: USAGE })] : []),
    ],
  };
}

const hello = chat({ content: "Hello." });

const noted = gemini([{ text: "" }], {
  finishMessage: "Done.",
  safetyRatings: [{ category: "HARM_CATEGORY_HARASSMENT", probability: "LOW" }],
});

/** A response of the Responses API with this status. */
function withStatus(status: string, output: readonly Fields[] = [], more: object = {}): Answer {
  const { body, events } = openAI(...output);
  const changed = { ...body, ...more, status };
  return {
    body: changed,
    events: [...events.slice(0, -1), { type: `response.${status}`, response: changed }],
  };
}

const textItem = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  status: "completed",
  content: [{ type: "output_text", text: "Oslo is large.", annotations: [] }],
};

const ITEMS: readonly Fields[] = [
  { id: "mcpr_1", type: "mcp_approval_request", server_label: "files", name: "read", arguments: "{}" },
  { id: "tsc_1", type: "tool_search_call", call_id: "call_1", status: "completed", arguments: {} },
  { id: "new_1", type: "item_of_next_year", state: 7 },
  ...["apply_patch_call", "local_shell_call", "shell_call"].map((type) => ({
    id: "item_1",
    type,
    call_id: "call_1",
    status: "completed",
    action: { commands: ["ls"] },
  })),
];

describe.each(AGENTS)("%s", (_, open) => {
  describe.each(MODES)("%s", (_mode, more) => {
    it.each(ITEMS.map((item) => [item["type"], item] as const))(
      "a response with nothing but `%s` is asked for once, and stored as it came",
      async (_type, item) => {
        const { url, requests } = await serveAll(openAI(item));
        const thread = open(responsesAt(url, more));
        const { error, events } = await thread.send("Hello");
        expect(error).toBeUndefined();
        expect(requests).toHaveLength(1);
        expect(events.map(({ type }) => type)).not.toContain("response-broken");
        const stored = messagesIn(await thread.values()).at(-1);
        expect(stored?.response_metadata["output"]).toEqual([item]);
      },
    );

    it("a request for an approval goes back as it came", async () => {
      const [request] = ITEMS;
      const { url, requests } = await serveAll(openAI(request as Fields), openAI(textItem));
      const thread = open(responsesAt(url, more));
      await thread.send("Hello");
      const { error } = await thread.send("And?");
      expect(error).toBeUndefined();
      expect(requests).toHaveLength(2);
      expect(requests[1]?.body["input"]).toContainEqual(request);
    });

    it.each<readonly [string, Fields, string]>([
      ["speech", { audio: { id: "audio_1", data: "UklGRg==", transcript: "Hello.", expires_at: 1 } }, "stop"],
      ["a call in the old form", { function_call: { name: "look", arguments: "{}" } }, "function_call"],
    ])("%s goes back as the client alone sends it", async (_kind, message, finish) => {
      const { url, requests } = await serveAll(chat(message, { finish }), hello, hello);
      const model = chatAt(url, more);
      const thread = open(model);
      const { error } = await thread.send("Hello");
      expect(error).toBeUndefined();
      expect(requests).toHaveLength(1);
      const stored = messagesIn(await thread.values());
      expect(stored.at(-1)?.additional_kwargs).toMatchObject(message);
      await thread.send("And?");
      await model.invoke([...stored, new HumanMessage("And?")]);
      expect(requests[1]?.body["messages"]).toEqual(requests[2]?.body["messages"]);
    });

    it.each<readonly [string, Answer, (url: string, more: object) => BaseChatModel]>([
      ["DeepSeek's reasoning", chat({ reasoning_content: "Hm." }), chatAt],
      ["nulls", chat({ audio: null, function_call: null, tool_calls: null, refusal: null }), chatAt],
      [
        "encrypted reasoning",
        openAI({ id: "rs_1", type: "reasoning", summary: [], encrypted_content: "x" }),
        responsesAt,
      ],
      ["an item without text", openAI({ ...textItem, content: [] }), silentAt],
      [
        "Claude's thinking",
        anthropic([{ type: "thinking", thinking: "Hm.", signature: "c2ln" }]),
        anthropicAt,
      ],
      ["Claude's head", anthropic([]), anthropicAt],
      ["a thought of Gemini", gemini([{ text: "Hm.", thought: true }]), googleAt],
      ["a signature of Gemini", gemini([{ text: "", thoughtSignature: "c2ln" }]), googleAt],
      ["what Gemini notes of a response", noted, googleAt],
      ["what Gemini notes of a response, in the older client", noted, geminiWith],
    ])("%s alone is empty, and asked for again", async (_kind, answer, modelAt) => {
      const { url, requests } = await serveAll(answer, answer, answer);
      const thread = open(modelAt(url, more), { maxStreamFallbackAttempts: 2 });
      const { error } = await thread.send("Hello");
      expect(String(error)).toContain("is empty");
      expect(requests).toHaveLength(3);
    });

    it.each([
      ["null", { arguments: null }],
      ["empty", { arguments: "" }],
      ["missing", {}],
    ])("a call whose arguments are %s runs its tool", async (_kind, given) => {
      const call = { id: "call_1", type: "function", function: { name: "look", ...given } };
      const message = { tool_calls: [call] };
      const pieces = [{ tool_calls: [{ ...call, index: 0 }] }];
      const { url, requests } = await serveAll(chat(message, { finish: "tool_calls" }, pieces), hello);
      looked.splice(0);
      const thread = open(chatAt(url, more));
      const { error } = await thread.send("Look.");
      expect(error).toBeUndefined();
      expect(looked).toEqual([{}]);
      expect(requests).toHaveLength(2);
      expect(messagesIn(await thread.values()).map(({ text }) => text)).toEqual([
        "Look.",
        "",
        "It is clear.",
        "Hello.",
      ]);
    });

    it("a call of the Responses API has the arguments of its item, also if the stream has no pieces of them", async () => {
      const item = {
        id: "fc_1",
        type: "function_call",
        call_id: "call_1",
        name: "look",
        arguments: '{"at":"sky"}',
      };
      const answer = openAI(item);
      const events = answer.events?.map((event) =>
        Reflect.get(event, "type") === "response.output_item.added"
          ? { ...event, item: { ...item, arguments: "" } }
          : event,
      );
      const { url, requests } = await serveAll({ ...answer, ...(events && { events }) }, openAI(textItem));
      const thread = open(responsesAt(url, more));
      const { error } = await thread.send("Look.");
      expect(error).toBeUndefined();
      const [, response] = messagesIn(await thread.values()) as AIMessage[];
      expect(response?.tool_calls).toMatchObject([{ id: "call_1", args: { at: "sky" } }]);
      expect(requests[1]?.body["input"]).toContainEqual(
        expect.objectContaining({ arguments: '{"at":"sky"}' }),
      );
    });

    it.each<readonly [string, Answer, (url: string, more: object) => BaseChatModel, string]>([
      ...(
        ["MODEL_ARMOR", "IMAGE_PROHIBITED_CONTENT", "IMAGE_RECITATION", "NEXT_YEARS_FILTER"] as const
      ).flatMap((reason) =>
        [
          ["ChatGoogle", googleAt],
          ["ChatGoogleGenerativeAI", geminiWith],
        ].map(
          ([client, modelAt]) =>
            [
              `${client}: ${reason}`,
              stopped(reason),
              modelAt as (url: string, more: object) => BaseChatModel,
              reason,
            ] as const,
        ),
      ),
      ["a blocked prompt", blocked("MODEL_ARMOR"), googleAt, "MODEL_ARMOR"],
      ["a host's own word", chat({}, { finish: "moderated" }), chatAt, "moderated"],
      [
        "a response that is not complete",
        withStatus("incomplete", [], { incomplete_details: { reason: "moderation" } }),
        responsesAt,
        "moderation",
      ],
    ])("nothing with an unknown finish reason was withheld (%s)", async (_kind, answer, modelAt, reason) => {
      const { url, requests } = await serveAll(answer);
      const thread = open(modelAt(url, more));
      const { error, events } = await thread.send("Hello");
      expect(requests).toHaveLength(1);
      expect(String(error)).toContain(`The model's response was withheld (\`${reason}\`)`);
      expect(events[0]).toMatchObject({ type: "response-withheld", reason });
    });

    it.each<readonly [string, Answer, (url: string, more: object) => BaseChatModel]>([
      ["Chat Completions", chat({}, { finish: "length" }), chatAt],
      ["DeepSeek", chat({ reasoning_content: "Hm." }, { finish: "length" }), chatAt],
      [
        "the Responses API",
        withStatus("incomplete", [{ id: "rs_1", type: "reasoning", summary: [] }], {
          incomplete_details: { reason: "max_output_tokens" },
        }),
        responsesAt,
      ],
      [
        "Claude",
        anthropic([{ type: "thinking", thinking: "Hm.", signature: "c2ln" }], "max_tokens"),
        anthropicAt,
      ],
      ["Gemini", stopped("MAX_TOKENS"), geminiWith],
      [
        "Gemini, with its thoughts",
        gemini([{ text: "Hm.", thought: true }], { finishReason: "MAX_TOKENS" }),
        googleAt,
      ],
    ])("reasoning that takes all tokens is not paid twice (%s)", async (_kind, answer, modelAt) => {
      const { url, requests } = await serveAll(answer);
      const thread = open(modelAt(url, more));
      const { error, events } = await thread.send("Hello");
      expect(requests).toHaveLength(1);
      expect(String(error)).toMatch(/reasoning used up its token limit.*Raise the model's token limit\./);
      expect(events[0]).toMatchObject({ type: "response-broken", reason: "spent-limit" });
    });
  });

  it.each(["queued", "in_progress"])("a response that is `%s` is not asked for again", async (status) => {
    const { url, requests } = await serveAll(withStatus(status));
    const thread = open(responsesAt(url, { disableStreaming: true }));
    const { error, events } = await thread.send("Hello");
    expect(requests).toHaveLength(1);
    expect(String(error)).toContain(`in the background (\`${status}\`)`);
    expect(events[0]).toMatchObject({ type: "response-broken", reason: "pending" });
  });

  it("what Claude cites goes back as the client alone sends it", async () => {
    const cited = { type: "char_location", cited_text: "Grass is green.", document_index: 0 };
    const answer = anthropic([
      { type: "text", text: "I read: " },
      { type: "text", text: "grass is green", citations: [cited] },
      { type: "text", text: "." },
    ]);
    const { url, requests } = await serveAll(answer, answer, answer);
    const model = anthropicAt(url);
    // With tools, the client streams a text together with its citations.
    const thread = open(Object.assign(Object.create(model), { bindTools: () => model }));
    await thread.send("Hello");
    const stored = messagesIn(await thread.values());
    expect(stored.at(-1)?.content).toContainEqual(expect.objectContaining({ citations: [cited] }));
    await thread.send("And?");
    await model.invoke([...stored, new HumanMessage("And?")]);
    expect(requests).toHaveLength(3);
    expect(JSON.stringify(requests[1]?.body)).not.toContain("[text]");
    expect(requests[1]?.body["messages"]).toEqual(requests[2]?.body["messages"]);
  });
});

it("a model whose reasoning took all tokens is followed by the fallback model", async () => {
  const spent = await serveAll(chat({ reasoning_content: "Hm." }, { finish: "length" }));
  const other = await serveAll(hello);
  const [[, open]] = AGENTS;
  const thread = open(chatAt(spent.url), { fallbackModels: [chatAt(other.url)] });
  const { error, messages } = await thread.send("Hello");
  expect(error).toBeUndefined();
  expect([spent.requests.length, other.requests.length]).toEqual([1, 1]);
  expect(messages.at(-1)?.text).toBe("Hello.");
});

const callPieces = (written: string | null) => [
  {
    tool_calls: [
      { index: 0, id: "call_1", type: "function", function: { name: "look", arguments: written } },
    ],
  },
];

describe.each(AGENTS)("a stream without a finish reason, under %s,", (_, open) => {
  /** The streams are cut, or never have a reason. */
  const ask = async (answers: readonly Answer[]) => {
    const served = await serveAll(...answers);
    looked.splice(0);
    const thread = open(chatAt(served.url));
    const { error } = await thread.send("Hello");
    expect(error).toBeUndefined();
    return served.requests.map(({ body }) => body["stream"] ?? false);
  };

  it("is whole if its usage came last", async () => {
    const hi = chat({ content: "Hi." }, { finish: null });
    expect(await ask([hi])).toEqual([true]);
    for (const args of ["{}", "", null]) {
      const calls = chat({}, { finish: null }, callPieces(args));
      expect(await ask([calls, hi])).toEqual([true, true]);
      expect(looked).toEqual([{}]);
    }
  });

  it("is whole if its usage came last, also with fields that only the host knows", async () => {
    const pieces = [
      { content: "", reasoning_details: [{ type: "reasoning.text", text: "Hm." }] },
      { content: "Hi." },
    ];
    expect(await ask([chat({}, { finish: null }, pieces)])).toEqual([true]);
  });

  it("is shown once, and stored with what was shown, if the host gives it an empty id", async () => {
    const { events = [] } = chat({}, {}, [{ content: "Good " }, { content: "day." }]);
    const served = await serveAll({ body: {}, events: events.map((event) => ({ ...event, id: "" })) });
    const thread = open(chatAt(served.url));
    const { messages } = await thread.send("Hello");
    expect(messages.filter(({ type }) => type === "ai").map(({ text }) => text)).toEqual(["Good day."]);
    expect(messagesIn(await thread.values()).at(-1)?.id).toBe(messages.at(-1)?.id);
  });

  it.each(["never", "first", "always", "last piece"] as const)(
    "is asked for again if its usage came elsewhere (%s)",
    async (usage) => {
      expect(await ask([chat({ content: "Hi." }, { finish: null, usage }), hello])).toEqual([true, false]);
    },
  );

  it("is asked for again if a call is cut", async () => {
    const cut = chat({}, { finish: null }, callPieces('{"a'));
    expect(await ask([cut, hello])).toEqual([true, false]);
    expect(looked).toEqual([]);
  });

  it("is asked for again only once for a model's name at a host, whichever object asks", async () => {
    const fault = "without a finish reason";
    const server = await startModelServer(() => ({ text: "As ever.", finish: null, fault }));
    onTestFinished(() => server.stop());
    const requestsOf = async (model: string) => {
      const before = server.requests.length;
      const { error } = await open(openAIAt(server.url, { model })).send(`Hello ${before}`);
      expect(error).toBeUndefined();
      return server.requests.slice(before).map(({ stream }) => stream);
    };
    expect(await requestsOf("one")).toEqual([true, false]);
    expect(await requestsOf("one")).toEqual([true]);
    expect(await requestsOf("two")).toEqual([true, false]);
    const other = await startModelServer(() => ({ text: "Hi." }));
    onTestFinished(() => other.stop());
    await open(openAIAt(other.url, { model: "one" })).send("Hello");
    expect(await requestsOf("one")).toEqual([true]);
  });

  it("is asked for again after a single finish reason of its model", async () => {
    const whole = { text: "Hi." };
    const cut = { text: "As ever.", finish: null, fault: "without a finish reason" as const };
    const replies = [cut, cut, whole, cut, cut, cut, cut];
    const server = await startModelServer(() => replies.shift() ?? whole);
    onTestFinished(() => server.stop());
    for (let run = 0; run < 4; run += 1)
      await open(openAIAt(server.url, { model: "three" })).send(`Hello ${run}`);
    const streams = server.requests.map(({ stream }) => stream);
    expect(streams).toEqual([true, false, true, true, false, true, false]);
  });
});

function messagesIn(values: unknown): BaseMessage[] {
  return Object(values).messages;
}

/** Its stream must not have the text that its items lack. */
function silentAt(url: string, more: object): BaseChatModel {
  return responsesAt(url, { ...more, disableStreaming: true });
}

function geminiWith(url: string, more: object): BaseChatModel {
  return Object.assign(geminiAt(url), more);
}

function stopped(finishReason: string): Answer {
  const body = { candidates: [{ index: 0, finishReason }], usageMetadata: { promptTokenCount: 3 } };
  return { body, events: [body] };
}

function blocked(blockReason: string): Answer {
  const body = { promptFeedback: { blockReason }, usageMetadata: { promptTokenCount: 3 } };
  return { body, events: [body] };
}

describe("null is nothing, for", () => {
  const raw = { id: "call_1", type: "function", function: { name: "look", arguments: null } };
  const messages: readonly (readonly [string, () => unknown])[] = [
    [
      "a message that a client has of Mistral",
      () =>
        new AIMessage({
          content: "Hi",
          additional_kwargs: { tool_calls: null, function_call: null } as never,
        }),
    ],
    ["its fields", () => ({ type: "ai", content: "Hi", additional_kwargs: { tool_calls: null } })],
    ["content", () => ({ role: "assistant", content: null })],
    ["lists", () => ({ type: "ai", content: "Hi", tool_calls: null, invalid_tool_calls: null })],
    [
      "fields of an instance",
      () =>
        Object.assign(new AIMessage("Hi"), {
          tool_calls: null,
          invalid_tool_calls: null,
          additional_kwargs: null,
          response_metadata: null,
          usage_metadata: null,
          name: null,
        }),
    ],
    [
      "all fields",
      () => ({
        type: "ai",
        content: "Hi",
        additional_kwargs: null,
        response_metadata: null,
        name: null,
        id: null,
      }),
    ],
    [
      "a stored message",
      () => ({
        type: "ai",
        data: {
          content: "Hi",
          tool_calls: null,
          additional_kwargs: { tool_calls: null },
          name: null,
          id: null,
        },
      }),
    ],
    ["arguments", () => ({ role: "assistant", content: null, tool_calls: [raw] })],
    [
      "arguments of an instance",
      () =>
        new AIMessage({
          content: "",
          tool_calls: [{ id: "call_1", name: "look", args: null as never, type: "tool_call" }],
        }),
    ],
  ];

  it.each(messages)("%s", async (_, make) => {
    const before = new HumanMessage({ id: "before", content: "Hello" });
    const graph = createAgentGraph({ model: "offline:", tools: [look], checkpointer: new MemorySaver() });
    const repaired = repairHistory([before, make()] as BaseMessage[]);
    await graph.updateState(inThread("1"), { messages: [before, make()] });
    const given = [before, make(), { role: "user", content: "Hi" }];
    const lists = [
      repaired.messages,
      pairedMessagesReducer([before], [make()] as BaseMessage[]),
      (await graph.getState(inThread("1"))).values.messages,
      (await graph.invoke({ messages: given } as never, inThread("2"))).messages,
    ];
    expect(repaired.repairs.filter(({ kind }) => kind !== "call-closed")).toEqual([]);
    for (const [, message] of lists) {
      expect(message?.type).toBe("ai");
      const calls = (message as AIMessage).tool_calls?.map(({ id, name, args }) => ({ id, name, args }));
      const isCalling = repaired.messages.length > 2;
      expect(calls).toEqual(isCalling ? [{ id: "call_1", name: "look", args: {} }] : []);
      expect((message as AIMessage).invalid_tool_calls).toEqual([]);
    }
  });
});
