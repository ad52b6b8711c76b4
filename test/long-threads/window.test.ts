/** Threads that get longer than the window of their model. No turn fails, whatever the summariser does. */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  type AgentGraphOptions,
  chatMiddleware,
  createAgentGraph,
  type RunContext,
} from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { isUserMessage } from "../support/internals.js";
import { humanOf, textOf, tokensOf, turnsOf } from "../support/long-histories.js";
import { type Answer, calls, FunctionModel, shortSummariser } from "../support/models.js";
import { openThread } from "../support/open-thread.js";
import { OVERFLOW_REFUSALS, type OverflowFamily, WindowModel } from "../support/overflow-refusals.js";
import { expectWarnings } from "../support/test-tools.js";
import { inThread } from "../support/thread.js";
import { makeTool } from "../support/tools.js";

expectWarnings(/^`summary(?:Model)?` has no effect while/);

type Options = Partial<AgentGraphOptions>;

const FAMILIES = Object.keys(OVERFLOW_REFUSALS) as OverflowFamily[];
const IS_SLOW = process.env["SLOW_TESTS"] === "1";

/** The threads are beyond the window after half of them. `SLOW_TESTS=1` plays longer ones. */
const { TURNS, WINDOW } = IS_SLOW ? { TURNS: 60, WINDOW: 3_000 } : { TURNS: 10, WINDOW: 1_500 };
const ROUNDS = IS_SLOW ? 60 : 30;
const failing = () => new FunctionModel(() => new Error("503 overloaded"));
const silent = () => new FunctionModel(() => "");
const tokens = (maxTokensBeforeSummary: number) => ({ maxTokensBeforeSummary });
const isOff = tokens(0);

/** A tool whose results and arguments are as long as its caller says. */
const look = makeTool(
  "look",
  async ({ size }: { size: number }) => textOf(size, "found"),
  z.object({ size: z.number(), query: z.string().optional() }),
);

const lookOnce: Answer = ({ messages }) =>
  messages.at(-1)?.type === "tool" ? textOf(30, "answer") : calls(["look", { size: 120 }]);

const threadOf = (model: FunctionModel, options: Options = {}) =>
  openThread(createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver(), ...options }));

const requestsOf = (messages: readonly BaseMessage[]) => messages.filter(isUserMessage);

/** The numbered turns of a new thread, whose model always gets the last request. */
async function talk(model: FunctionModel, options: Options, turns = TURNS, afterEach = () => {}) {
  const thread = threadOf(model, options);
  const runs = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const request = textOf(20, `request-${turn}`);
    const run = await thread.send(request);
    runs.push(run);
    const latest = requestsOf(model.requests.at(-1)?.messages ?? []).at(-1);
    if (run.error === undefined) expect(latest?.text).toContain(request);
    afterEach();
  }
  expect(runs.flatMap(({ error }) => error ?? [])).toEqual([]);
  return { events: runs.flatMap(({ events }) => events), history: await thread.read() };
}

describe(`In ${TURNS} turns with a window of ${WINDOW} tokens, no turn fails`, () => {
  it.each(FAMILIES)(
    "where the summariser fails, and the model refuses in the words of %s",
    async (family) => {
      const model = new WindowModel({ window: WINDOW, family }, lookOnce);
      const { history } = await talk(model, { summaryModel: failing() });
      expect(model.refused).toEqual([]);
      expect(requestsOf(history)).toHaveLength(TURNS);
      expect(model.overflows.length).toBeGreaterThan(0);
      // It learns the window, and does not try it in every turn. From a number of bytes it learns nothing.
      expect(model.overflows.length).toBeLessThan(family === "proxy" ? 2 * TURNS : 7);
    },
  );

  it("where the client states the window, and no request is too long", async () => {
    const model = new WindowModel({ window: WINDOW, family: "openai", stated: WINDOW / 1.25 }, lookOnce);
    const { events } = await talk(model, isOff);
    expect(model.overflows).toEqual([]);
    const shortened = {
      type: "input-reduced",
      rung: "shortened",
      reason: undefined,
      maxTokens: expect.any(Number),
    };
    expect(events.findLast(({ type }) => type === "input-reduced")).toMatchObject(shortened);
  });

  it("where the summariser has a smaller window than the steps", async () => {
    const summaryModel = new WindowModel(
      { window: 1_000, family: "groq" },
      ({ index }) => `summary ${index}`,
    );
    const model = new FunctionModel(() => textOf(100, "answer"));
    const { events } = await talk(model, { summaryModel, maxTokensBeforeSummary: 2_000 }, IS_SLOW ? 40 : 16);
    expect(events.map(({ type }) => type)).toContain("summary-made");
  });
});

