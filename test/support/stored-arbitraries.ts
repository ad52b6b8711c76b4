/** Arbitrary values that a checkpoint can hold, and arbitrary stored texts. */

import {
  AIMessage,
  AIMessageChunk,
  ChatMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { Command, Send } from "@langchain/langgraph";
import { DeltaSnapshot } from "@langchain/langgraph-checkpoint";
import fc from "fast-check";
import { HOSTILE_VALUES } from "./foreign-values.js";
import { second } from "./second-copy.js";

/** Keys that mean something in the stored form, or to JavaScript. */
const KEYS = [
  ..."a b lc type id kwargs value args method lg_name node timeout content name tool_calls artifact".split(
    " ",
  ),
  ..."additional_kwargs response_metadata usage_metadata tool_call_id content_blocks status 1 0".split(" "),
  ..."__proto__ lc_kwargs lcKwargs tool_call_chunks toolCallChunks __lc_escaped__ constructor toJSON".split(
    " ",
  ),
];
const WORDS = [..."undefined constructor delta_snapshot secret Map Set Send ai".split(" "), "\ud800é\u2028"];

const scalar = fc.oneof(
  fc.constantFrom<unknown>(...WORDS, 0, -0, 1, 2, 1.5, Number.NaN, Infinity, null, true, false, ""),
  fc.string({ unit: "binary", maxLength: 5 }),
  fc.double(),
);

type Values = Record<string, unknown>;
const MESSAGES: readonly ((fields: Values) => unknown)[] = [
  (fields) => new HumanMessage({ content: "a", ...fields }),
  (fields) => new AIMessage({ content: "a", ...withoutRawCalls(fields) }),
  (fields) => new AIMessageChunk({ content: "a", ...withoutRawCalls(fields) }),
  (fields) => new SystemMessage({ content: "a", ...fields }),
  (fields) => new ToolMessage({ content: "a", tool_call_id: "c", ...fields }),
  (fields) => new RemoveMessage({ id: "a", ...fields }),
  (fields) => new ChatMessage({ content: "a", role: "b", ...fields }),
  (fields) => new second.messages.HumanMessage({ content: "a", ...fields }),
  (fields) => new second.messages.AIMessage({ content: "a", ...withoutRawCalls(fields) }),
];

/** LangChain warns of calls that are only in `additional_kwargs`. */
function withoutRawCalls({ additional_kwargs, ...fields }: Values): Values {
  const { tool_calls: _calls, ...others } = Object(additional_kwargs);
  return typeof additional_kwargs === "object" ? { ...fields, additional_kwargs: others } : fields;
}

/** A message. Its class refuses some fields. */
function createMessage(kind: number, fields: Values): unknown {
  try {
    return MESSAGES[kind % MESSAGES.length]?.(fields);
  } catch {
    return fields;
  }
}

const containers: readonly ((inner: unknown[]) => unknown)[] = [
  (inner) => new Map(inner.map((value, index) => [index % 2 === 0 ? index : value, value])),
  (inner) => new Set(inner),
  (inner) => new Send("node", inner[0]),
  (inner) => new Send("node", inner, { timeout: 3 }),
  (inner) => new DeltaSnapshot(inner[0]),
  (inner) => new DeltaSnapshot(inner),
  (inner) => new Command({ update: { inner } }),
  (inner) => Object.assign(Object.create(null), { inner }),
  (inner) => ({ toJSON: () => inner[0] }),
  (inner) => Object.freeze({ inner }),
  (inner) => new Array(2).concat(inner),
];
const leaves: readonly (() => unknown)[] = [
  () => undefined,
  () => new Date(0),
  () => /a/g,
  () => new RangeError("no"),
  () => new Uint8Array([1, 255]),
  () => Buffer.from("a"),
  () => () => 1,
  () => Symbol("a"),
  () => Object("boxed"),
];

/** Makes a value. Each call makes another one of the same shape. `above` are the values that will hold it. */
export type Recipe = (above: readonly object[]) => unknown;

const { recipe } = fc.letrec<{ recipe: Recipe; fields: Recipe }>((tie) => ({
  fields: fc
    .array(fc.tuple(fc.constantFrom(...KEYS), tie("recipe")), { maxLength: 4 })
    .map((members) => (above: readonly object[]) => {
      const object = {};
      for (const [key, make] of members) {
        const value = make([...above, object]);
        Object.defineProperty(object, key, { value, enumerable: true, writable: true, configurable: true });
      }
      return object;
    }),
  recipe: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 4, arbitrary: scalar.map((value) => () => value) },
    { weight: 3, arbitrary: tie("fields") },
    { weight: 1, arbitrary: fc.constantFrom(...leaves) },
    {
      weight: 2,
      arbitrary: fc.array(tie("recipe"), { maxLength: 3 }).map((items) => (above: readonly object[]) => {
        const list: unknown[] = [];
        for (const make of items) list.push(make([...above, list]));
        return list;
      }),
    },
    {
      weight: 4,
      arbitrary: fc.tuple(fc.nat(), tie("fields")).map(
        ([kind, make]) =>
          (above: readonly object[]) =>
            createMessage(kind, Object(make(above))),
      ),
    },
    {
      weight: 1,
      arbitrary: fc.tuple(fc.constantFrom(...containers), fc.array(tie("recipe"), { maxLength: 3 })).map(
        ([hold, items]) =>
          (above: readonly object[]) =>
            hold(items.map((make) => make(above))),
      ),
    },
  ),
}));

