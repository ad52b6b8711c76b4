/**
 * Arbitrary updates and stored lists. They are generated as entries, which print well and shrink well. `build` turns
 * entries into the values that a graph gets. The alphabets of ids are small, so that ids collide.
 */

import {
  AIMessage,
  AIMessageChunk,
  HumanMessage,
  HumanMessageChunk,
  RemoveMessage,
  SystemMessage,
  SystemMessageChunk,
  ToolMessage,
  ToolMessageChunk,
} from "@langchain/core/messages";
import { REMOVE_ALL_MESSAGES } from "@langchain/langgraph";
import fc from "fast-check";
import { markRecovered, PLACEHOLDER_KEY } from "../../src/history/result.js";
import { createSummary } from "../../src/history/summary.js";
import { messageLike, noMessage } from "./foreign-values.js";
import { second } from "./second-copy.js";

type Coverage = Parameters<typeof createSummary>[1];

const MESSAGE_IDS = ["m1", "m2", "m3", "m4", "m5", "m6", "m7", "m8"] as const;
const CALL_IDS = ["c1", "c2", "c3"] as const;

/**
 * Where a call is written: in a list, in the content, or in both. `raw`: only in `additional_kwargs`, which counts if no
 * call is in `tool_calls`. `echoed`: in `tool_calls` and there, as OpenAI's client writes it.
 */
const CALL_PLACES = ["listed", "invalid", "mirrored", "block", "item", "raw", "echoed"] as const;

interface CallEntry {
  readonly id: string;
  readonly place: (typeof CALL_PLACES)[number];
}

type Id = string | undefined;

/**
 * The form of a message: a message, one that cannot be changed, a chunk, a message or chunk of a second copy of
 * LangChain, or an object with `role` or `type`.
 */
type Form = "message" | "frozen" | "chunk" | "second-message" | "second-chunk" | "role" | "type";

export type Entry =
  | { readonly kind: "human" | "system"; readonly id: Id; readonly text: string; readonly form: Form }
  | {
      readonly kind: "recovered";
      readonly id: Id;
      readonly text: string;
      readonly after: string;
      readonly calls: readonly CallEntry[];
    }
  | {
      readonly kind: "ai";
      readonly id: Id;
      readonly text: string;
      readonly form: Form;
      readonly calls: readonly CallEntry[];
    }
  | {
      readonly kind: "result";
      readonly id: Id;
      readonly text: string;
      readonly form: Form;
      readonly call: string;
    }
  | { readonly kind: "placeholder"; readonly id: Id; readonly text: string; readonly call: string }
  | { readonly kind: "summary"; readonly id: Id; readonly text: string; readonly coverage: Coverage }
  | { readonly kind: "like"; readonly value: unknown }
  | { readonly kind: "removal"; readonly id: string }
  | { readonly kind: "remove-all" }
  /** The same object that was built this many entries before. */
  | { readonly kind: "again"; readonly back: number }
  | { readonly kind: "no-message"; readonly value: unknown };

/** Whether the message came with an id, so that none was derived. */
export function isGivenId(id: string | undefined): boolean {
  return MESSAGE_IDS.some((given) => given === id);
}

const messageId = fc.constantFrom(...MESSAGE_IDS);
const id: fc.Arbitrary<Id> = fc.oneof(
  { weight: 5, arbitrary: messageId },
  { weight: 2, arbitrary: fc.constant(undefined) },
  { weight: 1, arbitrary: fc.constant("") },
);
const callId = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom(...CALL_IDS) },
  { weight: 1, arbitrary: fc.constant("") },
);
const text = fc.constantFrom("", "x", "y");
const form = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Form>("message") },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Form>("frozen", "chunk", "second-message", "second-chunk", "role", "type"),
  },
);
const call = fc.record({
  id: callId,
  place: fc.oneof(
    { weight: 4, arbitrary: fc.constant("listed" as const) },
    { weight: 2, arbitrary: fc.constantFrom(...CALL_PLACES) },
  ),
});
const coverage: fc.Arbitrary<Coverage> = fc.oneof(
  fc.record({ kind: fc.constant("keep" as const), messages: fc.uniqueArray(messageId, { maxLength: 4 }) }),
  fc.record({
    kind: fc.constant("archive" as const),
    messages: fc.uniqueArray(messageId, { maxLength: 6 }),
    calls: fc.array(callId, { maxLength: 3 }),
    unanswered: fc.oneof(fc.constant(undefined), fc.array(callId, { maxLength: 2 })),
  }),
);

const entry: fc.Arbitrary<Entry> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ kind: fc.constantFrom("human", "system"), id, text, form }) },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant("ai" as const),
      id,
      text,
      form,
      calls: fc.array(call, { maxLength: 4 }),
    }),
  },
  {
    weight: 10,
    arbitrary: fc.record({ kind: fc.constant("result" as const), id, text, form, call: callId }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant("recovered" as const),
      id,
      text,
      after: fc.constantFrom(...MESSAGE_IDS, ""),
      calls: fc.array(call, { maxLength: 2 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("placeholder" as const), id, text, call: callId }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("summary" as const), id, text, coverage }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("like" as const), value: messageLike }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant("removal" as const), id: messageId }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("removal" as const), id: fc.constant("unknown") }) },
  { weight: 1, arbitrary: fc.constant<Entry>({ kind: "remove-all" }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("again" as const), back: fc.nat({ max: 5 }) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("no-message" as const), value: noMessage }) },
);

