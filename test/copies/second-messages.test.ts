/** Messages of a second copy of LangChain, in an update and in a list. */

import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { reduceMessages, repairHistory } from "../../src/history.js";
import { human } from "../support/make-messages.js";
import { second } from "../support/second-copy.js";
import { strictViolations } from "../support/strict-check.js";
import { script } from "../support/thread.js";

const call = { id: "c1", name: "look", args: { city: "Rome" } };

describe("a chunk is stored as the class of this copy without chunks:", () => {
  const fields = { content: "hi", id: "x" };
  const chunks: readonly (readonly [title: string, chunk: BaseMessage, stored: unknown])[] = [
    ["AI", new second.messages.AIMessageChunk(fields), AIMessage],
    ["human", new second.messages.HumanMessageChunk(fields), HumanMessage],
    ["system", new second.messages.SystemMessageChunk(fields), SystemMessage],
    ["function", new second.messages.FunctionMessageChunk({ ...fields, name: "f" }), FunctionMessage],
    ["other", new second.messages.ChatMessageChunk({ ...fields, role: "critic" }), ChatMessage],
  ];

  it.each(chunks)("%s, in an update", (_title, chunk, stored) => {
    expect(reduceMessages([], chunk).messages[0]?.constructor).toBe(stored);
  });

  it.each(chunks)("%s, in a state", (_title, chunk, stored) => {
    expect(reduceMessages([chunk], []).messages[0]?.constructor).toBe(stored);
  });

  it("a result, with its call", () => {
    const streamed = new second.messages.AIMessageChunk({
      content: "",
      id: "a",
      tool_call_chunks: [
        { type: "tool_call_chunk", index: 0, id: "c1", name: "look", args: '{"city":"Rome"}' },
      ],
    });
    const answer = new second.messages.ToolMessageChunk({ content: "sunny", id: "r", tool_call_id: "c1" });
    const { messages, repairs } = reduceMessages([], [streamed, answer]);
    expect(messages.map((message) => message.constructor)).toEqual([AIMessage, ToolMessage]);
    expect(messages[0]).toMatchObject({ tool_calls: [call] });
    expect(messages[0]).not.toHaveProperty("tool_call_chunks");
    expect(repairs).toEqual([]);
  });
});

describe("a message", () => {
  it("is stored as it is", () => {
    const given = [
      new second.messages.SystemMessage({ content: "s", id: "s" }),
      new second.messages.HumanMessage({ content: "h", id: "h" }),
      new second.messages.AIMessage({ content: "", id: "a", tool_calls: [call] }),
      new second.messages.ToolMessage({ content: "sunny", id: "r", tool_call_id: "c1" }),
    ];
    const { messages } = reduceMessages([], given);
    for (const [index, message] of messages.entries()) expect(message).toBe(given[index]);
    expect(reduceMessages(messages, []).messages).toBe(messages);
  });

  it("that removes another one removes it", () => {
    const history = [human("h1"), human("h2")];
    const { messages } = reduceMessages(history, new second.messages.RemoveMessage({ id: "h1" }));
    expect(messages.map(({ id }) => id)).toEqual(["h2"]);
  });

  it("with a call and without a result is closed in a repaired list", () => {
    const given = [
      new second.messages.AIMessage({ content: "", tool_calls: [call] }),
      new second.messages.HumanMessage("And now?"),
    ];
    const { messages } = repairHistory(given);
    expect(strictViolations(messages)).toEqual([]);
    expect(script(messages).map((line) => line.slice(0, 5))).toEqual(["ai> l", "tool!", "human"]);
  });
});
