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
} from "../../../src/index.js";
import { tetherMiddleware } from "../../../src/langchain.js";
import { type Answer, FunctionModel, shortSummariser } from "../../support/function-model.js";
import { humanOf, textOf, tokensOf, turnsOf } from "../../support/long-histories.js";
import { makeTool } from "../../support/make-tool.js";
import { openThread } from "../../support/open-thread.js";
import { OVERFLOW_REFUSALS, type OverflowFamily } from "../../support/overflow-refusals.js";
import { calls } from "../../support/scripted-model.js";
import { WindowModel as RefusingModel, WindowModel } from "../../support/window-model.js";

const FAMILIES = Object.keys(OVERFLOW_REFUSALS) as OverflowFamily[];
const IS_SLOW = process.env["SLOW_TESTS"] === "1";

/** The threads are beyond the window after half of them. `SLOW_TESTS=1` plays longer ones. */
const { TURNS, WINDOW } = IS_SLOW ? { TURNS: 60, WINDOW: 3_000 } : { TURNS: 10, WINDOW: 1_500 };
const ROUNDS = IS_SLOW ? 60 : 30;
const failing = () => new FunctionModel(() => new Error("503 overloaded"));
const silent = () => new FunctionModel(() => "");

/** A tool whose results and arguments are as long as its caller says. */
const look = makeTool(
  "look",
  async ({ size }: { size: number }) => textOf(size, "found"),
  z.object({ size: z.number(), query: z.string().optional() }),
);

const lookOnce: Answer = ({ messages }) =>
  messages.at(-1)?.type === "tool" ? textOf(30, "answer") : calls(["look", { size: 120 }]);

const requestsOf = (messages: readonly BaseMessage[]) => messages.filter(({ type }) => type === "human");

async function talk(model: FunctionModel, options: Partial<AgentGraphOptions>, turns = TURNS) {
  const graph = createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver(), ...options });
  const thread = openThread(graph);
  const runs = [];
  for (let turn = 0; turn < turns; turn += 1) {
    const request = textOf(20, `request-${turn}`);
    const run = await thread.send(request);
    runs.push(run);
    const latest = requestsOf(model.requests.at(-1)?.messages ?? []).at(-1);
    if (run.error === undefined) expect(latest?.text).toContain(request);
  }
  return { runs, errors: runs.flatMap(({ error }) => error ?? []), history: await thread.read() };
}

describe(`In ${TURNS} turns with a window of ${WINDOW} tokens, no turn fails`, () => {
  it.each(FAMILIES)(
    "where the summariser fails, and the model refuses in the words of %s",
    async (family) => {
      const model = new WindowModel({ window: WINDOW, family }, lookOnce);
      const { errors, history } = await talk(model, { summaryModel: failing() });
      expect(errors).toEqual([]);
      expect(model.refused).toEqual([]);
      expect(requestsOf(history)).toHaveLength(TURNS);
      expect(model.overflows.length).toBeGreaterThan(0);
      // It learns the window, and does not try it in every turn.
      expect(model.overflows.length).toBeLessThan(7);
    },
  );

  it("where the client states the window, and no request is too long", async () => {
    const model = new WindowModel({ window: WINDOW, family: "openai", stated: WINDOW / 1.25 }, lookOnce);
    const { errors, runs } = await talk(model, { maxTokensBeforeSummary: 0 });
    expect(errors).toEqual([]);
    expect(model.overflows).toEqual([]);
    const events = runs.flatMap(({ events }) => events.filter(({ type }) => type === "input-shortened"));
    expect(events.length).toBeGreaterThan(0);
    expect(events.at(-1)).toMatchObject({ reason: "window", maxTokens: expect.any(Number) });
  });
});

