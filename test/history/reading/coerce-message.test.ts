import {
  AIMessage,
  AIMessageChunk,
  type BaseMessage,
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
import { rowsOf } from "../../support/titled.js";

const serialized = (name: string, kwargs: object) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", name],
  kwargs,
});

describe("A message-like becomes a message", () => {
  it.each(
    rowsOf<[value: unknown, expected: unknown]>({
      "a string": ["hi", new HumanMessage("hi")],
      "an empty string": ["", new HumanMessage("")],
      "a tuple": [["assistant", "hi"], new AIMessage("hi")],
      "an object with a role": [{ role: "system", content: "hi" }, new SystemMessage("hi")],
      "an object with a type": [{ type: "human", content: "hi" }, new HumanMessage("hi")],
      "a result": [
        { role: "tool", content: "hi", tool_call_id: "c" },
        new ToolMessage({ content: "hi", tool_call_id: "c" }),
      ],
      "a removal": [{ type: "remove", id: "h" }, new RemoveMessage({ id: "h" })],
      "LangChain's serialized form": [
        serialized("AIMessage", { content: "hi", id: "a" }),
        new AIMessage({ content: "hi", id: "a" }),
      ],
    }),
  )("%s", (_title, value, expected) => {
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
  const fields = { content: "hi", id: "x", name: "n" };
  it.each<[title: string, chunk: BaseMessage, stored: unknown]>([
    ["AI", new AIMessageChunk(fields), AIMessage],
    ["human", new HumanMessageChunk(fields), HumanMessage],
    ["system", new SystemMessageChunk(fields), SystemMessage],
    ["tool", new ToolMessageChunk({ ...fields, tool_call_id: "c", status: "error" }), ToolMessage],
    ["function", new FunctionMessageChunk(fields), FunctionMessage],
    ["other", new ChatMessageChunk({ ...fields, role: "critic" }), ChatMessage],
  ])("%s", (_title, chunk, stored) => {
    const message = coerceMessage(chunk);
    expect(message?.constructor).toBe(stored);
    expect(message).toMatchObject(fields);
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
  const unreadable = () => {
    throw new Error("Not to be read");
  };
  const throwing = Object.defineProperty({}, "role", { get: unreadable });

  it.each<[title: string, value: unknown]>([
    ["null", null],
    ["undefined", undefined],
    ["a number", 7],
    ["an empty object", {}],
    ["an object without a role", { content: "hi" }],
    ["an unknown role", { role: "nobody", content: "hi" }],
    ["a result without a call id", { role: "tool", content: "hi" }],
    ["a removal without an id", { type: "remove" }],
    ["an empty tuple", []],
    ["a throwing getter", throwing],
    ["a proxy that throws on every access", new Proxy({}, { get: unreadable, has: unreadable })],
    ["a bigint", 1n],
    ["a serialized class that is not a message", serialized("Document", {})],
    ["an object that has only one method of messages", { _getType: () => "human" }],
  ])("%s", (_title, value) => {
    expect(coerceMessage(value)).toBeUndefined();
  });
});

describe("The value is not changed", () => {
  const call = { id: "c", name: "f", args: {} };

  it.each(
    Object.entries<unknown>({
      "an object": { role: "user", content: [{ type: "text", text: "hi" }] },
      "a serialized message": serialized("AIMessage", { content: "hi" }),
      "a chunk in the format of content blocks": new AIMessageChunk({
        content: [{ type: "text", text: "hi" }],
        tool_calls: [call],
        response_metadata: { output_version: "v1" },
      }),
      "an object in the format of content blocks": {
        type: "ai",
        content: [{ type: "text", text: "hi" }],
        tool_calls: [call],
        response_metadata: { output_version: "v1" },
      },
      "a serialized message in the format of content blocks": serialized("AIMessage", {
        content: [{ type: "text", text: "hi" }],
        tool_calls: [call],
        response_metadata: { output_version: "v1" },
      }),
    }),
  )("%s", (_title, value) => {
    const before = snapshot(value);
    expect(coerceMessage(value)).toBeDefined();
    expect(snapshot(value)).toEqual(before);
  });
});