/** Recipes of values without a cycle. */
export const treeRecipes: fc.Arbitrary<Recipe> = recipe;

/** Recipes of values, seldom with a cycle, a bigint or a hostile field. */
export const recipes: fc.Arbitrary<Recipe> = fc.oneof(
  { weight: 12, arbitrary: recipe },
  {
    weight: 1,
    arbitrary: fc.tuple(recipe, fc.nat(3), fc.nat()).map(([make, up, kind]) => (above: readonly object[]) => {
      const state: Values = {};
      const inner: Values = { artifact: [], content: [] };
      state["messages"] = [createMessage(kind, inner), make([state, ...above])];
      Object(inner["artifact"]).push([state, inner, state["messages"], 1n][up]);
      return state;
    }),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.nat(), fc.constantFrom(...KEYS), fc.constantFrom(...HOSTILE_VALUES))
      .map(([kind, key, value]) => () => [createMessage(kind, { [key]: value }), new Date(0)]),
  },
);

const STORED_CLASSES =
  "HumanMessage SystemMessage ToolMessage RemoveMessage AIMessage AIMessageChunk ChatMessage Nothing".split(
    " ",
  );

const record = (name: fc.Arbitrary<string>, kwargs: fc.Arbitrary<unknown>) =>
  fc.record({
    lc: fc.constant(1),
    type: fc.constant("constructor"),
    id: name.map((last) => ["langchain_core", "messages", last]),
    kwargs,
  });

const { tree } = fc.letrec<{ tree: unknown; fields: unknown }>((tie) => ({
  // An object from entries has `__proto__` as a key of its own.
  fields: fc
    .array(fc.tuple(fc.constantFrom(...KEYS), tie("tree")), { maxLength: 4 })
    .map((entries) => Object.fromEntries(entries.filter(([key]) => key !== "toJSON"))),
  tree: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 4, arbitrary: scalar },
    { weight: 3, arbitrary: tie("fields") },
    { weight: 2, arbitrary: fc.array(tie("tree"), { maxLength: 3 }) },
    { weight: 2, arbitrary: fc.constant({ lc: 2, type: "undefined" }) },
    { weight: 1, arbitrary: tie("tree").map((value) => ({ lc: 2, type: "delta_snapshot", value })) },
    {
      weight: 1,
      arbitrary: fc
        .tuple(
          fc.constantFrom("Map", "Set", "RegExp", "Error", "Uint8Array"),
          fc.array(tie("tree"), { maxLength: 2 }),
        )
        .map(([name, args]) => ({ lc: 2, type: "constructor", id: [name], args: [args] })),
    },
    {
      weight: 4,
      arbitrary: record(fc.constantFrom(...STORED_CLASSES), tie("fields")),
    },
  ),
}));

/** Texts that LangGraph could have stored, and texts that only look so. */
export const storedTexts: fc.Arbitrary<string> = tree.map((value) => JSON.stringify(value) ?? "null");