it("The beginning of the input stays the same for several turns, for the prompt cache", async () => {
  const turns = 20;
  const model = new WindowModel({ window: 3_000, family: "openai", stated: 2_400 }, lookOnce);
  await talk(model, { maxTokensBeforeSummary: 0 }, turns);
  const texts = model.requests.map(({ messages }) => messages.map(({ text }) => text));
  const isPrefix = (one: readonly string[], next: readonly string[]) =>
    one.every((text, index) => text === next[index]);
  const broken = texts.slice(1).filter((next, index) => !isPrefix(texts[index] ?? [], next));
  // There are two requests in each turn.
  expect(broken.length).toBeLessThan(turns / 2);
});

const MEGABYTE = 1_000_000;

describe("One huge message does not end the thread", () => {
  const families = ["openai", "dashscope", "groq"] as const;
  const summarisers = [
    ["fails", { summaryModel: failing() }],
    ["works", { summaryModel: shortSummariser() }],
    ["is off", { maxTokensBeforeSummary: 0 }],
  ] as const;
  /** Each family and each summariser once; `SLOW_TESTS=1` tries each with each. */
  const cases = families.flatMap((family, row) =>
    summarisers
      .filter((_, column) => IS_SLOW || column === row)
      .map(([title, options]) => [family, title, options] as const),
  );

  it.each(cases)("a tool result of 5 MB (%s, the summariser %s)", async (family, _title, options) => {
    const model = new WindowModel({ window: 8_000, family }, ({ messages }) =>
      messages.at(-1)?.text === "look" ? calls(["look", { size: (5 * MEGABYTE) / 4 }]) : "done",
    );
    const graph = createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver(), ...options });
    const thread = openThread(graph);
    for (const text of ["hello", "look", "and now?", "thank you"])
      expect((await thread.send(text)).error).toBeUndefined();
    expect((await thread.read()).some(({ text }) => text.length === 5 * MEGABYTE)).toBe(true);
    expect(model.refused).toEqual([]);
  });

  it.each(cases)("a user message of 1 MB (%s, the summariser %s)", async (family, _title, options) => {
    const model = new WindowModel({ window: 8_000, family });
    const graph = createAgentGraph({ model, checkpointer: new MemorySaver(), ...options });
    const thread = openThread(graph);
    const long = `BEGIN ${"text ".repeat(MEGABYTE / 5)} END`;
    for (const text of ["hello", long, "and now?", "thank you"])
      expect((await thread.send(text)).error).toBeUndefined();
    const shown = model.accepted.flat().find(({ text }) => text.includes("BEGIN"));
    expect(shown?.text).toMatch(/BEGIN.*shortened from \d+ characters.* END$/s);
    expect(model.refused).toEqual([]);
  });

  it.each(cases)("arguments of 1 MB (%s, the summariser %s)", async (family, _title, options) => {
    const query = "word ".repeat(MEGABYTE / 5);
    const model = new WindowModel({ window: 8_000, family }, ({ messages }) =>
      messages.at(-1)?.text === "look" ? calls(["look", { size: 5, query }]) : "done",
    );
    const graph = createAgentGraph({ model, tools: [look], checkpointer: new MemorySaver(), ...options });
    const thread = openThread(graph);
    for (const text of ["hello", "look", "and now?", "thank you"])
      expect((await thread.send(text)).error).toBeUndefined();
    expect(model.refused).toEqual([]);
  });

  it(`a turn of ${ROUNDS} rounds`, async () => {
    const model = new WindowModel({ window: WINDOW, family: "openai" }, ({ messages, index }) =>
      index < ROUNDS ? calls(["look", { size: 100 }]) : String(messages.length),
    );
    const options = { maxIterations: 200, maxTokensBeforeSummary: 0 };
    const { errors } = await talk(model, options, 1);
    expect(errors).toEqual([]);
  });
});

