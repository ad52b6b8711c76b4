/** What the doctor and the inspector do with a thread grows in proportion to the thread, whatever faults it has. */

import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  RemoveMessage,
  SystemMessage,
  ToolMessage,
} from "@langchain/core/messages";
import { describe, expect, it } from "vitest";
import {
  applyRepair,
  diagnoseThread,
  explain,
  planRepair,
  type ReceiptEntry,
  type StoredThread,
  type ThreadStep,
  type ThreadStore,
  type ThreadWrite,
  undo,
} from "../../src/doctor.js";
import { MARKS } from "../../src/history/marks.js";
import { createInspector } from "../../src/inspector.js";
import { countStepsOf } from "../support/count-steps.js";
import { human, summary } from "../support/make-messages.js";
import { expectWarnings, OLD_PACKAGES } from "../support/test-tools.js";

expectWarnings(OLD_PACKAGES);

const SIZE = 75;
/** Four times the faults take four times the steps. Quadratic work takes up to 16 times. */
const GREATEST_FACTOR = 5;

const callOf = (id: number | string, fields: object = {}) => ({
  id: `call_${id}`,
  name: "look",
  args: {},
  type: "tool_call" as const,
  ...fields,
});
const brokenCall = (id: number) => ({
  id: `call_${id}`,
  name: "look",
  args: "{",
  type: "invalid_tool_call" as const,
});
const rawCall = (id: number) => ({
  id: `call_${id}`,
  type: "function" as const,
  function: { name: "look", arguments: "{" },
});
const responseOf = (id: number | string, fields: object) =>
  new AIMessage({ id: `a${id}`, content: "", ...fields });
const resultOf = (id: number | string, call: number, fields: object = {}) =>
  new ToolMessage({ id: `r${id}`, content: "found", tool_call_id: `call_${call}`, name: "look", ...fields });
const CLOSED = { status: "error", additional_kwargs: { [MARKS.placeholder]: "unrecorded" } } as const;

type Many = <Value>(make: (index: number) => Value | readonly Value[]) => Value[];

