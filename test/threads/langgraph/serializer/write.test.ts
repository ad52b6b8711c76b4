/** LangGraph's serializer writes the same bytes, and both read them as the same value. */

import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  FunctionMessage,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages";
import { PromptTemplate } from "@langchain/core/prompts";
import { MemorySaver, Overwrite, REMOVE_ALL_MESSAGES, Send } from "@langchain/langgraph";
import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { messageSerializer } from "../../../../src/index.js";
import { nested } from "../../../support/foreign-values.js";
import { countedSerializer, expectSame } from "../../../support/two-serializers.js";

type Rows = readonly (readonly [title: string, make: () => unknown])[];

const call = { id: "c1", name: "look", args: { city: "Rome", deep: { list: [1, null, undefined] } } };
const usage = { input_tokens: 1, output_tokens: 2, total_tokens: 3, input_token_details: { cache_read: 1 } };
const blocks = [
  { type: "text", text: '\ud83d\ude00 \u2028 "quoted" \\ \ud800' },
  { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
];
const response = () =>
  new AIMessage({
    id: "a1",
    name: "agent",
    content: blocks,
    tool_calls: [call],
    invalid_tool_calls: [{ id: "c2", name: "look", args: "{", error: "cut" }],
    usage_metadata: usage as never,
    additional_kwargs: { reasoning_content: "because", nothing: undefined, "": 0, 1: "one" },
    response_metadata: { finish_reason: "stop", system_fingerprint: undefined, logprobs: null },
  });
const result = (fields: object = {}) =>
  new ToolMessage({
    id: "t1",
    content: "found",
    tool_call_id: "c1",
    name: "look",
    status: "error",
    ...fields,
  });

/** What is written without LangGraph's serializer. */
const DIRECT: Rows = [
  ["nothing", () => null],
  ["undefined", () => undefined],
  ["a text", () => "text"],
  ["a number", () => 1],
  ["a checkpoint", () => ({ v: 4, id: "1", channel_values: { messages: [response()] }, versions_seen: {} })],
  ["a human message", () => new HumanMessage("hello")],
  ["a human message with all fields", () => new HumanMessage({ content: blocks, id: "h", name: "Ann" })],
  ["a system message", () => [new SystemMessage({ content: "rules", id: undefined as never })]],
  ["a response with all fields", response],
  [
    "a response with content blocks",
    () => new AIMessage({ contentBlocks: [{ type: "text", text: "hi" }], tool_calls: [call] }),
  ],
  [
    "a chunk",
    () =>
      new AIMessageChunk({ content: "", tool_call_chunks: [{ id: "c", name: "n", args: "{}", index: 0 }] }),
  ],
  [
    "a response made of a chunk",
    () => new AIMessage({ ...new AIMessageChunk({ content: "a", id: "1" }) } as never),
  ],
  ["a result made of a result", () => new ToolMessage({ ...result() } as never)],
  [
    "a result with an artifact",
    () => result({ artifact: { rows: [[1, 2], []], none: undefined }, metadata: { a: 1 } }),
  ],
  ["a result without one", () => result({ artifact: undefined, metadata: undefined })],
  ["removals", () => [new RemoveMessage({ id: "a" }), new RemoveMessage({ id: REMOVE_ALL_MESSAGES })]],
  ["a message twice", () => new Array(2).fill(response())],
  [
    "a message with values that JSON has no number for",
    () => result({ artifact: [Number.NaN, -0, Infinity, 1e21] }),
  ],
  ["numbers", () => [0, -0, 1.5, Number.NaN, -Infinity, 1e-7, 2 ** 53]],
  ["texts", () => ["", "\u0000\u001f", "\ud800", "\u2028", "é", { '"': "\\" }]],
  ["undefined, also in lists and in gaps", () => ({ a: undefined, b: [undefined], c: new Array(2) })],
  ["functions and symbols", () => ({ a: () => 1, b: [() => 1, Symbol("s")], c: Symbol("s"), d: 1 })],
  ["keys of the stored form", () => ({ lc: 3, id: [], type: "constructor", value: { lc: "1" }, kwargs: {} })],
  ["what looks like a stored message", () => ({ lc: 1, type: "constructor", id: ["x"], kwargs: {} })],
  ["numbers as keys", () => ({ b: 1, 2: "two", a: 1, 1: "one" })],
  ["a key `__proto__`", () => JSON.parse('{"a":{"__proto__":{"b":1}}}')],
  ["a list with a property", () => Object.assign([1], { extra: 2 })],
  ["a send", () => [new Send("tools", { messages: [response()], lg_tool_call: call, jumpTo: undefined })]],
  ["a send with a timeout", () => new Send("tools", undefined, { timeout: { runTimeout: 5 } })],
  ["a send without a value that JSON knows", () => [new Send("tools", () => 1)]],
  ["a snapshot of a delta channel", () => ({ messages: new DeltaSnapshot([response(), result()]) })],
  ["a snapshot of nothing", () => new DeltaSnapshot(undefined)],
  ["deep values", () => nested(190)],
  ["a deep message", () => result({ artifact: nested(30) })],
  ["a frozen message", () => Object.freeze(response())],
  ["an overwrite", () => new Overwrite([new HumanMessage("a")]).toJSON()],
];

class Point {
  x = 1;
  hidden = undefined;
}
class Named extends AIMessage {
  static override lc_name() {
    return "Named";
  }
}
const holdingItself = (hold: (state: object) => unknown) => {
  const state = { messages: [response()], own: undefined as unknown };
  state.own = hold(state);
  return state;
};

/** What only LangGraph's serializer knows, alone and beside messages. */
const OTHERS: Rows = [
  ["a date that is not valid", () => new Date(Number.NaN)],
  ["other numbers", () => new Float32Array([1.5])],
  ["an overwrite", () => new Overwrite([response()])],
  ["a class without a form of its own", () => new Point()],
  ["toJSON that throws", () => ({ toJSON: () => JSON.parse("{") })],
  ["a list with toJSON", () => Object.assign([1], { toJSON: () => "list" })],
  ["a function with toJSON", () => Object.assign(() => 1, { toJSON: () => "function" })],
  ["a getter", () => Object.defineProperty({}, "a", { get: () => new Date(0), enumerable: true })],
  [
    "a getter that throws",
    () => Object.defineProperty({}, "a", { get: () => JSON.parse("{"), enumerable: true }),
  ],
  ["a cycle", () => holdingItself((state) => [state])],
  ["a map that holds its state", () => holdingItself((state) => new Map([["a", state]]))],
  ["very deep values", () => nested(600, response())],
  ["a message deeper than LangChain reads", () => result({ artifact: nested(60) })],
  [
    "a message at the end of what LangChain reads",
    () => [46, 47, 48, 49].map((depth) => result({ artifact: nested(depth) })),
  ],
  [
    "other messages",
    () => [new ChatMessage("a", "critic"), new FunctionMessage({ content: "a", name: "f" })],
  ],
  [
    "other chunks",
    () => [new HumanMessageChunk("a"), new ToolMessageChunk({ content: "a", tool_call_id: "c" })],
  ],
  ["a message of a subclass", () => new Named("a")],
  ["a message with another toJSON", () => Object.assign(response(), { toJSON: () => "mine" })],
  ["a message that cannot be stored", () => Object.assign(response(), { lc_serializable: false })],
  ["a message of another namespace", () => Object.assign(response(), { lc_namespace: ["mine"] })],
  [
    "a message with an unknown field",
    () => new HumanMessage({ content: "a", runId: "r", "x-y": 1 } as never),
  ],
  [
    "a message whose constructor got a very deep value that is not stored",
    () => new HumanMessage({ content: "a", type: nested(10_000) } as never),
  ],
  ["a message with a class", () => result({ artifact: new Point() })],
  ["a prompt", () => PromptTemplate.fromTemplate("{a}")],
  ["a schema", () => z.object({ a: z.string() })],
];

describe("messageSerializer writes as LangGraph does:", () => {
  it.each(DIRECT)("%s", async (_title, make) => {
    const ours = await countedSerializer();
    await expectSame(ours, make);
    await ours.dumpsTyped(make());
    // What looks like a stored value, and is none, is read by LangGraph.
    const before = ours.count();
    await ours.dumpsTyped(make());
    expect(ours.count()).toBe(before);
  });

  it.each(OTHERS)("%s", async (_title, make) => {
    const ours = await countedSerializer();
    await expectSame(ours, make);
    await expectSame(ours, () => ({ key: make(), list: [make(), new HumanMessage("beside"), make()] }));
    await expectSame(ours, () => new DeltaSnapshot([new HumanMessage("beside"), make()]));
    await expectSame(ours, () => Object.assign(new Send("node", 1), { args: make() }));
  });

  it("before it has learned the classes", async () => {
    const ours = messageSerializer();
    const [, bytes] = await ours.dumpsTyped([response()]);
    const [, again] = await ours.dumpsTyped([response()]);
    expect(Buffer.from(again).equals(bytes)).toBe(true);
  });

  it("what a value is when it is called", async () => {
    const ours = await countedSerializer();
    const state = { messages: [response()], at: new Date(0), list: [1] };
    const [, expected] = await new MemorySaver().serde.dumpsTyped(state);
    const written = ours.dumpsTyped(state);
    state.messages.pop();
    state.at.setTime(1);
    state.list.push(2);
    expect(Buffer.from((await written)[1]).toString()).toBe(Buffer.from(expected).toString());
  });
});

describe("the JSON of a message", () => {
  it("is made once", async () => {
    const ours = await countedSerializer();
    const messages = [response(), result()];
    const texts = vi.spyOn(JSON, "stringify");
    try {
      await ours.dumpsTyped({ messages });
      expect(texts.mock.calls.some(([value]) => value === messages[0]?.content)).toBe(true);
      texts.mockClear();
      await ours.dumpsTyped({ messages: [...messages] });
      expect(texts.mock.calls.map(([value]) => value)).toEqual(["messages"]);
    } finally {
      texts.mockRestore();
    }
  });

  const changes = Object.entries<(message: AIMessage) => void>({
    "an id, as LangGraph's reducer writes it": (message) => {
      message.id = "new";
      message.lc_kwargs["id"] = "new";
    },
    "an id, as LangChain writes it": (message) => message._updateId("new"),
    "an id alone": (message) => Object.assign(message, { id: undefined }),
    "a name": (message) => Object.assign(message, { name: "other" }),
    "other content": (message) => Object.assign(message, { content: "other" }),
    "a block in its place": (message) => Object.assign(Object(message.content)[0], { text: "other" }),
    "a block more": (message) => void Object(message.content).push({ type: "text", text: "more" }),
    "an argument": (message) => Object.assign(message.tool_calls?.[0]?.args ?? {}, { city: "Oslo" }),
    "a nested argument that becomes undefined": (message) =>
      Object.assign(Object(message.tool_calls?.[0]?.args.deep), { list: undefined }),
    metadata: (message) => Object.assign(message.response_metadata, { more: 1 }),
    "other metadata": (message) => Object.assign(message, { response_metadata: {} }),
    "no value": (message) => void delete message.additional_kwargs["reasoning_content"],
    "another order": (message) => {
      const { reasoning_content, ...others } = message.additional_kwargs;
      message.additional_kwargs = { ...others, reasoning_content };
    },
    "an object instead of a list": (message) => Object.assign(message, { tool_calls: {} }),
    "a field more": (message) => Object.assign(message.lc_kwargs, { other_field: 1 }),
    "a field less": (message) => void delete message.lc_kwargs["name"],
    "a date": (message) => Object.assign(message.additional_kwargs, { at: new Date(0) }),
    "another toJSON": (message) => Object.assign(message, { toJSON: () => "mine" }),
    usage: (message) => Object.assign(Object(message.usage_metadata), { input_tokens: 9 }),
  });

  it.each(changes)("is made again after a change in place: %s", async (_title, change) => {
    const ours = await countedSerializer();
    const message = response();
    await ours.dumpsTyped([message]);
    change(message);
    await expectSame(ours, () => [message]);
  });
});