describe("A request that stays too long", () => {
  it("fails with the provider's words after at most three shorter ones", async () => {
    const model = new WindowModel({ window: 5, family: "openai" });
    const thread = openThread(createAgentGraph({ model, checkpointer: new MemorySaver() }));
    const { error } = await thread.send(textOf(500, "hello"));
    expect(error).toMatchObject({
      code: "MODEL_FAILED",
      message: expect.stringContaining("maximum context length"),
    });
    expect(model.requests.length).toBeLessThanOrEqual(4);
  });

  it("is not made again for another error", async () => {
    const model = new FunctionModel(() => Object.assign(new Error("tokens per min (TPM)"), { status: 429 }));
    const thread = openThread(createAgentGraph({ model, checkpointer: new MemorySaver() }));
    expect((await thread.send("hello")).error).toBeDefined();
    expect(model.requests).toHaveLength(1);
  });
});

it("An event for a shorter request says what the model does not get", async () => {
  const model = new WindowModel({ window: 3_000, family: "anthropic" });
  const graph = createAgentGraph({ model, maxTokensBeforeSummary: 0, checkpointer: new MemorySaver() });
  const thread = openThread(graph);
  const events = [];
  while (model.overflows.length === 0) events.push(...(await thread.send(textOf(250, "request"))).events);
  const shortened = events.filter(({ type }) => type === "input-shortened");
  const [first, second] = await thread.read();
  const expected = {
    type: "input-shortened",
    reason: "overflow",
    maxTokens: expect.any(Number),
    shortened: [],
  };
  expect(shortened).toEqual([{ ...expected, leftOut: expect.arrayContaining([first?.id, second?.id]) }]);
  const left = shortened.flatMap((event) => (event.type === "input-shortened" ? event.leftOut : []));
  const sent = model.requests.at(-1)?.messages ?? [];
  expect(sent[0]?.text).toContain(`[${left.length} earlier messages are left out here`);
});

it("The bound holds for what a chat middleware leaves", async () => {
  const model = new WindowModel({ window: WINDOW, family: "gemini" });
  const graph = createAgentGraph({
    model,
    checkpointer: new MemorySaver(),
    middleware: [
      chatMiddleware(async (context, next) => {
        context.messages = [new HumanMessage(textOf(5_000, "added")), ...context.messages];
        await next();
      }),
    ],
  });
  const { error } = await openThread(graph).send("hello");
  expect(error).toBeUndefined();
  expect(model.overflows).toHaveLength(1);
  expect(model.requests.at(-1)?.messages.at(-1)?.text).toContain("hello");
});

describe("Few requests are made in each turn", () => {
  it.each<readonly [string, Partial<AgentGraphOptions>, number | undefined]>([
    ["a limit of one token", { maxTokensBeforeSummary: 1 }, undefined],
    [
      "a limit of one token, and a summariser that is silent",
      { maxTokensBeforeSummary: 1, summaryModel: silent() },
      undefined,
    ],
    ["a window of one token", {}, 1],
    ["a window of one token, and a summariser that is silent", { summaryModel: silent() }, 1],
    ["a summariser that fails", { maxTokensBeforeSummary: 200, summaryModel: failing() }, undefined],
  ])("with %s", async (_title, { summaryModel, ...options }, stated) => {
    const model = new WindowModel({ window: 100_000, family: "openai", stated }, lookOnce);
    const summariser = summaryModel instanceof FunctionModel ? { summaryModel } : {};
    const counts: number[] = [];
    const graph = createAgentGraph({
      model,
      tools: [look],
      checkpointer: new MemorySaver(),
      ...options,
      ...summariser,
    });
    const thread = openThread(graph);
    const asked = () => model.requests.length + (summariser.summaryModel?.requests.length ?? 0);
    for (let turn = 0; turn < TURNS; turn += 1) {
      const before = asked();
      expect((await thread.send(textOf(20, `request-${turn}`))).error).toBeUndefined();
      counts.push(asked() - before);
    }
    // Two requests of the model, and at most one summary, which is asked for again up to three times.
    expect(Math.max(...counts)).toBeLessThanOrEqual(6);
    // Most turns have no attempt.
    expect(counts.reduce((sum, count) => sum + count, 0)).toBeLessThanOrEqual(TURNS * 4);
  });

  it("for the summary of a message of 1 MB", async () => {
    const summaryModel = shortSummariser();
    const model = new FunctionModel(() => "done");
    const graph = createAgentGraph({
      model,
      summaryModel,
      maxTokensBeforeSummary: 4_000,
      checkpointer: new MemorySaver(),
    });
    const thread = openThread(graph);
    for (const text of ["hello", "text ".repeat(MEGABYTE / 5), "and now?", "thank you"])
      await thread.send(text);
    expect(summaryModel.requests.length).toBeGreaterThan(0);
    expect(summaryModel.requests.length).toBeLessThanOrEqual(16);
  });

  it("where the summariser has a smaller window than the steps", async () => {
    const summaryModel = new WindowModel(
      { window: 1_000, family: "groq" },
      ({ index }) => `summary ${index}`,
    );
    const model = new FunctionModel(() => textOf(100, "answer"));
    const { errors, runs } = await talk(
      model,
      { summaryModel, maxTokensBeforeSummary: 2_000 },
      IS_SLOW ? 40 : 16,
    );
    expect(errors).toEqual([]);
    expect(runs.some(({ events }) => events.some(({ type }) => type === "summary-made"))).toBe(true);
  });
});

