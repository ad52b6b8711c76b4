/** The serializer beside a second copy of LangChain and LangGraph. */

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { type MessageSerializer, messageSerializer } from "../../src/index.js";
import { second } from "../support/second-copy.js";
import { countedSerializer, expectSame } from "../support/two-serializers.js";

const firstOf = async (serializer: MessageSerializer, messages: readonly unknown[]) =>
  Object(await serializer.loadsTyped(...(await serializer.dumpsTyped(messages))))[0];

describe("messageSerializer", () => {
  it("writes messages of the other copy as LangGraph does, and reads them as messages of its own", async () => {
    const ours = await countedSerializer();
    const { AIMessage: Second, AIMessageChunk, ToolMessage } = second.messages;
    const fields = { content: "a", id: "1", tool_calls: [{ id: "c", name: "n", args: { a: undefined } }] };
    await expectSame(ours, () => [
      new Second(fields),
      new AIMessageChunk({ content: "a" }),
      new ToolMessage({ content: "a", tool_call_id: "c", artifact: { inner: new Second("b") } }),
      new HumanMessage({ content: "a", additional_kwargs: { inner: new Second("b") } }),
      new AIMessage(fields),
    ]);
    expect(Object.getPrototypeOf(await firstOf(ours, [new Second(fields)]))).toBe(AIMessage.prototype);
  });

  it("makes messages of the other copy, if it is given the serializer of that copy", async () => {
    const { MemorySaver } = second.langGraph;
    const theirs = new MemorySaver().serde;
    const ours = messageSerializer(theirs);
    const read = await firstOf(ours, [new HumanMessage("a")]);
    const expected = await firstOf(theirs, [new HumanMessage("a")]);
    expect(Object.getPrototypeOf(read)).toBe(Object.getPrototypeOf(expected));
    expect(Object.getPrototypeOf(read)).not.toBe(HumanMessage.prototype);
  });
});