it("The beginning of the input stays the same for several turns, for the prompt cache", async () => {
  const turns = 20;
  const model = new WindowModel({ window: 6_000, family: "openai", stated: 5_600 }, lookOnce);
  await talk(model, isOff, turns);
  const texts = model.requests.map(({ messages }) => messages.map(({ text }) => text));
  const isPrefix = (one: readonly string[], next: readonly string[]) =>
    one.every((text, index) => text === next[index]);
  const broken = texts.slice(1).filter((next, index) => !isPrefix(texts[index] ?? [], next));
  // There are two requests in each turn.
  expect(broken.length).toBeLessThan(turns / 2);
});

const MEGABYTE = 1_000_000;
const long = `BEGIN ${"text ".repeat(MEGABYTE / 5)} END`;

describe("One huge message does not end the thread", () => {
  const families = ["openai", "dashscope", "groq"] as const;
  const summarisers = [
    ["fails", { summaryModel: failing() }],
    ["works", { summaryModel: shortSummariser() }],
    ["is off", isOff],
  ] as const;
  const messages = [
    ["a tool result of 5 MB", "look", { size: MEGABYTE }],
    ["arguments of 1 MB", "look", { size: 5, query: long }],
    ["a user message of 1 MB", long, {}],
  ] as const;
  /** Each family and each summariser once; `SLOW_TESTS=1` tries each with each. */
  const cases = messages.flatMap(([what, request, args]) =>
    families.flatMap((family, row) =>
      summarisers
        .filter((_, column) => IS_SLOW || column === row)
        .map(
          ([title, options]) =>
            [`${what} (${family}, the summariser ${title})`, { family, request, args, options }] as const,
        ),
    ),
  );

  it.each(cases)("%s", async (_title, { family, request, args, options }) => {
    const model = new WindowModel({ window: 8_000, family }, ({ text }) =>
      text === "look" ? calls(["look", args]) : "done",
    );
    const thread = threadOf(model, options);
    for (const text of ["hello", request, "and now?", "thank you"])
      expect((await thread.send(text)).error).toBeUndefined();
    expect(model.refused).toEqual([]);
    const stored = await thread.read();
    if ("size" in args)
      expect(stored.find(({ type }) => type === "tool")?.text).toBe(textOf(args.size, "found"));
    else {
      const shown = model.accepted.flat().find(({ text }) => text.includes("BEGIN"));
      expect(shown?.text).toMatch(/BEGIN.*shortened from \d+ characters.* END$/s);
    }
  });

  it(`a turn of ${ROUNDS} rounds`, async () => {
    const model = new WindowModel({ window: WINDOW, family: "openai" }, ({ messages, index }) =>
      index < ROUNDS ? calls(["look", { size: 100 }]) : String(messages.length),
    );
    await talk(model, { maxIterations: 200, ...isOff }, 1);
  });
});

describe("A request that stays too long", () => {
  it("fails with the provider's words after at most three shorter ones", async () => {
    const model = new WindowModel({ window: 5, family: "openai" });
    const { error } = await threadOf(model).send(textOf(500, "hello"));
    const message = expect.stringContaining("maximum context length");
    expect(error).toMatchObject({ code: "MODEL_FAILED", message });
    expect(model.requests.length).toBeLessThanOrEqual(4);
  });

  it("is not made again for another error", async () => {
    const model = new FunctionModel(() => Object.assign(new Error("tokens per min (TPM)"), { status: 429 }));
    expect((await threadOf(model).send("hello")).error).toBeDefined();
    expect(model.requests).toHaveLength(1);
  });
});