// A graph that names no token limit takes it from the input window of its model.

class StatedWindowModel extends FunctionModel {
  readonly #window: number | undefined;

  constructor(window: number | undefined, answer: Answer = () => "done") {
    super(answer);
    this.#window = window;
  }

  override get profile() {
    return this.#window === undefined ? {} : { maxInputTokens: this.#window };
  }
}

const history = [...turnsOf(50, 60), humanOf("request")];
const LENGTH = tokensOf(history);

async function run(
  window: number | undefined,
  options: Partial<AgentGraphOptions> = {},
  context: RunContext = {},
) {
  const model = new StatedWindowModel(window);
  const summaryModel = shortSummariser();
  await createAgentGraph({ model, summaryModel, ...options }).invoke({ messages: history }, { context });
  expect(model.refused).toEqual([]);
  return { model, isSummarised: summaryModel.requests.length > 0 };
}

it("The history is longer than 4,000 tokens, and fits into 10,000", () => {
  expect(LENGTH).toBeGreaterThan(4_500);
  expect(LENGTH).toBeLessThan(7_500);
});

describe("A long history is summarised", () => {
  it.each([
    ["not at 80 % of a large window", 10_000, false],
    ["at 80 % of a small window", 5_000, true],
    ["not where the window is unknown", undefined, false],
  ])("%s", async (_title, window, expected) => {
    expect((await run(window)).isSummarised).toBe(expected);
  });

  it.each([
    ["never where the graph says 0", { maxTokensBeforeSummary: 0 }, {}, false],
    ["never where the run says 0", {}, { maxTokensBeforeSummary: 0 }, false],
    ["where the graph says so", { maxTokensBeforeSummary: 2_000 }, {}, true],
    ["where the run says so", {}, { maxTokensBeforeSummary: 2_000 }, true],
    [
      "where the run says so before the graph",
      { maxTokensBeforeSummary: 2_000 },
      { maxTokensBeforeSummary: 9_000 },
      false,
    ],
  ])("%s, whatever the window is", async (_title, options, context, expected) => {
    for (const window of [10_000, 5_000, undefined])
      expect((await run(window, options, context)).isSummarised).toBe(expected);
  });

  it.each(["createAgentGraph", "tetherMiddleware"])(
    "after a model of an unknown window has refused a request as too long, also in a later run of %s",
    async (agentOf) => {
      const model = new RefusingModel({ window: 4_000, family: "openai" });
      const summaryModel = shortSummariser();
      const checkpointer = new MemorySaver();
      const agent =
        agentOf === "createAgentGraph"
          ? createAgentGraph({ model, summaryModel, checkpointer })
          : createAgent({
              model,
              tools: [],
              checkpointer,
              middleware: [tetherMiddleware({ summary: { summaryModel } })],
            });
      const send = (messages: BaseMessage[]) =>
        agent.invoke({ messages }, { configurable: { thread_id: "1" } });
      await send([humanOf("a short request")]);
      expect(summaryModel.requests).toHaveLength(0);
      await send(history);
      expect(model.overflows.length).toBeGreaterThan(0);
      const refused = model.overflows.length;
      await send([humanOf("one more request")]);
      expect(summaryModel.requests.length).toBeGreaterThan(0);
      expect(model.overflows).toHaveLength(refused);
    },
  );

  it("by the window of the model that the run names, which is made by name", async () => {
    const summaryModel = shortSummariser();
    const graph = createAgentGraph({
      model: "openai:large",
      models: ["openai:small"],
      createModel: async (name) => new StatedWindowModel(name === "openai:large" ? 10_000 : 5_000),
      summaryModel,
    });
    await graph.invoke({ messages: history });
    expect(summaryModel.requests).toHaveLength(0);
    await graph.invoke({ messages: history }, { context: { model: "openai:small" } });
    expect(summaryModel.requests.length).toBeGreaterThan(0);
  });

  it("in steps that fit into the window of the summariser", async () => {
    const summaryModel = new StatedWindowModel(2_000, ({ index }) => `short summary ${index}`);
    await run(5_000, { summaryModel });
    expect(summaryModel.requests.length).toBeGreaterThan(1);
    for (const { messages } of summaryModel.requests) expect(tokensOf(messages)).toBeLessThan(2_000);
  });
});

