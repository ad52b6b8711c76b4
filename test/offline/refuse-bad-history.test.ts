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

interface GoodCase {
  title: string;
  messages: BaseMessage[];
}

interface BadCase extends GoodCase {
  message: string;
}

const missing = (ids: string) =>
  "An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. " +
  `The following tool_call_ids did not have response messages: ${ids}`;
const orphan =
  "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.";

const ask = async (messages: BaseMessage[]) => new OfflineChatModel().invoke(messages);

describe("the offline model", () => {
  it.each<GoodCase>([
    { title: "a message without calls", messages: [human] },
    { title: "a history that begins with the assistant", messages: [new AIMessage("hi"), human] },
    { title: "several system messages", messages: [new SystemMessage("a"), human, new SystemMessage("b")] },
    {
      title: "a batch with its results in call order",
      messages: [human, ai("a", "b"), result("a"), result("b")],
    },
    {
      title: "an id that a later batch repeats",
      messages: [human, ai("a"), result("a"), ai("a"), result("a")],
    },
    {
      title: "one id for two calls of a batch, with two results",
      messages: [human, ai("a", "a"), result("a"), result("a")],
    },
    // The client of OpenAI does not send the call.
    { title: "an invalid call without a result", messages: [human, invalid, result("a")] },
  ])("accepts $title", async ({ messages }) => {
    expect((await ask(messages)).text).toMatch(/offline model|look returned/);
  });

  it.each<BadCase>([
    {
      title: "an empty list",
      messages: [],
      message: "Invalid 'messages': empty array. Expected an array with minimum length 1",
    },
    { title: "a call without a result at the end", messages: [human, ai("a")], message: missing("a") },
    {
      title: "all missing results by their ids",
      messages: [human, ai("a", "b", "c"), result("b")],
      message: missing("a, c"),
    },
    {
      title: "a result missing before a new message",
      messages: [human, ai("a", "b"), result("a"), human],
      message: missing("b"),
    },
    {
      title: "a message between call and result",
      messages: [ai("a"), human, result("a")],
      message: missing("a"),
    },
    {
      title: "two batches before their results",
      messages: [ai("a"), ai("b"), result("a"), result("b")],
      message: missing("a"),
    },
    {
      title: "one result for two calls of one id",
      messages: [ai("a", "a"), result("a")],
      message: missing("a"),
    },
    {
      title: "a result of an invalid call",
      messages: [human, invalid, result("a"), result("b")],
      message: orphan,
    },
    { title: "an orphan result at the start", messages: [result("a"), human], message: orphan },
    {
      title: "an orphan result after text",
      messages: [human, new AIMessage("hi"), result("a")],
      message: orphan,
    },
    {
      title: "an orphan result within a batch",
      messages: [human, ai("a"), result("a"), result("b")],
      message: orphan,
    },
    {
      title: "a result that comes after its batch has ended",
      messages: [human, ai("a"), result("a"), human, result("a")],
      message: orphan,
    },
    {
      title: "a second result for one call",
      messages: [human, ai("a"), result("a"), result("a")],
      message:
        "Invalid parameter: Duplicate value for 'tool_call_id' of 'a', in messages[2] and messages[3].",
    },
    {
      title: "results out of call order",
      messages: [human, ai("a", "b"), result("b"), result("a")],
      message: "The results must be in the order of their calls.",
    },
    {
      title: "a result without an id",
      messages: [human, ai("a"), result("")],
      message: missing("a"),
    },
    {
      title: "a call without an id",
      messages: [human, ai("")],
      message: missing(""),
    },
  ])("refuses $title", async ({ messages, message }) => {
    const refusal = { message, status: 400, code: "invalid_request_error" };
    await expect(ask(messages)).rejects.toMatchObject(refusal);
    await expect(ask(messages)).rejects.toThrow(OfflineBadRequestError);
  });
});