it("An event for a shorter request says what the model does not get", async () => {
  const model = new WindowModel({ window: 3_000, family: "anthropic" });
  const thread = threadOf(model, isOff);
  const events = [];
  while (model.overflows.length === 0) events.push(...(await thread.send(textOf(250, "request"))).events);
  const shortened = events.filter((event) => event.type === "input-reduced");
  const [first, second] = await thread.read();
  const [leftOut, maxTokens] = [expect.arrayContaining([first?.id, second?.id]), expect.any(Number)];
  const reason = expect.stringContaining("prompt is too long");
  expect(shortened).toEqual([
    { type: "input-reduced", rung: "shortened", reason, maxTokens, messageIds: [], leftOut },
  ]);
  expect(model.requests.at(-1)?.messages[0]?.text).toContain(
    `[${shortened[0]?.leftOut.length} earlier messages are left out here`,
  );
});

it("The bound holds for what a chat middleware leaves", async () => {
  const model = new WindowModel({ window: WINDOW, family: "gemini" });
  const adding = chatMiddleware(async (context, next) => {
    context.messages = [new HumanMessage(textOf(5_000, "added")), ...context.messages];
    await next();
  });
  const { error } = await threadOf(model, { middleware: [adding] }).send("hello");
  expect(error).toBeUndefined();
  expect(model.overflows).toHaveLength(1);
  expect(model.requests.at(-1)?.messages.at(-1)?.text).toContain("hello");
});

describe("Few requests are made in each turn", () => {
  it.each<
    [title: string, Options, summariser: (() => FunctionModel) | undefined, stated: number | undefined]
  >([
    ["a limit of one token", tokens(1), undefined, undefined],
    ["a limit of one token, and a summariser that is silent", tokens(1), silent, undefined],
    ["a window of one token", {}, undefined, 1],
    ["a window of one token, and a summariser that is silent", {}, silent, 1],
    ["a summariser that fails", tokens(200), failing, undefined],
  ])("with %s", async (_title, options, summariser, stated) => {
    const model = new WindowModel({ window: 100_000, family: "openai", stated }, lookOnce);
    const summaryModel = summariser?.();
    const asked = [0];
    await talk(model, { ...options, summaryModel }, TURNS, () =>
      asked.push(model.requests.length + (summaryModel?.requests.length ?? 0)),
    );
    const counts = asked.slice(1).map((count, turn) => count - (asked[turn] ?? 0));
    // Two requests of the model, and at most one summary, which is asked for again up to three times.
    expect(Math.max(...counts)).toBeLessThanOrEqual(6);
    // Most turns have no attempt.
    expect(asked.at(-1)).toBeLessThanOrEqual(TURNS * 4);
  });

  it("for the summary of a message of 1 MB", async () => {
    const summaryModel = shortSummariser();
    const model = new FunctionModel(() => "done");
    const thread = threadOf(model, { summaryModel, maxTokensBeforeSummary: 4_000 });
    for (const text of ["hello", long, "and now?", "thank you"]) await thread.send(text);
    expect(summaryModel.requests.length).toBeGreaterThan(0);
    expect(summaryModel.requests.length).toBeLessThanOrEqual(16);
  });
});

// A graph that names no token limit takes it from the input window of its model.

/** A model that states this window, and refuses nothing. */
const statedModel = (stated?: number, answer?: Answer) =>
  new WindowModel({ window: Number.POSITIVE_INFINITY, family: "openai", stated }, answer);

const history = [...turnsOf(50, 60), humanOf("request")];

async function isSummarised(window: number | undefined, options: Options = {}, context: RunContext = {}) {
  const model = statedModel(window);
  const summaryModel = shortSummariser();
  await createAgentGraph({ model, summaryModel, ...options }).invoke({ messages: history }, { context });
  expect(model.refused).toEqual([]);
  return summaryModel.requests.length > 0;
}

it("The history is longer than 4,000 tokens, and fits into 8,000", () => {
  expect(tokensOf(history)).toBeGreaterThan(4_500);
  expect(tokensOf(history)).toBeLessThan(8_000);
});

