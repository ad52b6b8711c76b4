import { AIMessageChunk, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { reduceMessages } from "../../../src/history/reducer/reduce-messages.js";
import { createSummary } from "../../../src/history/summary.js";
import { ai, human } from "../../support/make-messages.js";
import { outline } from "../../support/plain-messages.js";

const reduce = (history: unknown, update: unknown): BaseMessage[] => reduceMessages(history, update).messages;

describe("Rule 9: nothing but a missing id is written, and untouched messages keep their identity", () => {
  it("writes a missing id into the message, and into the form that a checkpoint stores", () => {
    const message = new HumanMessage("hi");
    const [stored] = reduce([], [message]);
    expect(stored).toBe(message);
    expect(message.id).toMatch(/^[0-9a-f]{32}$/);
    expect(JSON.parse(JSON.stringify(message)).kwargs.id).toBe(message.id);
  });

  it("writes a missing id into a result, a summary, a chunk and a message of the stored history", () => {
    const answer = new ToolMessage({ tool_call_id: "c", content: "18 °C" });
    const summary = new HumanMessage({ ...createSummary("said", { kind: "keep", messages: ["a"] }), id: "" });
    const chunk = new AIMessageChunk("hi");
    const stored = new HumanMessage("hi");
    const messages = reduce([ai("a", "c"), stored], [answer, summary, chunk]);
    expect(messages.map(({ id }) => id)).toEqual(["a", answer.id, summary.id, stored.id, chunk.id]);
    expect(new Set(messages.map(({ id }) => id?.length))).toEqual(new Set([1, 32]));
  });

  it("copies a frozen message to give it an id", () => {
    const message = Object.freeze(new HumanMessage("hi"));
    const [stored] = reduce([], [message]);
    expect(message.id).toBeUndefined();
    expect(stored?.id).toMatch(/^[0-9a-f]{32}$/);
  });

  it("does not write an id into a result that it refuses", () => {
    const orphan = new ToolMessage({ tool_call_id: "unknown", content: "" });
    reduce([], [orphan]);
    expect(orphan.id).toBeUndefined();
  });

  it("keeps the id that a message has from another thread", () => {
    const message = new HumanMessage("hi");
    const [first] = reduce([human("h")], [message]).slice(1);
    expect(reduce([], [message])).toEqual([first]);
  });

  it("does not change the content of a message-like in the format of content blocks", () => {
    const content = [{ type: "text", text: "hi" }];
    const tool_calls = [{ id: "c", name: "f", args: {} }];
    reduce([], [{ type: "ai", content, tool_calls, response_metadata: { output_version: "v1" } }]);
    expect(content).toEqual([{ type: "text", text: "hi" }]);
  });

  it("accepts a frozen message-like in the format of content blocks", () => {
    const content = Object.freeze([{ type: "text", text: "hi" }]);
    const tool_calls = [{ id: "c", name: "f", args: {} }];
    const like = { type: "ai", id: "a", content, tool_calls, response_metadata: { output_version: "v1" } };
    expect(outline(reduce([], [like]))).toBe("a");
  });
});
