import { HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import pg from "pg";
import { describe, expect, it } from "vitest";
import * as doctor from "../src/doctor.js";
import * as history from "../src/history.js";
import * as root from "../src/index.js";
import * as inspector from "../src/inspector.js";
import * as langchain from "../src/langchain.js";

const graph = root.createAgentGraph({ model: "offline:", checkpointer: new MemorySaver() });
const place = { graph, config: { configurable: { thread_id: "1" } } };
const store = doctor.createGraphStore({ graph });
const messages = [new HumanMessage("Hello!")];
const plan = { kind: "nothing", schemaVersion: 1, threadId: "1", namespace: "", checkpointId: null } as const;
const receipt = { append: async () => {} };

type Call = (...given: never[]) => unknown;

/** Calls a function with what its types refuse. Contract: resolves to what it throws; undefined if it throws nothing. */
async function thrownBy(call: Call, given: readonly unknown[]): Promise<unknown> {
  try {
    const made: unknown = Reflect.apply(call, undefined, given);
    // A generator begins with its first step.
    await (typeof Reflect.get(Object(made), "next") === "function" ? (made as AsyncGenerator).next() : made);
    return undefined;
  } catch (error) {
    return error;
  }
}

const ENTRIES = { root, history, langchain, doctor, inspector };
/** Contract of a reducer: it takes what LangGraph passes. Their files are made where they are named. */
const TAKES_ALL = ["openReceipt", "MiddlewareTermination"];
const functions = Object.entries(ENTRIES).flatMap(([entry, exports]) =>
  Object.entries(exports).flatMap(([name, value]) =>
    typeof value === "function" && !TAKES_ALL.includes(name) && !/(Error|Value)$/.test(name)
      ? [{ name: `${entry}.${name}`, call: value as Call }]
      : [],
  ),
);

describe("an exported function, given anything", () => {
  const anything = [
    undefined,
    null,
    7,
    "",
    {},
    [],
    { dialekt: "openai" },
    () => {},
    true,
    Promise.resolve(),
    graph,
  ];
  const others = [undefined, null, 7, "x", {}, [], { dialekt: "openai" }];
  const first: Readonly<Record<string, unknown>> = {
    "doctor.planRepair": place,
    "doctor.diagnoseThread": place,
    "doctor.applyRepair": place,
    "doctor.undo": store,
  };

  it.each(functions)("$name throws only errors of this library", async ({ name, call }) => {
    const given = [
      ...anything.map((value) => [value]),
      ...others.map((value) => [first[name] ?? messages, value]),
      ...others.map((value) => [first[name] ?? messages, plan, value]),
    ];
    for (const list of given) {
      const error = await thrownBy(call, list);
      const isKnown = error === undefined || root.TetherError.isInstance(error);
      expect(isKnown ? "" : `${error}`).toBe("");
    }
  });
});

interface Refusal {
  readonly call: Call;
  readonly given: readonly unknown[];
  readonly says: string;
}

const refusals: readonly Refusal[] = [
  {
    call: doctor.planRepair,
    given: [place, { dialect: "claude" }],
    says: "Unknown setting `dialect`. Known settings are: closeOpenCalls.",
  },
  {
    call: doctor.planRepair,
    given: [place, { closeOpenCall: true }],
    says: "Unknown setting `closeOpenCall`. Did you mean `closeOpenCalls`?",
  },
  {
    call: doctor.planRepair,
    given: [place, { closeOpenCalls: 1 }],
    says: "Expected `closeOpenCalls` to be true or false, got `1`.",
  },
  {
    call: doctor.planRepair,
    given: [place, "yes"],
    says: 'Expected `options` to be an object, got `"yes"`.',
  },
  { call: doctor.planRepair, given: [graph], says: "Did you mean `{ graph, config }`?" },
  {
    call: doctor.planRepair,
    given: [{ graph }],
    says: "Expected `config.configurable.thread_id` to be the id of a thread, got `undefined`.",
  },
  {
    call: doctor.planRepair,
    given: [{ store: {}, ref: { threadId: "1" } }],
    says: "Expected `store` to be a store of threads, got `{}`. `createGraphStore({ graph })` makes one.",
  },
  {
    call: doctor.planRepair,
    given: [{ store, ref: "1" }],
    says: 'Expected `ref` to be an object with a `threadId`, got `"1"`.',
  },
  {
    call: doctor.planRepair,
    given: [store.read({ threadId: "1", namespace: "" })],
    says: "Expected `thread` to be",
  },
  {
    call: doctor.diagnoseThread,
    given: [place, { dialekt: "openai" }],
    says: "Unknown setting `dialekt`. Did you mean `dialect`?",
  },
  { call: doctor.diagnoseThread, given: [place, { dialect: "openay" }], says: "Did you mean `openai`?" },
  {
    call: doctor.diagnoseThread,
    given: [place, { maxTokens: "many" }],
    says: "Expected `maxTokens` to be an integer of 1 or more",
  },
  { call: doctor.diagnoseThread, given: [messages], says: "or a thread that a store has read" },
  {
    call: doctor.applyRepair,
    given: [place, plan, {}],
    says: "Expected `receipt` to be what `openReceipt` returns, or an object with `append`, got `undefined`.",
  },
  { call: doctor.applyRepair, given: [place, plan], says: "Expected `options` to be an object" },
  {
    call: doctor.applyRepair,
    given: [place, plan, { receipt: "repairs.jsonl" }],
    says: "Did you mean `await openReceipt(path)`?",
  },
  {
    call: doctor.applyRepair,
    given: [place, plan, { receipt: Promise.resolve(receipt) }],
    says: "Did you forget `await`?",
  },
  {
    call: doctor.applyRepair,
    given: [place, plan, { receipt, now: 3 }],
    says: "Expected `now` to be a function, got `3`.",
  },
  {
    call: doctor.applyRepair,
    given: [place, plan, { receipt, dialekt: "openai" }],
    says: "Did you mean `dialect`?",
  },
  {
    call: doctor.applyRepair,
    given: [place, doctor.planRepair(place), { receipt }],
    says: "Expected `plan` to be what `planRepair` returns, got `{}`. Did you forget `await`?",
  },
  { call: doctor.applyRepair, given: [{}, plan, { receipt }], says: "Expected `place` to be" },
  { call: doctor.undo, given: [graph, []], says: "Did you mean `createGraphStore({ graph })`?" },
  {
    call: doctor.undo,
    given: [store, "repairs.jsonl"],
    says: 'Expected `entries` to be the entries of a receipt, got `"repairs.jsonl"`. Did you mean `await readReceipt(path)`?',
  },
  {
    call: doctor.undo,
    given: [store, [{}]],
    says: "Expected `entries[0]` to be an entry of a receipt, got `{}`.",
  },
  {
    call: doctor.undo,
    given: [store, [], { forced: true }],
    says: "Unknown setting `forced`. Did you mean `force`?",
  },
  { call: doctor.undo, given: [store, [], { force: "yes" }], says: "Expected `force` to be true or false" },
  { call: doctor.createGraphStore, given: [graph], says: "Did you mean `{ graph }`?" },
  {
    call: doctor.createGraphStore,
    given: [{ graph, checkpoint: new MemorySaver() }],
    says: "Did you mean `checkpointer`?",
  },
  {
    call: doctor.createGraphStore,
    given: [{ graph, list: [] }],
    says: "Expected `list` to be a function, got `[]`.",
  },
  {
    call: doctor.createGraphStore,
    given: [{ graph, checkpointer: MemorySaver }],
    says: "Did you mean `new MemorySaver()`?",
  },
  { call: doctor.explain, given: [messages, { dialekt: "openai" }], says: "Did you mean `dialect`?" },
  { call: doctor.explain, given: [messages, "openai"], says: "Expected `options` to be an object" },
  { call: doctor.openReceipt, given: [{ path: "x" }], says: "Expected `path` to be the path of a file, got" },
  { call: doctor.readReceipt, given: [receipt], says: "Expected `path` to be the path of a file, got" },
  {
    call: inspector.createInspector,
    given: [{ thread: store }],
    says: "Unknown setting `thread`. Did you mean `threads`?",
  },
  {
    call: inspector.createInspector,
    given: [{ threads: graph }],
    says: "Expected `threads` to be a store of threads, or a function that returns one for a request, got",
  },
  {
    call: inspector.createInspector,
    given: [{ threads: graph }],
    says: "Did you mean `createGraphStore({ graph })`?",
  },
  {
    call: inspector.createInspector,
    given: [{ isProtected: "yes" }],
    says: "Expected `isProtected` to be true or false",
  },
  {
    call: inspector.createInspector,
    given: [{ settingsOf: {} }],
    says: "Expected `settingsOf` to be a function",
  },
  {
    call: root.postgresThreadLock,
    given: [new pg.Client()],
    says: "Expected `pool` to be a `Pool` of the package `pg`, got a `Client`. A client has one connection, and each run needs its own.",
  },
  { call: root.postgresThreadLock, given: [pg.Pool], says: "Did you mean" },
  {
    call: root.repairHistory,
    given: ["x"],
    says: 'Expected `messages` to be a list of messages, got `"x"`.',
  },
  {
    call: root.repairHistory,
    given: [undefined],
    says: "Expected `messages` to be a list of messages, got `undefined`.",
  },
  { call: root.repairHistory, given: [messages[0]], says: "Did you mean `[message]`?" },
  {
    call: root.createModel,
    given: [7],
    says: "Expected `name` to be a string such as `openai:gpt-4o-mini`, got `7`.",
  },
  { call: root.cachedCreateModel, given: [{ models: 3 }], says: "Expected `make` to be a function" },
  {
    call: root.providerStrategy,
    given: [null],
    says: "Expected `responseFormat` to be a schema, got `null`.",
  },
  { call: root.toolStrategy, given: ["x"], says: 'Expected `responseFormat` to be a schema, got `"x"`.' },
  {
    call: root.toolStrategy,
    given: [{ type: "object" }, { handleErrors: true }],
    says: "Did you mean `handleError`?",
  },
];

it.each(refusals)("$call.name says $says", async ({ call, given, says }) => {
  const error = await thrownBy(call, given);
  expect(root.TetherError.isInstance(error)).toBe(true);
  expect(`${error}`).toContain(says);
});

it("keeps a pool that is not of pg, and a store as the inspector's threads", async () => {
  const pool = { connect: async () => Promise.reject(new Error("none")), query: () => {} };
  expect(() => root.postgresThreadLock(pool)).not.toThrow();
  await graph.invoke({ messages: "Hello!" }, place.config);
  const inspect = inspector.createInspector({ threads: store, isProtected: true });
  const response = await inspect(new Request("http://localhost/tether.json"));
  expect(await response.json()).toMatchObject({ threads: [{ threadId: "1" }] });
});