describe("A long history is summarised", () => {
  it.each([
    ["not at 80 % of a large window", 14_000, false],
    ["at 80 % of a small window", 5_000, true],
    ["not where the window is unknown", undefined, false],
  ])("%s", async (_title, window, expected) => {
    expect(await isSummarised(window)).toBe(expected);
  });

  it.each<[title: string, options: Options, context: RunContext, expected: boolean]>([
    ["never where the graph says 0", isOff, {}, false],
    ["never where the run says 0", {}, isOff, false],
    ["where the graph says so", tokens(2_000), {}, true],
    ["where the run says so", {}, tokens(2_000), true],
    ["where the run says so before the graph", tokens(2_000), tokens(9_000), false],
  ])("%s, whatever the window is", async (_title, options, context, expected) => {
    for (const window of [10_000, 5_000, undefined])
      expect(await isSummarised(window, options, context)).toBe(expected);
  });

  it.each(["createAgentGraph", "tetherMiddleware"])(
    "after a model of an unknown window has refused a request as too long, also in a later run of %s",
    async (agentOf) => {
      const model = new WindowModel({ window: 4_000, family: "openai" });
      const summaryModel = shortSummariser();
      const checkpointer = new MemorySaver();
      const middleware = [tetherMiddleware({ summary: { summaryModel } })];
      const agent =
        agentOf === "createAgentGraph"
          ? createAgentGraph({ model, summaryModel, checkpointer })
          : createAgent({ model, tools: [], checkpointer, middleware });
      const send = (...messages: BaseMessage[]) => agent.invoke({ messages }, inThread("1"));
      await send(humanOf("a short request"));
      expect(summaryModel.requests).toHaveLength(0);
      await send(...history);
      const refused = model.overflows.length;
      expect(refused).toBeGreaterThan(0);
      await send(humanOf("one more request"));
      expect(summaryModel.requests.length).toBeGreaterThan(0);
      expect(model.overflows).toHaveLength(refused);
    },
  );

  it("by the window of the model that the run names, which is made by name", async () => {
    const options: Options = {
      model: "openai:large",
      models: ["openai:small"],
      createModel: async (name) => statedModel(name === "openai:large" ? 14_000 : 5_000),
    };
    expect(await isSummarised(undefined, options)).toBe(false);
    expect(await isSummarised(undefined, options, { model: "openai:small" })).toBe(true);
  });

  it("in steps that fit into the window of the summariser", async () => {
    const summaryModel = statedModel(2_000, ({ index }) => `short summary ${index}`);
    await isSummarised(5_000, { summaryModel });
    expect(summaryModel.requests.length).toBeGreaterThan(1);
    for (const { messages } of summaryModel.requests) expect(tokensOf(messages)).toBeLessThan(2_000);
  });
});

it.each([
  ["is shown whole where the window has room for it", 20_000, false],
  ["is shortened where the window has none", 5_000, true],
  ["is shown whole where the window is unknown", undefined, false],
])("A tool result that alone exceeds the budget %s", async (_title, window, isShortened) => {
  const look = makeTool("look", async () => "x".repeat(40_000));
  const model = statedModel(window, ({ index }) => (index === 0 ? calls(["look"]) : "done"));
  await createAgentGraph({ model, tools: [look] }).invoke({ messages: "look" });
  const shown = model.requests.at(-1)?.messages ?? [];
  expect(/shortened from 40000 characters/.test(shown.at(-1)?.text ?? "")).toBe(isShortened);
  expect(tokensOf(shown)).toBeLessThanOrEqual((window ?? 20_000) * 0.9);
});

it("A model that cannot be made fails the run with the reason, and nothing of the input is lost", async () => {
  let made = 0;
  const summaryModel = shortSummariser();
  const createModel = async () => {
    made += 1;
    if (made === 1) throw new Error("The package is missing.");
    return statedModel(5_000);
  };
  const checkpointer = new MemorySaver();
  const graph = createAgentGraph({ model: "openai:late", createModel, summaryModel, checkpointer });
  const run = graph.invoke({ messages: history }, inThread("1"));
  await expect(run).rejects.toThrow("The package is missing.");
  expect([made, summaryModel.requests.length]).toEqual([1, 0]);
  const { messages = [] } = (await graph.getState(inThread("1"))).values;
  expect(messages.slice(-history.length).map(({ id }) => id)).toEqual(history.map(({ id }) => id));
  // Its window counts as soon as it can be made: for the gate, for the summary, and for the request.
  await graph.invoke(null, inThread("1"));
  expect(summaryModel.requests.length).toBeGreaterThan(0);
  expect(made).toBe(1 + 3);
});
