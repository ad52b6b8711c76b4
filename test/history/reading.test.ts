/** How values become messages, and how those that are none are refused. */

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
import { InvalidMessageError } from "../../src/errors.js";
import { coerceMessage } from "../../src/history/read-messages.js";
import { parseMessages } from "../../src/history/reducer/messages-schema.js";
import { snapshot } from "../support/plain-messages.js";
import { rowsOf } from "../support/test-tools.js";

const serialized = (name: string, kwargs: object) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", name],
  kwargs,
});

describe("A message-like becomes a message", () => {
  it.each(
    rowsOf<[value: unknown, expected: BaseMessage]>({
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
    expect(message?.constructor).toBe(expected.constructor);
    expect(JSON.stringify(message)).toBe(JSON.stringify(expected));
    expect(coerceMessage(expected)).toBe(expected);
  });

  it("with the calls of the OpenAI format", () => {
    const call = { id: "c", type: "function", function: { name: "f", arguments: '{"a":1}' } };
    const message = coerceMessage({ role: "assistant", content: "", tool_calls: [call] });
    expect(message).toMatchObject({ tool_calls: [{ id: "c", name: "f", args: { a: 1 } }] });
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
    for (const field of ["tool_call_id", "status", "role"])
      expect(Reflect.get(Object(message), field)).toBe(Reflect.get(chunk, field));
    expect(message).not.toHaveProperty("tool_call_chunks");
  });

  it("with its calls, usage and metadata", () => {
    const others = {
      usage_metadata: { input_tokens: 1, output_tokens: 2, total_tokens: 3 },
      response_metadata: { finish_reason: "tool_calls" },
      additional_kwargs: { key: "value" },
    };
    const tool_call_chunks = [
      { type: "tool_call_chunk" as const, id: "c", name: "f", args: '{"a":1}', index: 0 },
      { type: "tool_call_chunk" as const, id: "d", name: "f", args: "[", index: 1 },
    ];
    const message = coerceMessage(
      Object.assign(new AIMessageChunk({ content: "", tool_call_chunks }), others),
    );
    expect(message).toMatchObject({
      tool_calls: [{ id: "c", args: { a: 1 } }],
      invalid_tool_calls: [{ id: "d", args: "[" }],
      ...others,
    });
    expect(JSON.parse(JSON.stringify(message)).kwargs.tool_calls).toHaveLength(1);
  });
});

describe("A value that is not a message becomes undefined", () => {
  const unreadable = () => {
    throw new Error("Not to be read");
  };

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
    ["a throwing getter", Object.defineProperty({}, "role", { get: unreadable })],
    ["a proxy that throws on every access", new Proxy({}, { get: unreadable, has: unreadable })],
    ["a bigint", 1n],
    ["a serialized class that is not a message", serialized("Document", {})],
    ["an object that has only one method of messages", { _getType: () => "human" }],
  ])("%s", (_title, value) => {
    expect(coerceMessage(value)).toBeUndefined();
  });
});

describe("The value is not changed", () => {
  const text = { content: [{ type: "text", text: "hi" }] };
  const blocks = {
    ...text,
    tool_calls: [{ id: "c", name: "f", args: {} }],
    response_metadata: { output_version: "v1" },
  };

  it.each(
    Object.entries<unknown>({
      "an object": { role: "user", ...text },
      "a serialized message": serialized("AIMessage", { content: "hi" }),
      "a chunk in the format of content blocks": new AIMessageChunk(blocks as never),
      "an object in the format of content blocks": { type: "ai", ...blocks },
      "a frozen object in it": { type: "ai", ...blocks, content: Object.freeze([...text.content]) },
      "a serialized message in the format of content blocks": serialized("AIMessage", blocks),
    }),
  )("%s", (_title, value) => {
    const before = snapshot(value);
    expect(coerceMessage(value)).toBeDefined();
    expect(snapshot(value)).toEqual(before);
  });
});

const ROLES =
  "a message whose `role` or `type` is one of user, assistant, system, developer, tool, human, ai";
const A_MESSAGE = "a message (a string, or an object with `role` or `type`)";

it.each<[value: unknown, expectation: string, hint: string]>([
  [{ role: "usr", content: "hi" }, ROLES, " Did you mean `user`?"],
  [{ role: "User", content: "hi" }, ROLES, " Did you mean `user`?"],
  [{ role: "asistant", content: "hi" }, ROLES, " Did you mean `assistant`?"],
  [{ type: "sistem", content: "hi" }, ROLES, " Did you mean `system`?"],
  [["usr", "hi"], ROLES, " Did you mean `user`?"],
  [{ role: "weather", content: "hi" }, ROLES, ""],
  [{ role: "tool", content: "a result without its call" }, A_MESSAGE, ""],
  [{ text: "hi" }, A_MESSAGE, ""],
  [{ role: 7, content: "hi" }, A_MESSAGE, ""],
  [null, A_MESSAGE, ""],
])("%j is refused with the known roles", (value, expectation, hint) => {
  const message = `Expected \`messages[1]\` to be ${expectation}, got \`${JSON.stringify(value)}\`.${hint}`;
  const parse = () => parseMessages([new AIMessage("first"), value]);
  expect(parse).toThrow(InvalidMessageError);
  expect(parse).toThrow(message);
});
