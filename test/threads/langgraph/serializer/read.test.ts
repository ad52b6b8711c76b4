/** LangGraph's serializer makes the same values of stored bytes, and fails on the same bytes. */

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import { nested } from "../../../support/foreign-values.js";
import { countedSerializer, expectSameReading } from "../../../support/two-serializers.js";

const UNDEFINED = { lc: 2, type: "undefined" };
const stored = (name: string, kwargs: unknown, others: object = {}) => ({
  lc: 1,
  type: "constructor",
  id: ["langchain_core", "messages", name],
  kwargs,
  ...others,
});
const human = (kwargs: object = {}) => stored("HumanMessage", { content: "hi", ...kwargs });
const record = (name: string, args: unknown, others: object = {}) => ({
  lc: 2,
  type: "constructor",
  id: [name],
  method: null,
  args,
  kwargs: {},
  ...others,
});

/** What is read without LangGraph's serializer. */
const DIRECT = Object.entries<unknown>({
  "plain values": { a: [1, "b", null, true], c: {} },
  undefined: { a: UNDEFINED, b: [UNDEFINED], c: { d: UNDEFINED } },
  "undefined alone": UNDEFINED,
  "each class": [
    "HumanMessage",
    "AIMessage",
    "AIMessageChunk",
    "SystemMessage",
    "ToolMessage",
    "RemoveMessage",
  ].map((name) => stored(name, { content: "a", id: "1", additional_kwargs: { a: 1 } })),
  "a message without fields": stored("HumanMessage", {}),
  "undefined inside a message": human({
    name: UNDEFINED,
    additional_kwargs: { a: UNDEFINED, b: [1, UNDEFINED], c: { d: UNDEFINED, e: 1 } },
  }),
  "content blocks": stored("AIMessage", {
    content_blocks: [{ type: "text", text: "a" }],
    tool_calls: [{ id: "c", name: "n", args: {} }],
  }),
  "content of version 1": stored("AIMessage", {
    content: [{ type: "tool_call", id: "c", name: "n", args: {} }],
    response_metadata: { output_version: "v1" },
  }),
  "a chunk": stored("AIMessageChunk", {
    content: "",
    tool_call_chunks: [{ id: "c", name: "n", args: "{", index: 0 }],
  }),
  "a response made of a chunk": stored("AIMessage", {
    lc_serializable: true,
    lc_kwargs: { a: UNDEFINED },
    lc_namespace: ["a"],
    type: "ai",
    tool_call_chunks: [],
    content: "a",
  }),
  "a result": stored("ToolMessage", {
    content: "a",
    tool_call_id: "c",
    status: "error",
    artifact: { a: [] },
    metadata: {},
  }),
  "a snapshot": { lc: 2, type: "delta_snapshot", value: [human(), UNDEFINED] },
  "a deep value": nested(190),
  "a deep message": human({ additional_kwargs: { a: nested(30) } }),
  "keys of the stored form elsewhere": { id: ["a"], kwargs: { type: "undefined" }, type: "secret" },
});

/** What only LangGraph's serializer reads. */
const OTHERS: readonly (readonly [title: string, value: unknown])[] = [
  ["one that is wrong", record("RegExp", ["(", "g"])],
  ["bytes that are none", record("Uint8Array", [[256]])],
  ["a constructor that nobody knows", record("Function", ["return 1"])],
  ["a snapshot with more keys", { lc: 2, type: "delta_snapshot", value: 1, more: record("Map", [[]]) }],
  ["a secret in a message", human({ additional_kwargs: { key: { lc: 1, type: "secret", id: ["KEY"] } } })],
  [
    "what cannot be stored, in a message",
    human({ additional_kwargs: { key: { lc: 1, type: "not_implemented", id: ["Model"] } } }),
  ],
  ["what cannot be stored", { lc: 1, type: "not_implemented", id: ["Model"] }],
  ["a key that LangChain spells otherwise", human({ run_id: "r", "a-b": 1, " c ": 2, tool_calls: [] })],
  ["a field in the other spelling", stored("AIMessage", { content: "a", toolCalls: [] })],
  ["fields that are no object", [stored("HumanMessage", [1]), stored("AIMessage", "text")]],
  ["no fields", [{ lc: 1, type: "constructor", id: ["langchain_core", "messages", "HumanMessage"] }]],
  ["fields that are null", stored("HumanMessage", null)],
  ["a message without content", human({ content: UNDEFINED })],
  [
    "more keys beside the fields",
    stored("HumanMessage", { content: "a" }, { name: "b", graph: record("Map", [[]]) }),
  ],
  [
    "other messages",
    [
      stored("ChatMessage", { content: "a", role: "b" }),
      stored("HumanMessageChunk", { content: "a" }),
      stored("FunctionMessage", { content: "a", name: "b" }),
    ],
  ],
  ["the path of Python", { ...human(), id: ["langchain", "schema", "messages", "HumanMessage"] }],
  ["a longer path", { ...human(), id: ["langchain_core", "messages", "human", "HumanMessage"] }],
  [
    "another class",
    {
      ...human(),
      id: ["langchain_core", "prompts", "prompt", "PromptTemplate"],
      kwargs: { input_variables: ["a"], template: "{a}" },
    },
  ],
  ["a class that is not there", stored("NoMessage", { content: "a" })],
  ["a namespace that is not there", { ...human(), id: ["mine", "messages", "HumanMessage"] }],
  ["an empty path", { ...human(), id: [] }],
  ["a path of other values", { ...human(), id: ["langchain_core", "messages", { a: 1 }] }],
  [
    "the deepest message that LangChain reads",
    [45, 46, 47, 48].map((depth) => human({ additional_kwargs: { a: nested(depth) } })),
  ],
  ["a message that is deeper", human({ additional_kwargs: { a: nested(49) } })],
  ["a message that is much deeper", human({ additional_kwargs: { a: nested(300) } })],
  ["very deep values", nested(700)],
  [
    "a response that LangChain refuses",
    stored("AIMessage", { content: "a", additional_kwargs: null, response_metadata: 1 }),
  ],
  ["a response with a wrong list", stored("AIMessage", { content: "a", tool_calls: 1, content_blocks: 2 })],
];