/** The updates of one thread over time. */
export const entries = (maxLength = 20): fc.Arbitrary<readonly Entry[]> => fc.array(entry, { maxLength });

/** How a list is split into updates: for each entry, whether the next one begins another update. */
export const splits = fc.array(fc.boolean(), { maxLength: 20 });

/** Only messages, as in a provider's log or an older checkpoint, in any order. */
export const messageEntries = (maxLength = 16): fc.Arbitrary<readonly Entry[]> =>
  fc.array(
    entry.filter(({ kind }) => !["removal", "remove-all", "no-message", "like"].includes(kind)),
    { maxLength },
  );

/** The values that a list of entries describes. */
export function build(list: readonly Entry[]): unknown[] {
  const values: unknown[] = [];
  for (const one of list) {
    values.push(one.kind === "again" ? (values.at(-1 - one.back) ?? "again") : buildOne(one));
  }
  return values;
}

/** The same entries with unique texts, so that a message can be traced by its text. */
export function buildDistinct(list: readonly Entry[]): unknown[] {
  return build(list.map((one, index) => ("text" in one ? { ...one, text: `${one.text}#${index}` } : one)));
}

function buildOne(one: Exclude<Entry, { kind: "again" }>): unknown {
  switch (one.kind) {
    case "human":
      return inForm(one.form, "human", fieldsOf(one));
    case "system":
      return inForm(one.form, "system", fieldsOf(one));
    case "ai":
      return inForm(one.form, "ai", { ...fieldsOf(one), ...callFields(one.text, one.calls) }, one.calls);
    case "recovered": {
      const message = new AIMessage({ ...fieldsOf(one), ...callFields(one.text, one.calls) });
      return markRecovered(withRawCalls(message, one.calls), one.after);
    }
    case "result":
      return inForm(one.form, "tool", { ...fieldsOf(one), tool_call_id: one.call });
    case "placeholder":
      return new ToolMessage({
        ...fieldsOf(one),
        tool_call_id: one.call,
        status: "error",
        additional_kwargs: { [PLACEHOLDER_KEY]: "unrecorded" },
      });
    case "summary": {
      const { additional_kwargs, content } = createSummary(one.text, one.coverage);
      return new HumanMessage({
        content,
        additional_kwargs,
        ...(one.id === undefined ? {} : { id: one.id }),
      });
    }
    case "removal":
      return new RemoveMessage({ id: one.id });
    case "remove-all":
      return new RemoveMessage({ id: REMOVE_ALL_MESSAGES });
    case "like":
    case "no-message":
      return one.value;
  }
}

interface Fields {
  readonly content: string;
  readonly id?: string;
}

function fieldsOf({ id, text }: { readonly id: Id; readonly text: string }): Fields {
  return id === undefined ? { content: text } : { content: text, id };
}

const CLASSES = {
  human: {
    message: HumanMessage,
    chunk: HumanMessageChunk,
    "second-message": second.messages.HumanMessage,
    "second-chunk": second.messages.HumanMessageChunk,
  },
  system: {
    message: SystemMessage,
    chunk: SystemMessageChunk,
    "second-message": second.messages.SystemMessage,
    "second-chunk": second.messages.SystemMessageChunk,
  },
  ai: {
    message: AIMessage,
    chunk: AIMessageChunk,
    "second-message": second.messages.AIMessage,
    "second-chunk": second.messages.AIMessageChunk,
  },
  tool: {
    message: ToolMessage,
    chunk: ToolMessageChunk,
    "second-message": second.messages.ToolMessage,
    "second-chunk": second.messages.ToolMessageChunk,
  },
} as const;

function inForm(
  form: Form,
  type: keyof typeof CLASSES,
  fields: object,
  calls: readonly CallEntry[] = [],
): unknown {
  if (form === "role" || form === "type") return { [form]: type, ...fields };
  if (form === "message") return withRawCalls(new CLASSES[type].message(fields as never), calls);
  if (form === "frozen")
    return Object.freeze(withRawCalls(new CLASSES[type].message(fields as never), calls));
  return new CLASSES[type][form](fields as never);
}

/** Set after the construction, because LangChain's constructor warns of calls that are only there. */
function withRawCalls<T extends object>(message: T, calls: readonly CallEntry[]): T {
  const raw = calls
    .filter(({ place }) => place === "raw" || place === "echoed")
    .map(({ id }) => ({ id, type: "function", function: { name: "tool", arguments: "{}" } }));
  return raw.length === 0 ? message : Object.assign(message, { additional_kwargs: { tool_calls: raw } });
}

function callFields(text: string, calls: readonly CallEntry[]): object {
  const placed = (...places: CallEntry["place"][]) => calls.filter(({ place }) => places.includes(place));
  const blocks = placed("mirrored", "block", "item").map(blockOfCall);
  return {
    ...(blocks.length > 0 ? { content: [{ type: "text", text }, ...blocks] } : {}),
    tool_calls: placed("listed", "mirrored", "echoed").map((one) => ({ id: one.id, name: "tool", args: {} })),
    invalid_tool_calls: placed("invalid").map((one) => ({ id: one.id, name: "tool", args: "{" })),
  };
}

function blockOfCall({ id, place }: CallEntry): object {
  return place === "item"
    ? { type: "function_call", id: `item-${id}`, call_id: id, name: "tool", arguments: "{}" }
    : { type: "tool_use", id, name: "tool", input: {} };
}