/** Lists in which as many things are wrong as `many` makes. */
const FAULTS: Readonly<Record<string, (many: Many) => readonly unknown[]>> = {
  "open calls in one message": (many) => [responseOf(0, { tool_calls: many(callOf) }), human("h")],
  "open calls in the last message": (many) => [human("h"), responseOf(0, { tool_calls: many(callOf) })],
  "open calls in many messages": (many) => [
    ...many((index) => responseOf(index, { tool_calls: [callOf(index)] })),
    human("h"),
  ],
  "calls of many tools": (many) => [
    responseOf(0, { tool_calls: many((index) => callOf(index, { name: `tool_${index}` })) }),
    human("h"),
  ],
  "invalid calls in one message": (many) => [
    responseOf(0, { invalid_tool_calls: many(brokenCall) }),
    human("h"),
  ],
  "invalid calls with results": (many) => [
    responseOf(0, { invalid_tool_calls: many(brokenCall) }),
    ...many((index) => resultOf(index, index)),
    human("h"),
  ],
  "invalid calls with results in many messages": (many) => [
    ...many<BaseMessage>((index) => [
      responseOf(index, { invalid_tool_calls: [brokenCall(index)] }),
      resultOf(index, index),
    ]),
    human("h"),
  ],
  "invalid calls as the provider wrote them": (many) => [
    responseOf(0, {
      invalid_tool_calls: many(brokenCall),
      additional_kwargs: { tool_calls: many(rawCall) },
    }),
    ...many((index) => resultOf(index, index)),
    human("h"),
  ],
  "invalid calls in blocks": (many) => [
    responseOf(0, {
      content: many((index) => ({ type: "tool_use", id: `call_${index}`, name: "look", input: "{" })),
      invalid_tool_calls: many(brokenCall),
    }),
    ...many((index) => resultOf(index, index)),
    human("h"),
  ],
  "orphan results": (many) => many((index) => resultOf(index, index)),
  "orphan results between messages": (many) =>
    many<BaseMessage>((index) => [human(`h${index}`), resultOf(index, index)]),
  "results of one call": (many) => [
    responseOf(0, { tool_calls: [callOf(0)] }),
    ...many((index) => resultOf(index, 0)),
    human("h"),
  ],
  "two results of each call": (many) =>
    many<BaseMessage>((index) => [
      responseOf(index, { tool_calls: [callOf(index)] }),
      resultOf(`${index}a`, index),
      resultOf(`${index}b`, index),
    ]),
  "two results of each call, and one id": (many) =>
    many<BaseMessage>((index) => [
      responseOf(index, { tool_calls: [callOf(0)] }),
      resultOf(`${index}a`, 0),
      resultOf(`${index}b`, 0),
    ]),
  "one id for the calls of one message": (many) => [
    responseOf(0, { tool_calls: many(() => callOf(0)) }),
    human("h"),
  ],
  "one id for the answered calls of one message": (many) => [
    responseOf(0, { tool_calls: many(() => callOf(0)) }),
    ...many((index) => resultOf(index, 0)),
    human("h"),
  ],
  "one id for the calls of many messages": (many) => [
    ...many((index) => responseOf(index, { tool_calls: [callOf(0)] })),
    human("h"),
  ],
  "one id for answered calls of many messages": (many) =>
    many<BaseMessage>((index) => [responseOf(index, { tool_calls: [callOf(0)] }), resultOf(index, 0)]),
  "no ids": (many) =>
    many<BaseMessage>(() => [
      new AIMessage({ content: "", tool_calls: [{ id: "", name: "", args: {} }] }),
      new ToolMessage({ content: "", tool_call_id: "" }),
    ]),
  "one id for messages": (many) =>
    many<BaseMessage>((index) => [responseOf(0, { tool_calls: [callOf(index)] }), resultOf(0, index)]),
  "misplaced results": (many) => [
    ...many((index) => responseOf(index, { tool_calls: [callOf(index)] })),
    human("h"),
    ...many((index) => resultOf(index, index)),
  ],
  "misplaced results of one message": (many) => [
    responseOf(0, { tool_calls: many(callOf) }),
    human("h"),
    ...many((index) => resultOf(index, index)).reverse(),
  ],
  "misplaced results of one id": (many) => [
    ...many((index) => responseOf(index, { tool_calls: [callOf(0)] })),
    human("h"),
    ...many((index) => resultOf(index, 0)),
  ],
  "half of the results of one message": (many) => [
    responseOf(0, { tool_calls: many(callOf) }),
    ...many((index) => (index % 2 === 0 ? [] : resultOf(index, index))),
    human("h"),
  ],
  "results in another order": (many) => [
    responseOf(0, { tool_calls: many(callOf) }),
    ...many((index) => resultOf(index, index)).reverse(),
    human("h"),
  ],
  "placeholders of one message": (many) => [
    responseOf(0, { tool_calls: many(callOf) }),
    ...many((index) => resultOf(index, index, CLOSED)),
    human("h"),
  ],
  "placeholders of one call": (many) => [
    responseOf(0, { tool_calls: [callOf(0)] }),
    ...many((index) => resultOf(index, 0, CLOSED)),
    human("h"),
  ],
  "summaries that cover each other": (many) => [
    ...many((index) => [
      human(`h${index}`),
      summary(`s${index}`, { kind: "keep", messages: [`h${index}`, `s${index - 1}`] }),
    ]),
    human("h"),
  ],
  "summaries with archives": (many) => [
    ...many((index) =>
      summary(`s${index}`, {
        kind: "archive",
        checkpoint: `k${index}`,
        messages: [],
        calls: [`call_${index}`],
      }),
    ),
    human("h"),
  ],
  "removed messages": (many) => [
    ...many((index) => human(`h${index}`)),
    ...many((index) => new RemoveMessage({ id: `h${index}` })),
    human("h"),
  ],
  "unreadable messages": (many) => [...many((index) => ({ type: "strange", id: `m${index}` })), human("h")],
  "messages that are null": (many) => [...many(() => [null]), human("h")],
  "messages in another shape": (many) => [
    ...many((index) => new HumanMessage({ id: `h${index}`, content: "Hi!", name: 5 as never })),
    human("h"),
  ],
  "messages that are joined": (many) => many((index) => human(`h${index}`)),
  "system messages": (many) => many((index) => new SystemMessage({ id: `m${index}`, content: "Be short." })),
  "calls of the provider without a result": (many) => [
    responseOf(0, {
      content: many((index) => ({
        type: "server_tool_use",
        id: `call_${index}`,
        name: "web_search",
        input: {},
      })),
      response_metadata: { model_provider: "anthropic" },
    }),
    human("h"),
  ],
};

function threadOf(messages: readonly unknown[], fields: Partial<StoredThread> = {}): StoredThread {
  return {
    threadId: "thread",
    namespace: "",
    checkpointId: "k",
    status: "idle",
    content: { kind: "read", messages },
    endedRuns: [],
    openTasks: [],
    otherChannels: [],
    repairedBy: "nobody",
    ...fields,
  };
}