describe("A tool result that alone exceeds the budget", () => {
  const look = makeTool("look", async () => "x".repeat(40_000));

  it.each([
    ["is shown whole where the window has room for it", 20_000, false],
    ["is shortened where the window has none", 5_000, true],
    ["is shown whole where the window is unknown", undefined, false],
  ])("%s", async (_title, window, isShortened) => {
    const model = new StatedWindowModel(window, ({ index }) => (index === 0 ? calls(["look"]) : "done"));
    await createAgentGraph({ model, tools: [look] }).invoke({ messages: "look" });
    const shown = model.requests.at(-1)?.messages ?? [];
    expect(/shortened from 40000 characters/.test(shown.at(-1)?.text ?? "")).toBe(isShortened);
    expect(tokensOf(shown)).toBeLessThan((window ?? 20_000) * 0.8);
  });
});

describe("A model that cannot be made", () => {
  it("fails the run with the reason, and nothing of the input is lost", async () => {
    const graph = createAgentGraph({
      model: "openai:missing",
      createModel: () => Promise.reject(new Error("The package is missing.")),
      checkpointer: new MemorySaver(),
    });
    const thread = { configurable: { thread_id: "1" } };
    await expect(graph.invoke({ messages: history }, thread)).rejects.toThrow("The package is missing.");
    const { values } = await graph.getState(thread);
    expect(values.messages?.slice(-history.length).map(({ id }) => id)).toEqual(history.map(({ id }) => id));
  });

  it("is made once for each step, and its window counts as soon as it can be made", async () => {
    let made = 0;
    const summaryModel = shortSummariser();
    const createModel = async () => {
      made += 1;
      if (made === 1) throw new Error("The package is missing.");
      return new StatedWindowModel(5_000);
    };
    const graph = createAgentGraph({ model: "openai:late", createModel, summaryModel });
    await expect(graph.invoke({ messages: history })).rejects.toThrow("The package is missing.");
    expect([made, summaryModel.requests.length]).toEqual([1, 0]);
    await graph.invoke({ messages: history });
    expect(summaryModel.requests.length).toBeGreaterThan(0);
    // For the gate, for the summary, and for the request.
    expect(made).toBe(1 + 3);
  });
});
