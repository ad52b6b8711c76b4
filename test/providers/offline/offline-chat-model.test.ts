import {
  AIMessage,
  type AIMessageChunk,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { tool } from "@langchain/core/tools";
import { concat } from "@langchain/core/utils/stream";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { QUESTIONS } from "../../../server/offline/questions.js";
import {
  OfflineBadRequestError,
  type OfflineCallOptions,
} from "../../../src/providers/offline/offline-chat-model.js";
import { allOf } from "../../support/async.js";
import { OfflineChatModel } from "../../support/internals.js";

const NAMES = ["calculator", "weather", "save_note", "search_notes", "look"];
const tools = NAMES.map((name) => tool(() => "", { name, description: name, schema: z.object({}) }));
const PARALLEL = "What is 12*(3+4), search my notes for tea, and what's the weather in Paris?";

const bindOffline = (options: Partial<OfflineCallOptions> = {}) =>
  new OfflineChatModel({ language: QUESTIONS }).bindTools(tools, options);
const ask = (...messages: BaseMessage[]) => bindOffline().invoke(messages);
const collect = (...messages: BaseMessage[]) => allOf<AIMessageChunk>(bindOffline().stream(messages));
const joined = (chunks: AIMessageChunk[]) => chunks.reduce((left, right) => concat(left, right));
const namesOf = (message: AIMessage) => (message.tool_calls ?? []).map(({ name }) => name);

const human = (content = "hello") => new HumanMessage(content);
const ai = (...ids: string[]) =>
  new AIMessage({ content: "", tool_calls: ids.map((id) => ({ id, name: "look", args: {} })) });
const result = (tool_call_id: string, content = "done", status?: "error") =>
  new ToolMessage({ content, tool_call_id, ...(status && { status }) });

/** A result for each of the calls. */
const answer = (message: AIMessage, contents: string[], status?: "error") =>
  (message.tool_calls ?? []).map(({ id = "" }, index) => result(id, contents[index], status));

/** The messages of a request whose batches of calls get these results, with the last response. */
async function play(
  request: string,
  ...batches: [contents: string[], status?: "error"][]
): Promise<BaseMessage[]> {
  const messages: BaseMessage[] = [human(request)];
  for (const [contents, status] of batches) {
    const message = await ask(...messages);
    messages.push(message, ...answer(message, contents, status));
  }
  return [...messages, await ask(...messages)];
}

describe("OfflineChatModel", () => {
  it("says what it is, what it can call, and how to configure a real model", async () => {
    const { text, tool_calls } = await bindOffline().invoke("Hello!");
    expect(tool_calls).toEqual([]);
    expect(text).toContain("offline model");
    expect(text).toContain("not a language model");
    expect(text).toContain(NAMES.join(", "));
    expect(text).toContain("MODEL=openai:gpt-4o-mini");
    expect(text).toContain("OPENAI_API_KEY");
  });

  it("calls several tools in parallel in one message", async () => {
    const message = await bindOffline().invoke(PARALLEL);
    expect(message.tool_calls).toMatchObject([
      { name: "calculator", args: { input: "12*(3+4)" } },
      { name: "search_notes", args: { query: "tea" } },
      { name: "weather", args: { city: "Paris" } },
    ]);
    expect(message.response_metadata).toMatchObject({ finish_reason: "tool_calls" });
  });

  it("states each result, and says which call failed", async () => {
    const request = 'call look and call look {"at": 2}, then calculate 6*7';
    const messages = await play(request, [["a tree", ""]], [["no such expression"], "error"]);
    expect(messages.at(-1)?.text).toBe(
      [
        "Here is what the tools returned:",
        "- look returned: a tree",
        "- look returned: (no output)",
        "- calculator failed: no such expression",
      ].join("\n"),
    );
  });

  it("states a single result in one sentence", async () => {
    const messages = await play("calculate 6*7", [["42"]]);
    expect(messages.at(-1)).toMatchObject({ text: "6*7 = 42", response_metadata: { finish_reason: "stop" } });
  });

  it("makes the steps of a request one after the other", async () => {
    const request = "calculate 6*7 then save a note: the answer is 42 then call look then call look";
    const messages = await play(request, [["42"]], [["42"]], [["42"]], [["42"]]);
    const rounds = messages.filter(AIMessage.isInstance).map(namesOf);
    expect(rounds).toEqual([["calculator"], ["save_note"], ["look"], ["look"], []]);
  });

  it("states the results of earlier turns when asked what the tools returned", async () => {
    const question = human("What did the tools return?");
    expect((await ask(question)).text).toContain("offline model");
    const history = [...(await play("calculate 6*7", [["42"]])), question];
    const { text, tool_calls } = await bindOffline().invoke(history);
    expect({ text, tool_calls }).toEqual({ text: "6*7 = 42", tool_calls: [] });
  });

  it("finds its step when a summary has replaced the first ones", async () => {
    const request = human("calculate 1+1 then calculate 2+2 then calculate 3+3");
    const summary = new HumanMessage({
      content: "Calculated 1+1.",
      additional_kwargs: { lc_source: "summarization" },
    });
    const call = new AIMessage({
      content: "",
      tool_calls: [{ id: "call_1", name: "calculator", args: { input: "2+2" } }],
    });
    const { tool_calls } = await ask(request, summary, call, ...answer(call, ["4"]));
    expect(tool_calls).toMatchObject([{ args: { input: "3+3" } }]);
  });

  it("responds only to the last request", async () => {
    const messages = [human("calculate 6*7"), new AIMessage("No."), human("thanks")];
    expect(namesOf(await ask(...messages))).toEqual([]);
  });

  it.each<{ choice: OfflineCallOptions["tool_choice"]; text: string; names: string[] }>([
    { choice: "auto", text: PARALLEL, names: ["calculator", "search_notes", "weather"] },
    { choice: "none", text: PARALLEL, names: [] },
    { choice: "required", text: "hello", names: ["calculator"] },
    { choice: "any", text: "call look", names: ["look"] },
    { choice: "weather", text: PARALLEL, names: ["weather"] },
    { choice: "weather", text: "hello", names: ["weather"] },
    { choice: { type: "function", function: { name: "look" } }, text: PARALLEL, names: ["look"] },
    { choice: { type: "tool", name: "weather" }, text: PARALLEL, names: ["weather"] },
    { choice: { type: "any" }, text: "hello", names: ["calculator"] },
  ])("heeds the tool choice $choice for: $text", async ({ choice = "auto", text, names }) => {
    expect(namesOf(await bindOffline({ tool_choice: choice }).invoke(text))).toEqual(names);
  });

  it.each<[title: string, model: ReturnType<typeof bindOffline>]>([
    ["a tool that is not bound", bindOffline({ tool_choice: "missing" })],
    ["a required call without tools", new OfflineChatModel().bindTools([], { tool_choice: "any" })],
    ["a value that is not a choice", bindOffline({ tool_choice: {} })],
  ])("refuses as tool choice %s", async (_title, model) => {
    await expect(model.invoke("hello")).rejects.toMatchObject({ status: 400, param: "tool_choice" });
  });

  it("knows tools in the formats of OpenAI and Anthropic", async () => {
    const model = new OfflineChatModel().bindTools([
      { type: "function", function: { name: "open", parameters: {} } },
      { name: "close", input_schema: { type: "object" } },
    ]);
    expect(namesOf(await model.invoke("call open and call close"))).toEqual(["open", "close"]);
  });

  it("refuses a bad history, invoked and streamed", async () => {
    const bad = [human("hi"), new ToolMessage({ content: "42", tool_call_id: "a" })];
    const refusal = { name: "OfflineBadRequestError", status: 400, code: "invalid_request_error" };
    await expect(ask(...bad)).rejects.toMatchObject(refusal);
    await expect(collect(...bad)).rejects.toMatchObject(refusal);
    await expect(ask()).rejects.toMatchObject(refusal);
  });

  it("gives the same response to the same messages, and different ids at another place", async () => {
    const request = human(PARALLEL);
    const first = await ask(request);
    const again = await ask(request);
    expect(again.tool_calls).toEqual(first.tool_calls);

    const history = [request, first, ...answer(first, ["84", "noon", "rain"])];
    const second = await ask(...history, request);
    const ids = [first, second].flatMap((message) => message.tool_calls?.map((call) => call.id) ?? []);
    expect(new Set(ids).size).toBe(6);
    for (const id of ids) expect(id).toMatch(/^call_[A-Za-z0-9_-]{1,35}$/);
  });

  it("gives different ids to a request that differs from an earlier one only by its message id", async () => {
    const [first, second] = await Promise.all(
      ["1", "2"].map((id) => ask(new HumanMessage({ id, content: "call look" }))),
    );
    expect(first?.tool_calls?.[0]?.id).not.toBe(second?.tool_calls?.[0]?.id);
  });

  it("summarises by the first and the last lines on request, without tools", async () => {
    const lines = Array.from({ length: 10 }, (_, index) => `user: line ${index}`);
    const { text } = await new OfflineChatModel().invoke([
      new SystemMessage("Summarize the conversation."),
      human(`<messages>\n${lines.join("\n")}\n</messages>`),
    ]);
    expect(text.split("\n")).toEqual([
      "Summary of the conversation so far:",
      ...lines.slice(0, 3),
      "…",
      ...lines.slice(-3),
    ]);
  });

  it("also summarises the messages before the prompt", async () => {
    const { text } = await new OfflineChatModel().invoke([
      human("I like tea"),
      new AIMessage("Noted."),
      human("Write a short summary of the above."),
    ]);
    expect(text).toContain("I like tea\nNoted.");
  });
});

describe("OfflineChatModel, streaming", () => {
  it.each([["Hello!"], [PARALLEL], ['call look {"emoji": "🍵🍵🍵🍵🍵🍵🍵🍵🍵", "n": [1, 2]}']])(
    "gives the same response as without streaming: %s",
    async (text) => {
      const whole = await ask(human(text));
      const streamed = joined(await collect(human(text)));
      expect(streamed.content).toBe(whole.content);
      expect(streamed.tool_calls).toEqual(whole.tool_calls);
      expect(streamed.invalid_tool_calls).toEqual([]);
      expect(streamed.response_metadata).toMatchObject(whole.response_metadata);
      expect(streamed.usage_metadata).toMatchObject(whole.usage_metadata ?? {});
    },
  );

  it("streams text word by word", async () => {
    const chunks = await collect(human("Hello!"));
    expect(chunks.slice(0, 3).map((chunk) => chunk.content)).toEqual(["I ", "am ", "the "]);
  });

  it("streams the arguments of each call in several pieces under its index", async () => {
    const pieces = (await collect(human(PARALLEL))).flatMap((chunk) => chunk.tool_call_chunks ?? []);
    const first = pieces.filter((piece) => piece.index === 0);
    expect(first[0]).toMatchObject({ name: "calculator", args: "" });
    expect(first.slice(1).map((piece) => piece.args)).toEqual(['{"input"', ':"12*(3+', '4)"}']);
    expect(new Set(pieces.map((piece) => piece.index))).toEqual(new Set([0, 1, 2]));
  });

  it("streams a long call in a bounded number of pieces, because each takes time on its way", async () => {
    const text = "🍵 ".repeat(50_000);
    const chunks = await collect(human(`call look {"text": "${text}"}`));
    expect(chunks.length).toBeLessThan(110);
    expect(joined(chunks).tool_calls).toMatchObject([{ name: "look", args: { text } }]);
  });

  it("ends with one chunk that holds the finish reason and the usage", async () => {
    const chunks = await collect(human(PARALLEL));
    const withReason = chunks.filter((chunk) => "finish_reason" in chunk.response_metadata);
    expect(withReason).toEqual(chunks.slice(-1));
    expect(withReason).toMatchObject([
      { usage_metadata: { input_tokens: 19, output_tokens: 62, total_tokens: 81 } },
    ]);
  });

  it("reports each token to the callbacks, even when invoked without streaming", async () => {
    const tokens: string[] = [];
    const handler = {
      lc_prefer_streaming: true,
      handleLLMNewToken: (token: string) => {
        tokens.push(token);
      },
    };
    const message = await bindOffline().invoke("Hello!", { callbacks: [handler] });
    expect(tokens.join("")).toBe(message.content);
    expect(tokens.length).toBeGreaterThan(10);
  });

  it("stops between two chunks when it is aborted", async () => {
    const controller = new AbortController();
    let count = 0;
    const consume = async () => {
      for await (const _ of await new OfflineChatModel().stream("Hello!", { signal: controller.signal })) {
        count += 1;
        controller.abort();
      }
    };
    await expect(consume()).rejects.toThrow(/abort/i);
    expect(count).toBe(1);
  });

  it("gives no response if it was aborted before", async () => {
    await expect(bindOffline().invoke("Hello!", { signal: AbortSignal.abort() })).rejects.toThrow(/abort/i);
  });
});

const invalid = new AIMessage({
  content: "",
  tool_calls: [{ id: "a", name: "look", args: {} }],
  invalid_tool_calls: [{ id: "b", name: "look", args: '{"cut' }],
});

const missing = (ids: string) =>
  "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
  `The following tool_call_ids did not have response messages: ${ids}`;
const orphan =
  "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";

describe("the offline model", () => {
  it.each<[title: string, messages: BaseMessage[]]>([
    ["a message without calls", [human()]],
    ["a history that begins with the assistant", [new AIMessage("hi"), human()]],
    ["several system messages", [new SystemMessage("a"), human(), new SystemMessage("b")]],
    ["a batch with its results in call order", [human(), ai("a", "b"), result("a"), result("b")]],
    ["an id that a later batch repeats", [human(), ai("a"), result("a"), ai("a"), result("a")]],
    ["one id for two calls of a batch, with two results", [human(), ai("a", "a"), result("a"), result("a")]],
    ["an invalid call without a result", [human(), invalid, result("a")]],
  ])("accepts %s", async (_title, messages) => {
    expect((await ask(...messages)).text).toMatch(/offline model|look returned/);
  });

  it.each<[title: string, messages: BaseMessage[], message: string]>([
    ["an empty list", [], "Invalid 'messages': empty array. Expected an array with minimum length 1"],
    ["a call without a result at the end", [human(), ai("a")], missing("a")],
    ["all missing results by their ids", [human(), ai("a", "b", "c"), result("b")], missing("a, c")],
    ["a result missing before a new message", [human(), ai("a", "b"), result("a"), human()], missing("b")],
    ["a message between call and result", [ai("a"), human(), result("a")], missing("a")],
    ["two batches before their results", [ai("a"), ai("b"), result("a"), result("b")], missing("a")],
    ["one result for two calls of one id", [ai("a", "a"), result("a")], missing("a")],
    ["a result of an invalid call", [human(), invalid, result("a"), result("b")], orphan],
    ["an orphan result at the start", [result("a"), human()], orphan],
    ["an orphan result after text", [human(), new AIMessage("hi"), result("a")], orphan],
    ["an orphan result within a batch", [human(), ai("a"), result("a"), result("b")], orphan],
    [
      "a result that comes after its batch has ended",
      [human(), ai("a"), result("a"), human(), result("a")],
      orphan,
    ],
    [
      "a second result for one call",
      [human(), ai("a"), result("a"), result("a")],
      "Invalid parameter: Duplicate value for 'tool_call_id' of 'a', in messages[2] and messages[3].",
    ],
    [
      "results out of call order",
      [human(), ai("a", "b"), result("b"), result("a")],
      "The results must be in the order of their calls.",
    ],
    ["a result without an id", [human(), ai("a"), result("")], missing("a")],
    ["a call without an id", [human(), ai("")], missing("")],
  ])("refuses %s", async (_title, messages, message) => {
    const refusal = { message, status: 400, code: "invalid_request_error" };
    await expect(ask(...messages)).rejects.toMatchObject(refusal);
    await expect(ask(...messages)).rejects.toThrow(OfflineBadRequestError);
  });
});