const TEXTS = Object.entries<string>({
  "numbers that JSON.stringify never writes":
    '{"a":-0,"b":1e999,"c":[{"lc":2,"type":"constructor","id":["Set"],"args":[[-0,1e999]]}]}',
  "such numbers in a message": JSON.stringify(human({ additional_kwargs: { a: 123 } })).replace(
    "123",
    "[-0,1e999,-1e999]",
  ),
  "such numbers beside `lc`": '{"lc":5,"a":-0,"b":1e999}',
  "repeated keys": '{"a":1,"a":{"lc":2,"type":"undefined"},"b":1}',
  spaces: ' { "a" : [ 1 , 2 ] } ',
  "a byte order mark": '\ufeff{"a":1}',
  "no JSON": '{"a":',
  nothing: "",
  "what LangGraph writes of a bigint":
    '"[unable to serialize, circular reference is too complex to analyze]"',
});

describe("messageSerializer reads as LangGraph does:", () => {
  it.each(DIRECT)("%s", async (_title, value) => {
    const ours = await countedSerializer();
    const text = JSON.stringify(value);
    await expectSameReading(ours, "json", text);
    await expectSameReading(ours, "json", new TextEncoder().encode(text));
    expect(ours.count()).toBe(0);
  });

  it.each(OTHERS)("%s", async (_title, value) => {
    const ours = await countedSerializer();
    await expectSameReading(ours, "json", JSON.stringify(value));
    await expectSameReading(ours, "json", JSON.stringify({ list: [human(), value, human()], value }));
    await expectSameReading(ours, "json", JSON.stringify({ lc: 2, type: "delta_snapshot", value }));
    await expectSameReading(ours, "json", JSON.stringify(record("Map", [[["a", value]]])));
  });

  it.each(TEXTS)("%s", async (_title, text) => {
    const ours = await countedSerializer();
    await expectSameReading(ours, "json", text);
    await expectSameReading(ours, "json", Buffer.from(text));
    await expectSameReading(ours, "json", `[${JSON.stringify(human())},${text}]`);
  });

  it.each(["bytes", "msgpack", ""])("the type %j", async (type) => {
    const ours = await countedSerializer();
    await expectSameReading(ours, type, "text");
    await expectSameReading(ours, type, new Uint8Array([255, 0]));
  });
});

describe("one odd value", () => {
  it("is all that is handed to LangGraph", async () => {
    const ours = await countedSerializer();
    const text = JSON.stringify([
      human(),
      record("Map", [[["a", 1]]]),
      stored("ChatMessage", { content: "a", role: "b" }),
    ]);
    await ours.loadsTyped("json", text);
    expect(ours.count()).toBe(2);
  });
});

describe("a message that was read", () => {
  it("is of the user's class, with the same fields and methods", async () => {
    const ours = await countedSerializer();
    const stored = await ours.dumpsTyped([new HumanMessage("a"), new AIMessage({ content: "b", id: "1" })]);
    const [one, two] = Object(await ours.loadsTyped(...stored));
    expect([one.constructor, two.constructor]).toEqual([HumanMessage, AIMessage]);
    expect([one.getType(), two.text, Object.keys(two.lc_kwargs)]).toEqual([
      "human",
      "b",
      ["content", "id", "tool_calls", "invalid_tool_calls", "additional_kwargs", "response_metadata"],
    ]);
  });
});
