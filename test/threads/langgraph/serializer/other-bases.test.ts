/** A serializer that stores another form than LangGraph's: a later version of LangGraph, or one of the user. */

import { HumanMessage } from "@langchain/core/messages";
import { JsonPlusSerializer } from "@langchain/langgraph-checkpoint";
import { describe, expect, it } from "vitest";
import { type MessageSerializer, messageSerializer } from "../../../../src/index.js";

const langGraph = new JsonPlusSerializer();

/** LangGraph's serializer with another text. */
function changed(change: (text: string) => string, undo: (text: string) => string): MessageSerializer {
  return {
    dumpsTyped: async (data) => {
      const [type, bytes] = await langGraph.dumpsTyped(data);
      return [type, Buffer.from(change(Buffer.from(bytes).toString()))];
    },
    loadsTyped: (type, data) => langGraph.loadsTyped(type, undo(Buffer.from(data).toString())),
  };
}

const BASES = Object.entries<MessageSerializer>({
  "another word for undefined": changed(
    (text) => text.replaceAll('"undefined"', '"none"'),
    (text) => text.replaceAll('"none"', '"undefined"'),
  ),
  "another version of the form": changed(
    (text) => text.replaceAll('"lc":1', '"lc":7'),
    (text) => text.replaceAll('"lc":7', '"lc":1'),
  ),
  "an encrypted form": changed(
    (text) => btoa(text),
    (text) => (text.startsWith("[") ? text : atob(text)),
  ),
  "a type of its own": {
    dumpsTyped: async (data) => ["mine", (await langGraph.dumpsTyped(data))[1]],
    loadsTyped: (_type, data) => langGraph.loadsTyped("json", data),
  },
  "one that reads no messages": {
    dumpsTyped: (data) => langGraph.dumpsTyped(data),
    loadsTyped: async (_type, data) => JSON.parse(Buffer.from(data).toString()),
  },
  "one that always fails to read": {
    dumpsTyped: (data) => langGraph.dumpsTyped(data),
    loadsTyped: () => Promise.reject(new Error("no")),
  },
});

describe("everything is handed to a serializer with", () => {
  it.each(BASES)("%s", async (_title, base) => {
    const ours = messageSerializer(base);
    await ours.loadsTyped("json", "[1]").catch(() => undefined);
    const data = { messages: [new HumanMessage({ content: "hi", name: undefined as never })] };
    const [type, bytes] = await ours.dumpsTyped(data);
    const [expectedType, expected] = await base.dumpsTyped(data);
    expect([type, Buffer.from(bytes).toString()]).toEqual([expectedType, Buffer.from(expected).toString()]);
  });
});

it("refuses what is no serializer, by name", () => {
  for (const base of [null, {}, { dumpsTyped: langGraph.dumpsTyped }])
    expect(() => messageSerializer(base as never)).toThrow(/Expected `base` to be a serializer/);
});
