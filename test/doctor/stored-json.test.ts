/** What a receipt has of a message, and its hash: the same for every form in which a message is stored and read. */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  type MessageFieldWithRole,
  ToolMessage,
} from "@langchain/core/messages";
import { emptyCheckpoint, MemorySaver } from "@langchain/langgraph";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { pinMessages } from "../../src/doctor/stored-json.js";
import { hashList, toStoredJson } from "../../src/doctor/thread-store.js";
import { inThread } from "../support/thread.js";

/** What LangGraph stores as it is, and what it stores as an object with the mark `lc: 2`. */
const leaf = fc.oneof(
  fc.constantFrom<unknown>(undefined, undefined, null, "", 0, false, {}, []),
  fc.string({ maxLength: 4 }),
  fc.integer(),
  fc.constantFrom(/x/g, new Error("odd"), new Map([["a", 1]]), new Set([1, "b"]), new Uint8Array([1, 2])),
);
const { value: anything, record } = fc.letrec<{ value: unknown; record: Record<string, unknown> }>((tie) => ({
  value: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie("value"), { maxLength: 2 }), tie("record")),
  record: fc.dictionary(fc.constantFrom("a", "b", "audio", "function_call", "type"), tie("value"), {
    maxKeys: 3,
  }),
}));

const usage = fc.record({
  input_tokens: fc.nat(),
  output_tokens: fc.nat(),
  total_tokens: fc.nat(),
  input_token_details: fc.option(record, { nil: undefined }),
  output_token_details: fc.option(record, { nil: undefined }),
});
const call = fc.record({ id: fc.constantFrom("c1", "c2"), name: fc.constant("look"), args: record });

const message: fc.Arbitrary<BaseMessage> = fc
  .record({
    type: fc.constantFrom("ai", "human", "tool"),
    content: fc.string({ maxLength: 5 }),
    additional_kwargs: record,
    response_metadata: record,
    artifact: anything,
    usage_metadata: fc.option(usage, { nil: undefined }),
    tool_calls: fc.array(call, { maxLength: 2 }),
  })
  .map(({ type, artifact, usage_metadata, tool_calls, ...fields }) => {
    if (type === "human") return new HumanMessage({ id: "m", ...fields });
    if (type === "tool") return new ToolMessage({ id: "m", ...fields, artifact, tool_call_id: "c1" });
    return new AIMessage({ id: "m", ...fields, tool_calls, usage_metadata } as never);
  });

/** A message as a checkpointer has it, as LangGraph reads it, and as the doctor reads it. */
async function formsOf(value: BaseMessage) {
  const saver = new MemorySaver();
  const [, bytes] = await saver.serde.dumpsTyped(value);
  const checkpoint = { ...emptyCheckpoint(), channel_values: { messages: [value] } };
  const config = inThread("1");
  await saver.put({ configurable: { ...config.configurable, checkpoint_ns: "" } }, checkpoint, {
    source: "update",
    step: 0,
    parents: {},
  });
  const listIn = async (from: Pick<MemorySaver, "getTuple">) =>
    (await from.getTuple(config))?.checkpoint.channel_values["messages"] as unknown[];
  return {
    stored: JSON.parse(new TextDecoder().decode(bytes)) as unknown,
    read: (await listIn(saver))[0],
    pinned: (await listIn(pinMessages(saver)))[0],
  };
}

describe("the hash of a list", () => {
  it("is that of what is stored, of what is read back, and of the receipt", async () => {
    await fc.assert(
      fc.asyncProperty(message, async (value) => {
        const { stored, read, pinned } = await formsOf(value);
        const inReceipt = [read, pinned].map((form) => JSON.parse(JSON.stringify(toStoredJson(form))));
        const hashes = [value, stored, read, pinned, ...inReceipt].map((form) => hashList([form]));
        expect(hashes).toEqual(hashes.map(() => hashList([stored])));
        expect(inReceipt[1]).toEqual(stored);
      }),
    );
  });

  it("does not depend on the form of a message", () => {
    const forms: unknown[] = [
      new AIMessage({ id: "m", content: "x", additional_kwargs: { function_call: undefined } } as never),
      { role: "assistant", content: "x" } satisfies MessageFieldWithRole,
      {
        type: "ai",
        content: "x",
        id: "other",
        additional_kwargs: { function_call: { lc: 2, type: "undefined" } },
      },
    ];
    expect(new Set(forms.map((form) => hashList([form]))).size).toBe(1);
  });

  it("differs if a message says something else, at any depth", () => {
    fc.assert(
      fc.property(message, record, fc.integer(), (value, data, number) => {
        const withNumber = (last: number) =>
          new AIMessage({
            id: "m",
            content: value.content,
            additional_kwargs: { data: { ...data, last } },
          } as never);
        expect(hashList([withNumber(number)])).not.toBe(hashList([withNumber(number + 1)]));
      }),
    );
  });
});