const REF = { threadId: "thread", namespace: "" };

/** A store with this thread, which a write changes. */
function storeOf(
  given: StoredThread,
  steps?: (from: string | undefined) => readonly ThreadStep[],
): ThreadStore {
  let thread = given;
  return {
    target: "memory",
    canWrite: true,
    threads: async function* () {
      yield REF;
    },
    read: async () => thread,
    write: async (_, { messages }: ThreadWrite) => {
      thread = { ...thread, checkpointId: "l", content: { kind: "read", messages } };
      return { kind: "written", checkpointId: "l" };
    },
    ...(steps && { steps: async (_, { from, limit }) => steps(from).slice(0, limit) }),
    close: async () => {},
  };
}

async function open(store: ThreadStore, address: string): Promise<string> {
  const inspector = createInspector({
    threads: () => store,
    isProtected: true,
    repairCommand: "npx langgraph-tether repair",
  });
  return (await inspector(new Request(`http://localhost/tether${address}`))).text();
}

const isMessage = (value: unknown): boolean => {
  const { type } = Object(value);
  return value !== null && type !== "strange" && type !== "remove";
};

const STOPPED = { openTasks: [{ id: "1", node: "tools", error: undefined, interrupts: [] }] };

/** Contract: returns what is printed. */
const DOORS: Readonly<Record<string, (messages: readonly unknown[]) => Promise<string>>> = {
  diagnoseThread: async (messages) => JSON.stringify(diagnoseThread(threadOf(messages))),
  "diagnoseThread for a list": async (messages) =>
    JSON.stringify(diagnoseThread(threadOf(messages, { openTasks: undefined }), { dialect: "anthropic" })),
  "planRepair, applyRepair and undo": async (messages) => {
    const store = storeOf(threadOf(messages, STOPPED));
    const receipt: ReceiptEntry[] = [];
    const append = async (entry: ReceiptEntry) => void receipt.push(entry);
    const place = { store, ref: REF };
    const outcome = await applyRepair(place, await planRepair(place), { receipt: { append } });
    const undone: unknown[] = [];
    for await (const each of undo(store, receipt)) undone.push(each);
    return JSON.stringify([outcome, receipt, undone]);
  },
  explain: async (messages) => JSON.stringify(explain(messages.filter(isMessage), { dialect: "anthropic" })),
  "the list": (messages) => open(storeOf(threadOf(messages)), "?has=findings"),
  "the page": (messages) => open(storeOf(threadOf(messages)), "/threads/thread"),
  "the page with tetherMiddleware": (messages) =>
    open(storeOf(threadOf(messages)), "/threads/thread?with=tether&dialect=anthropic"),
  "the page of an agent's thread": (messages) =>
    open(storeOf(threadOf(messages, { repairedBy: "agent" })), "/threads/thread?only=changes"),
  "the JSON of an agent's thread": (messages) =>
    open(storeOf(threadOf(messages, { repairedBy: "agent" })), "/threads/thread.json?dialect=strict"),
};

/** @param run Returns the printed text. */
async function expectLinear(
  make: (many: Many) => readonly unknown[],
  run: (values: readonly unknown[]) => Promise<string>,
) {
  const costOf = async (size: number) => {
    const many: Many = (each) => Array.from({ length: size }, (_, index) => each(index)).flat() as never;
    let length = 0;
    const steps = await countStepsOf(make(many), async (values) => {
      length = (await run(values)).length;
    });
    return { steps, length };
  };
  const few = await costOf(SIZE);
  const many = await costOf(4 * SIZE);
  expect(many.steps / few.steps).toBeLessThan(GREATEST_FACTOR);
  expect(many.length / few.length).toBeLessThan(GREATEST_FACTOR);
}

describe.each(Object.entries(DOORS))("The work of %s grows with the faults", (_, run) => {
  it.each(Object.entries(FAULTS))("%s", (_, make) => expectLinear(make, run));
});

