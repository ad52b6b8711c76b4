import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { OfflineBadRequestError, OfflineChatModel } from "../../src/offline/offline-chat-model.js";

const human = new HumanMessage("hello");
const ai = (...ids: string[]) =>
  new AIMessage({ content: "", tool_calls: ids.map((id) => ({ id, name: "look", args: {} })) });
const result = (id: string) => new ToolMessage({ content: "done", tool_call_id: id });
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

const ask = async (messages: BaseMessage[]) => new OfflineChatModel().invoke(messages);

describe("the offline model", () => {
  it.each<[title: string, messages: BaseMessage[]]>([
    ["a message without calls", [human]],
    ["a history that begins with the assistant", [new AIMessage("hi"), human]],
    ["several system messages", [new SystemMessage("a"), human, new SystemMessage("b")]],
    ["a batch with its results in call order", [human, ai("a", "b"), result("a"), result("b")]],
    ["an id that a later batch repeats", [human, ai("a"), result("a"), ai("a"), result("a")]],
    ["one id for two calls of a batch, with two results", [human, ai("a", "a"), result("a"), result("a")]],
    ["an invalid call without a result", [human, invalid, result("a")]],
  ])("accepts %s", async (_title, messages) => {
    expect((await ask(messages)).text).toMatch(/offline model|look returned/);
  });

  it.each<[title: string, messages: BaseMessage[], message: string]>([
    ["an empty list", [], "Invalid 'messages': empty array. Expected an array with minimum length 1"],
    ["a call without a result at the end", [human, ai("a")], missing("a")],
    ["all missing results by their ids", [human, ai("a", "b", "c"), result("b")], missing("a, c")],
    ["a result missing before a new message", [human, ai("a", "b"), result("a"), human], missing("b")],
    ["a message between call and result", [ai("a"), human, result("a")], missing("a")],
    ["two batches before their results", [ai("a"), ai("b"), result("a"), result("b")], missing("a")],
    ["one result for two calls of one id", [ai("a", "a"), result("a")], missing("a")],
    ["a result of an invalid call", [human, invalid, result("a"), result("b")], orphan],
    ["an orphan result at the start", [result("a"), human], orphan],
    ["an orphan result after text", [human, new AIMessage("hi"), result("a")], orphan],
    ["an orphan result within a batch", [human, ai("a"), result("a"), result("b")], orphan],
    [
      "a result that comes after its batch has ended",
      [human, ai("a"), result("a"), human, result("a")],
      orphan,
    ],
    [
      "a second result for one call",
      [human, ai("a"), result("a"), result("a")],
      "Invalid parameter: Duplicate value for 'tool_call_id' of 'a', in messages[2] and messages[3].",
    ],
    [
      "results out of call order",
      [human, ai("a", "b"), result("b"), result("a")],
      "The results must be in the order of their calls.",
    ],
    ["a result without an id", [human, ai("a"), result("")], missing("a")],
    ["a call without an id", [human, ai("")], missing("")],
  ])("refuses %s", async (_title, messages, message) => {
    const refusal = { message, status: 400, code: "invalid_request_error" };
    await expect(ask(messages)).rejects.toMatchObject(refusal);
    await expect(ask(messages)).rejects.toThrow(OfflineBadRequestError);
  });
});
