import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  ChatMessageChunk,
  FunctionMessage,
  FunctionMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { coerceMessage } from "../../../src/history/read-messages.js";
import { snapshot } from "../../support/plain-messages.js";
import { titled } from "../../support/titled.js";

const serialized = (name: string, kwargs: object) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", name],
  kwargs,
});

describe("A message-like becomes a message", () => {
  it.each(
    titled<{ title: string; value: unknown; expected: unknown }>([
      { title: "a string", value: "hi", expected: new HumanMessage("hi") },
      { title: "an empty string", value: "", expected: new HumanMessage("") },
      { title: "a tuple", value: ["assistant", "hi"], expected: new AIMessage("hi") },
      {
        title: "an object with a role",
        value: { role: "system", content: "hi" },
        expected: new SystemMessage("hi"),
      },
      {
        title: "an object with a type",
        value: { type: "human", content: "hi" },
        expected: new HumanMessage("hi"),
      },
      {
        title: "a result",
        value: { role: "tool", content: "hi", tool_call_id: "c" },
        expected: new ToolMessage({ content: "hi", tool_call_id: "c" }),
      },
      { title: "a removal", value: { type: "remove", id: "h" }, expected: new RemoveMessage({ id: "h" }) },
      {
        title: "LangChain's serialized form",
        value: serialized("AIMessage", { content: "hi", id: "a" }),
        expected: new AIMessage({ content: "hi", id: "a" }),
      },
    ]),
  )("%s", (_title, { value, expected }) => {
    const message = coerceMessage(value);
    expect(message?.constructor).toBe(Object(expected).constructor);
    expect(JSON.stringify(message)).toBe(JSON.stringify(expected));
  });

  it("with the calls of the OpenAI format", () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: '{"a":1}' } };
    const message = coerceMessage({ role: "assistant", content: "", tool_calls: [call] });
    expect(message).toMatchObject({ tool_calls: [{ id: "c", name: "f", args: { a: 1 } }] });
  });
});

describe("A message is returned as it is", () => {
  it.each([new HumanMessage("hi"), new AIMessage("hi"), new RemoveMessage({ id: "h" })])("%s", (message) => {
    expect(coerceMessage(message)).toBe(message);
  });
});

describe("A chunk becomes the class that is stored", () => {
  it.each(
    titled([
      { title: "AI", chunk: new AIMessageChunk({ content: "hi", id: "x", name: "n" }), stored: AIMessage },
      {
        title: "human",
        chunk: new HumanMessageChunk({ content: "hi", id: "x", name: "n" }),
        stored: HumanMessage,
      },
      {
        title: "system",
        chunk: new SystemMessageChunk({ content: "hi", id: "x", name: "n" }),
        stored: SystemMessage,
      },
      {
        title: "tool",
        chunk: new ToolMessageChunk({
          content: "hi",
          id: "x",
          name: "n",
          tool_call_id: "c",
          status: "error",
        }),
        stored: ToolMessage,
      },
      {
        title: "function",
        chunk: new FunctionMessageChunk({ content: "hi", id: "x", name: "n" }),
        stored: FunctionMessage,
      },
      {
        title: "other",
        chunk: new ChatMessageChunk({ content: "hi", id: "x", name: "n", role: "critic" }),
        stored: ChatMessage,
      },
    ]),
  )("%s", (_title, { chunk, stored }) => {
    const message = coerceMessage(chunk);
    expect(message?.constructor).toBe(stored);
    expect(message).toMatchObject({ content: "hi", id: "x", name: "n" });
    for (const field of ["tool_call_id", "status", "role"]) {
      expect(Reflect.get(Object(message), field)).toBe(Reflect.get(chunk, field));
    }
    expect(message).not.toHaveProperty("tool_call_chunks");
  });

  it("with its calls, usage and metadata", () => {
    const usage_metadata = { input_tokens: 1, output_tokens: 2, total_tokens: 3 };
    const streamed = new AIMessageChunk({
      content: "",
      tool_call_chunks: [
        { type: "tool_call_chunk", id: "c", name: "f", args: '{"a":1}', index: 0 },
        { type: "tool_call_chunk", id: "d", name: "f", args: "[", index: 1 },
      ],
      response_metadata: { finish_reason: "tool_calls" },
      additional_kwargs: { key: "value" },
    });
    const chunk = Object.assign(streamed, { usage_metadata });
    const message = coerceMessage(chunk);
    expect(message).toMatchObject({
      tool_calls: [{ id: "c", args: { a: 1 } }],
      invalid_tool_calls: [{ id: "d", args: "[" }],
      usage_metadata,
      response_metadata: { finish_reason: "tool_calls" },
      additional_kwargs: { key: "value" },
    });
    expect(JSON.parse(JSON.stringify(message)).kwargs.tool_calls).toHaveLength(1);
  });
});

describe("A value that is not a message becomes undefined", () => {
  const throwing = Object.defineProperty({}, "role", {
    get: () => {
      throw new Error("Not to be read");
    },
  });

  it.each(
    titled<{ title: string; value: unknown }>([
      { title: "null", value: null },
      { title: "undefined", value: undefined },
      { title: "a number", value: 7 },
      { title: "an empty object", value: {} },
      { title: "an object without a role", value: { content: "hi" } },
      { title: "an unknown role", value: { role: "nobody", content: "hi" } },
      { title: "a result without a call id", value: { role: "tool", content: "hi" } },
      { title: "a removal without an id", value: { type: "remove" } },
      { title: "an empty tuple", value: [] },
      { title: "a throwing getter", value: throwing },
      { title: "a serialized class that is not a message", value: serialized("Document", {}) },
      { title: "an object that has only one method of messages", value: { _getType: () => "human" } },
    ]),
  )("%s", (_title, { value }) => {
    expect(coerceMessage(value)).toBeUndefined();
  });
});

describe("The value is not changed", () => {
  const call = { id: "c", name: "f", args: {} };

  it.each(
    titled<{ title: string; value: unknown }>([
      { title: "an object", value: { role: "user", content: [{ type: "text", text: "hi" }] } },
      { title: "a serialized message", value: serialized("AIMessage", { content: "hi" }) },
      {
        title: "a chunk in the format of content blocks",
        value: new AIMessageChunk({
          content: [{ type: "text", text: "hi" }],
          tool_calls: [call],
          response_metadata: { output_version: "v1" },
        }),
      },
      {
        title: "an object in the format of content blocks",
        value: {
          type: "ai",
          content: [{ type: "text", text: "hi" }],
          tool_calls: [call],
          response_metadata: { output_version: "v1" },
        },
      },
      {
        title: "a serialized message in the format of content blocks",
        value: serialized("AIMessage", {
          content: [{ type: "text", text: "hi" }],
          tool_calls: [call],
          response_metadata: { output_version: "v1" },
        }),
      },
    ]),
  )("%s", (_title, { value }) => {
    const before = snapshot(value);
    expect(coerceMessage(value)).toBeDefined();
    expect(snapshot(value)).toEqual(before);
  });
});
