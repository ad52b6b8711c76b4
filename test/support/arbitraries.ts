/**
 * Arbitrary updates and stored lists. They are generated as entries, which print well and shrink well. `build` turns
 * entries into the values that a graph gets. The alphabets of ids are small, so that ids collide.
 */

import * as first from "@langchain/core/messages";
import { AIMessage, HumanMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
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

interface WithText {
  readonly id: Id;
  readonly text: string;
}

export type Entry =
  | (WithText & { readonly kind: "human" | "system"; readonly form: Form })
  | (WithText & { readonly kind: "recovered"; readonly after: string; readonly calls: readonly CallEntry[] })
  | (WithText & { readonly kind: "ai"; readonly form: Form; readonly calls: readonly CallEntry[] })
  | (WithText & { readonly kind: "result"; readonly form: Form; readonly call: string })
  | (WithText & { readonly kind: "placeholder"; readonly call: string })
  | (WithText & { readonly kind: "summary"; readonly coverage: Coverage })
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

/** One of these values, each with its weight. */
export function weighted<Value>(
  ...choices: readonly (readonly [number, fc.Arbitrary<Value>])[]
): fc.Arbitrary<Value> {
  return fc.oneof(...choices.map(([weight, arbitrary]) => ({ weight, arbitrary })));
}

const kindOf = <Kind extends Entry["kind"]>(
  kind: Kind,
  fields: Readonly<Record<string, fc.Arbitrary<unknown>>>,
) => fc.record({ kind: fc.constant(kind), ...fields }) as unknown as fc.Arbitrary<Entry>;

const messageId = fc.constantFrom(...MESSAGE_IDS);
const id = weighted<Id>([5, messageId], [2, fc.constant(undefined)], [1, fc.constant("")]);
const callId = weighted<string>([12, fc.constantFrom(...CALL_IDS)], [1, fc.constant("")]);
const text = fc.constantFrom("", "x", "y");
const form = weighted<Form>(
  [6, fc.constant("message")],
  [1, fc.constantFrom("frozen", "chunk", "second-message", "second-chunk", "role", "type")],
);
const place = weighted<CallEntry["place"]>([4, fc.constant("listed")], [2, fc.constantFrom(...CALL_PLACES)]);
const calls = (maxLength: number) => fc.array(fc.record({ id: callId, place }), { maxLength });
const coverage: fc.Arbitrary<Coverage> = fc.oneof(
  fc.record({ kind: fc.constant("keep" as const), messages: fc.uniqueArray(messageId, { maxLength: 4 }) }),
  fc.record({
    kind: fc.constant("archive" as const),
    checkpoint: fc.constant("c"),
    messages: fc.uniqueArray(messageId, { maxLength: 6 }),
    calls: fc.array(callId, { maxLength: 3 }),
    unanswered: fc.oneof(fc.constant(undefined), fc.array(callId, { maxLength: 2 })),
  }),
);

const entry = weighted<Entry>(
  [2, kindOf("human", { id, text, form })],
  [2, kindOf("system", { id, text, form })],
  [8, kindOf("ai", { id, text, form, calls: calls(4) })],
  [10, kindOf("result", { id, text, form, call: callId })],
  [2, kindOf("recovered", { id, text, after: fc.constantFrom(...MESSAGE_IDS, ""), calls: calls(2) })],
  [3, kindOf("placeholder", { id, text, call: callId })],
  [2, kindOf("summary", { id, text, coverage })],
  [1, kindOf("like", { value: messageLike })],
  [3, kindOf("removal", { id: messageId })],
  [1, kindOf("removal", { id: fc.constant("unknown") })],
  [1, kindOf("remove-all", {})],
  [2, kindOf("again", { back: fc.nat({ max: 5 }) })],
  [1, kindOf("no-message", { value: noMessage })],
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
    case "system":
      return inForm(one.form, one.kind, fieldsOf(one));
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
      return new HumanMessage({ ...fieldsOf(one), content, additional_kwargs });
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

const fieldsOf = ({ id, text }: WithText) => ({ content: text, ...(id !== undefined && { id }) });

const CLASSES = {
  human: "HumanMessage",
  system: "SystemMessage",
  ai: "AIMessage",
  tool: "ToolMessage",
} as const;

function inForm(
  form: Form,
  type: keyof typeof CLASSES,
  fields: object,
  calls: readonly CallEntry[] = [],
): unknown {
  if (form === "role" || form === "type") return { [form]: type, ...fields };
  const name = `${CLASSES[type]}${form.endsWith("chunk") ? "Chunk" : ""}` as const;
  const message = new (form.startsWith("second") ? second.messages : first)[name](fields as never);
  if (form !== "message" && form !== "frozen") return message;
  return form === "frozen" ? Object.freeze(withRawCalls(message, calls)) : withRawCalls(message, calls);
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
