import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { type OfflineCallOptions, OfflineChatModel } from "../../src/offline/offline-chat-model.js";
import { answer, bindOffline, callNames, collect, NAMES, PARALLEL } from "../support/offline-model.js";

/** The messages of a request whose batches of calls get these results, with the last response. */
async function play(
  request: string,
  ...batches: [contents: string[], status?: "error"][]
): Promise<BaseMessage[]> {
  const messages: BaseMessage[] = [new HumanMessage(request)];
  for (const [contents, status] of batches) {
    const message = await bindOffline().invoke(messages);
    messages.push(message, ...answer(message, contents, status));
  }
  return [...messages, await bindOffline().invoke(messages)];
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
      { name: "current_time", args: { timezone: "Asia/Tokyo" } },
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
    const rounds = messages.filter(AIMessage.isInstance).map(callNames);
    expect(rounds).toEqual([["calculator"], ["save_note"], ["look"], ["look"], []]);
  });

  it("states the results of earlier turns when asked what the tools returned", async () => {
    const question = new HumanMessage("What did the tools return?");
    expect((await bindOffline().invoke([question])).text).toContain("offline model");
    const history = [...(await play("calculate 6*7", [["42"]])), question];
    const { text, tool_calls } = await bindOffline().invoke(history);
    expect({ text, tool_calls }).toEqual({ text: "6*7 = 42", tool_calls: [] });
  });

  it("finds its step when a summary has replaced the first ones", async () => {
    const request = new HumanMessage("calculate 1+1 then calculate 2+2 then calculate 3+3");
    const summary = new HumanMessage({
      content: "Calculated 1+1.",
      additional_kwargs: { lc_source: "summarization" },
    });
    const call = new AIMessage({
      content: "",
      tool_calls: [{ id: "call_1", name: "calculator", args: { input: "2+2" } }],
    });
    const { tool_calls } = await bindOffline().invoke([request, summary, call, ...answer(call, ["4"])]);
    expect(tool_calls).toMatchObject([{ args: { input: "3+3" } }]);
  });

  it("responds only to the last request", async () => {
    const messages = [new HumanMessage("calculate 6*7"), new AIMessage("No."), new HumanMessage("thanks")];
    expect(callNames(await bindOffline().invoke(messages))).toEqual([]);
  });

  it.each<{ choice: OfflineCallOptions["tool_choice"]; text: string; names: string[] }>([
    { choice: "auto", text: PARALLEL, names: ["calculator", "current_time", "weather"] },
    { choice: "none", text: PARALLEL, names: [] },
    { choice: "required", text: "hello", names: ["calculator"] },
    { choice: "any", text: "call look", names: ["look"] },
    { choice: "weather", text: PARALLEL, names: ["weather"] },
    { choice: "weather", text: "hello", names: ["weather"] },
    { choice: { type: "function", function: { name: "look" } }, text: PARALLEL, names: ["look"] },
    { choice: { type: "tool", name: "weather" }, text: PARALLEL, names: ["weather"] },
    { choice: { type: "any" }, text: "hello", names: ["calculator"] },
  ])("heeds the tool choice $choice for: $text", async ({ choice = "auto", text, names }) => {
    expect(callNames(await bindOffline({ tool_choice: choice }).invoke(text))).toEqual(names);
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
    expect(callNames(await model.invoke("call open and call close"))).toEqual(["open", "close"]);
  });

  it("refuses a bad history, invoked and streamed", async () => {
    const bad = [new HumanMessage("hi"), new ToolMessage({ content: "42", tool_call_id: "a" })];
    const refusal = { name: "OfflineBadRequestError", status: 400, code: "invalid_request_error" };
    await expect(bindOffline().invoke(bad)).rejects.toMatchObject(refusal);
    await expect(collect(bad)).rejects.toMatchObject(refusal);
    await expect(bindOffline().invoke([])).rejects.toMatchObject(refusal);
  });

  it("gives the same response to the same messages, and different ids at another place", async () => {
    const request = new HumanMessage(PARALLEL);
    const first = await bindOffline().invoke([request]);
    const again = await bindOffline().invoke([request]);
    expect(again.tool_calls).toEqual(first.tool_calls);

    const history = [request, first, ...answer(first, ["84", "noon", "rain"])];
    const second = await bindOffline().invoke([...history, request]);
    const ids = [first, second].flatMap((message) => message.tool_calls?.map((call) => call.id) ?? []);
    expect(new Set(ids).size).toBe(6);
    for (const id of ids) expect(id).toMatch(/^call_[A-Za-z0-9_-]{1,35}$/);
  });

  it("gives different ids to a request that differs from an earlier one only by its message id", async () => {
    const [first, second] = await Promise.all(
      ["1", "2"].map((id) => bindOffline().invoke([new HumanMessage({ id, content: "call look" })])),
    );
    expect(first?.tool_calls?.[0]?.id).not.toBe(second?.tool_calls?.[0]?.id);
  });

  it("summarises by the first and the last lines on request, without tools", async () => {
    const lines = Array.from({ length: 10 }, (_, index) => `user: line ${index}`);
    const { text } = await new OfflineChatModel().invoke([
      new SystemMessage("Summarize the conversation."),
      new HumanMessage(`<messages>\n${lines.join("\n")}\n</messages>`),
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
      new HumanMessage("I like tea"),
      new AIMessage("Noted."),
      new HumanMessage("Write a short summary of the above."),
    ]);
    expect(text).toContain("I like tea\nNoted.");
  });
});
