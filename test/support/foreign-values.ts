/** Arbitrary values that are not message objects. */

import {
  AIMessage,
  type BaseMessage,
  ChatMessage,
  HumanMessage,
  ToolMessage,
} from "@langchain/core/messages";
import fc from "fast-check";

/** Values that LangChain converts to a message. */
export const messageLike: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom("", "x", "y"),
  fc.tuple(
    fc.constantFrom("user", "human", "ai", "assistant", "system", "developer"),
    fc.constantFrom("x", "y"),
  ),
  fc.constant({
    role: "assistant",
    content: null,
    tool_calls: [openAiCall("c1"), openAiCall("c2")],
    id: "m1",
  }),
  fc.constant({ role: "tool", content: "x", tool_call_id: "c1" }),
  fc.constant({ type: "remove", id: "m2" }),
  fc.constant({ lc: 1, type: "constructor", id: ["a", "HumanMessage"], kwargs: { content: "x", id: "m3" } }),
);

/** A value inside this many lists and objects. */
export function nested(levels: number, inner: unknown = "deep"): unknown {
  let value = inner;
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { inner: value };
  return value;
}

/** Values that throw when they are made a text. */
const TEXTLESS: readonly unknown[] = [
  Symbol("s"),
  Object.create(null),
  {
    toString() {
      throw new Error("Not to be made a text");
    },
  },
  {
    [Symbol.toPrimitive]() {
      throw new Error("Not to be made a text");
    },
  },
];

/** Values that a field of a message must not have, or that a checkpoint cannot read back. */
export const HOSTILE_VALUES: readonly unknown[] = [
  {},
  [],
  "x",
  7,
  null,
  true,
  { length: 2 },
  [null],
  [5],
  [undefined, {}],
  [{ type: "tool_use" }, null, { type: 7, text: 7 }],
  [{ id: 5, name: {}, args: "text" }],
  [{ id: "c1", name: "tool", args: { deep: nested(60) } }],
  [{ type: "text", text: "x", extra: nested(60) }],
  { tool_calls: { length: 1 } },
  { tool_calls: [null, { id: "c1" }], reasoning: nested(60) },
  { output: [null, 5, { type: "function_call" }] },
  {
    tether_coverage: { kind: "archive", checkpoint: "c", messages: ["m1", "m2"], calls: [] },
    lc_source: "summarization",
  },
  { tether_placeholder: "unrecorded", tether_ends_run: true },
  [{ lc: 1, type: "constructor", id: ["nowhere"], kwargs: {} }],
  nested(60),
  nested(10_000),
  [cyclicObject()],
  ...TEXTLESS,
  [...TEXTLESS],
  { inner: [...TEXTLESS] },
];

const FIELDS = [
  ..."content tool_calls invalid_tool_calls additional_kwargs response_metadata name id".split(" "),
  ..."tool_call_id artifact usage_metadata role status".split(" "),
];

/** Content blocks of real types, with fields of any value. */
const hostileBlocks: fc.Arbitrary<unknown> = fc.array(
  fc
    .tuple(
      fc.constantFrom(..."text image image_url media file tool_use tool_result server_tool_use".split(" ")),
      fc.dictionary(
        fc.constantFrom(
          ..."id name input text image_url url data mimeType source tool_use_id content".split(" "),
        ),
        fc.constantFrom(...HOSTILE_VALUES),
        { maxKeys: 3 },
      ),
    )
    .map(([type, fields]) => ({ type, ...fields })),
  { minLength: 1, maxLength: 3 },
);

const hostileFields = fc.dictionary(fc.constantFrom(...FIELDS), fc.constantFrom(...HOSTILE_VALUES), {
  minKeys: 1,
  maxKeys: 4,
});

/** Objects in the form of a message, with fields of wrong types and values that cannot be stored. */
export const hostileLike: fc.Arbitrary<unknown> = fc
  .tuple(
    fc.constantFrom("ai", "human", "system", "tool", "assistant", "developer"),
    hostileFields,
    fc.oneof(fc.constant("x"), hostileBlocks),
  )
  .map(([type, fields, content]) => ({ type, content, id: "m1", tool_call_id: "c1", ...fields }));

/** Instances of the same kind, as a program or an older checkpoint can have them. */
export const hostileMessage: fc.Arbitrary<BaseMessage> = fc
  .tuple(fc.nat({ max: 3 }), hostileFields, fc.option(hostileBlocks))
  .map(([place, fields, blocks]) => {
    const made = [
      () => new AIMessage({ content: "x", id: "m2" }),
      () => new HumanMessage({ content: "x", id: "m3" }),
      () => new ToolMessage({ content: "x", id: "m4", tool_call_id: "c1" }),
      () => new ChatMessage({ content: "x", id: "m5", role: "critic" }),
    ][place];
    return Object.assign(made?.() ?? new HumanMessage("x"), blocks && { content: blocks }, fields);
  });

/** Values that cannot be converted to a message. Some are objects that cannot be read, written or compared. */
export const noMessage: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom(null, undefined, 0, 1n, Number.NaN, true, Symbol("s")),
  fc.constantFrom({}, { content: "x" }, { role: 7, content: "x" }, { role: "nobody", content: "x" }),
  fc.constantFrom({ role: "tool", content: "x" }, { type: "tool" }, { type: "remove" }, { type: "ai_chunk" }),
  fc.constantFrom([], [null, "x"], ["tool", "x"], () => "x", new Date(0), new Map()),
  fc.constantFrom(throwingObject(), cyclicObject()),
);

function openAiCall(id: string): object {
  return { id, type: "function", function: { name: "tool", arguments: "{}" } };
}

function throwingObject(): object {
  return {
    get role() {
      throw new Error("Not to be read");
    },
  };
}

function cyclicObject(): object {
  const value: { self?: unknown } = {};
  value.self = value;
  return value;
}