/** What a thread has besides its messages. */
const STATES: Readonly<Record<string, (many: Many) => Partial<StoredThread>>> = {
  "pending writes": (many) => ({ endedRuns: [runOf({ written: many((index) => resultOf(index, index)) })] }),
  "pending writes that remove unknown messages": (many) => ({
    endedRuns: [runOf({ written: many((index) => new RemoveMessage({ id: `x${index}` })) })],
  }),
  "late results": (many) => ({
    endedRuns: [
      runOf({
        late: many((index) => ({ place: `a0:${index}`, result: resultOf(index, index), values: [] })),
      }),
    ],
  }),
  "questions of one interrupt": (many) => ({
    status: "interrupted",
    openTasks: [
      {
        ...TASK,
        interrupts: [
          {
            value: {
              actionRequests: many((index) => ({ name: `tool_${index}`, args: {} })),
              reviewConfigs: many((index) => ({
                actionName: `tool_${index}`,
                allowedDecisions: ["approve"],
              })).reverse(),
            },
          },
        ],
      },
    ],
  }),
  "interrupts of many tasks": (many) => ({
    status: "interrupted",
    openTasks: many((index) => ({ ...TASK, id: `${index}`, interrupts: [{ value: "May it?" }] })),
  }),
  "failed tasks": (many) => ({
    status: "error",
    openTasks: many((index) => ({ ...TASK, id: `${index}`, error: "no" })),
  }),
  "unstarted calls": (many) => ({ endedRuns: [runOf({ unstarted: many((index) => `a0:${index}`) })] }),
};

const TASK = { id: "1", node: "tools", error: undefined, interrupts: [] };

const runOf = (fields: Partial<StoredThread["endedRuns"][number]>): StoredThread["endedRuns"][number] => ({
  checkpointId: "k",
  fate: "pending",
  history: [new AIMessage({ id: "a0", content: "" })],
  written: [],
  interrupts: [],
  nodes: [],
  unstarted: [],
  late: [],
  headId: "a0",
  removed: new Set(),
  otherChannels: [],
  ...fields,
});

describe("The work grows with", () => {
  const openCalls = FAULTS["open calls in one message"] ?? (() => []);
  it.each(Object.entries(STATES))("%s", (_, make) =>
    expectLinear(
      (many) => [threadOf(openCalls(many), make(many))],
      async ([thread]) => {
        const { endedRuns, ...fields } = thread as StoredThread;
        // A set cannot be watched.
        const runs = endedRuns.map((each) => ({ ...each, removed: new Set<string>() }));
        const stored: StoredThread = { ...fields, endedRuns: runs };
        const receipt: ReceiptEntry[] = [];
        const append = async (entry: ReceiptEntry) => void receipt.push(entry);
        const plan = planRepair(stored);
        const outcome = await applyRepair({ store: storeOf(stored), ref: REF }, plan, {
          receipt: { append },
        });
        const agent = storeOf({ ...stored, repairedBy: "agent" });
        return [
          JSON.stringify([diagnoseThread(stored), outcome, receipt]),
          await open(storeOf(stored), "/threads/thread"),
          await open(agent, "/threads/thread"),
        ].join();
      },
    ),
  );

  it("the steps of a thread", () =>
    expectLinear(
      (many) =>
        many((index) => ({
          checkpointId: `k${index}`,
          parentId: `k${index + 1}`,
          createdAt: undefined,
          metadata: { source: "loop" },
          messages: [human("h"), responseOf(0, { tool_calls: [callOf(0)] })],
          next: ["tools"],
          tasks: [],
        })),
      (steps) =>
        open(
          storeOf(threadOf([human("h")]), () => steps as ThreadStep[]),
          "/threads/thread",
        ),
    ));

  it("the entries of a receipt", () =>
    expectLinear(
      (many) =>
        many<unknown>((index) => [
          { schemaVersion: 1, kind: "result", ...REF, id: `w${index}`, outcome: "moved" },
          {
            schemaVersion: 1,
            kind: "intent",
            id: `x${index}`,
            ...REF,
            before: [],
            beforeHash: "",
            afterHash: "",
          },
        ]),
      async (entries) => {
        const outcomes: unknown[] = [];
        for await (const outcome of undo(storeOf(threadOf([])), entries as ReceiptEntry[]))
          outcomes.push(outcome);
        return JSON.stringify(outcomes);
      },
    ));

  it("the states of archives, which can lead to one another", async () => {
    const read: (string | undefined)[] = [];
    const archives = Array.from({ length: 60 }, (_, index) =>
      summary(`s${index}`, { kind: "archive", checkpoint: `k${index}`, messages: [`h${index}`], calls: [] }),
    );
    const step: ThreadStep = {
      checkpointId: "k",
      createdAt: undefined,
      metadata: {},
      messages: archives,
      next: [],
      tasks: [],
    };
    const store = storeOf(threadOf(archives), (from) => {
      read.push(from);
      return [step];
    });
    await open(store, "/threads/thread");
    // Each of these states could have a whole history.
    expect(read.filter((from) => from !== undefined).length).toBeLessThanOrEqual(20);
  });
});
