/** The option `summary`: summaries of a LangChain agent's thread that lose no message. */

import { HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createSummarizationMiddleware, StateBackend } from "deepagents";
import { createAgent, createMiddleware, summarizationMiddleware, toolStrategy } from "langchain";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createAgentGraph, readFullHistory, restoreCovered } from "../../src/index.js";
import { type TetherSummaryOptions, tetherMiddleware, tetherState } from "../../src/langchain.js";
import { coverageOf } from "../support/internals.js";
import { textOf, turnsOf } from "../support/long-histories.js";
import { callingOnce, calls, FunctionModel, shortSummariser } from "../support/models.js";
import { openAgent } from "../support/open-thread.js";
import { scripted } from "../support/scripted-model.js";
import { expectWarnings } from "../support/test-tools.js";
import { inThread, pairedScript, script, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

expectWarnings(/^`coveredMessages: "archive"` has no effect/);

interface OpenOptions {
  readonly more?: object;
  readonly list?: (own: object) => object[];
  readonly model?: FunctionModel;
}

function open(
  summary: TetherSummaryOptions,
  { more = {}, list = (own) => [own], model = callingOnce("fast") }: OpenOptions = {},
) {
  const { fast } = createProbe();
  const middleware = list(tetherMiddleware({ summary }));
  const thread = openAgent({ model, tools: [fast], middleware, ...more });
  /** The questions of the complete history. */
  const allAsked = async () => questionsOf(await readFullHistory(thread.agent.graph, thread.config));
  return { model, thread, allAsked };
}

type Opened = Pick<ReturnType<typeof open>, "thread">;

/** About 100 tokens. */
const question = (turn: number) => user(`Question ${turn}. ${textOf(100)}`);

/** Turns of four messages. */
async function talk({ thread }: Opened, count: number) {
  const events: object[] = [];
  for (let turn = 0; turn < count; turn += 1) {
    const run = await thread.run(question(turn));
    expect(run.error).toBeUndefined();
    events.push(...run.events);
    expect(run.messages.map(({ text }) => text).join(" ")).not.toContain("short summary");
  }
  return events as { readonly type: string }[];
}

const LIMITS = { maxTokensBeforeSummary: 500, messagesToKeep: 4 };
const questionsOf = (messages: readonly { readonly text: string }[]) =>
  messages.flatMap(({ text }) => /^Question \d+/.exec(text)?.[0] ?? []);
const asked = (count: number) => Array.from({ length: count }, (_, turn) => `Question ${turn}`);

describe.each([false, true])("with delta %s, a long thread", (delta) => {
  it.each(["keep", "archive"] as const)("is summarised, and nothing is lost: %s", async (coveredMessages) => {
    const summaryModel = shortSummariser();
    const more = { stateSchema: tetherState({ delta }) };
    const opened = open({ ...LIMITS, summaryModel, coveredMessages }, { more });
    const { model, thread } = opened;
    const events = await talk(opened, 8);
    const made = events.filter(({ type }) => type === "summary-made").length;
    expect(made).toBeGreaterThan(1);
    expect(model.refused).toEqual([]);
    const last = model.requests.at(-1)?.messages ?? [];
    expect(last.map(({ text }) => text).join("\n")).toContain(`short summary ${made - 1}`);
    expect(last.length).toBeLessThan(16);

    const values = await thread.values();
    const { graph } = thread.agent;
    const whole = await readFullHistory(graph, thread.config);
    expect(whole).toHaveLength(32);
    expect(questionsOf(whole)).toEqual(asked(8));
    expect(values.messages.length < 32).toBe(coveredMessages === "archive");

    await thread.update(await restoreCovered(graph, thread.config));
    expect(questionsOf(await thread.read())).toEqual(asked(8));
    expect(await thread.read()).toHaveLength(32);
  });
});

describe("a summary", () => {
  it("is made as in `createAgentGraph`, with the same options", async () => {
    const options = { ...LIMITS, maxMessagesBeforeSummary: 12, coveredMessages: "keep" } as const;
    const opened = open({ ...options, summaryModel: shortSummariser() });
    await talk(opened, 6);
    const { fast } = createProbe();
    const graph = createAgentGraph({
      model: callingOnce("fast"),
      tools: [fast],
      checkpointer: new MemorySaver(),
      ...options,
      summaryModel: shortSummariser(),
    });
    for (let turn = 0; turn < 6; turn += 1) await graph.invoke(question(turn) as never, inThread("1"));
    const { values } = await graph.getState(inThread("1"));
    expect(script(await opened.thread.read())).toEqual(pairedScript(values));
  });

  it("is written by the model of the request if there is no other one", async () => {
    const model = new FunctionModel(({ text }) =>
      text.includes("Write this summary now") ? "In short." : "Yes.",
    );
    const opened = open(LIMITS, { model });
    expect((await talk(opened, 6)).map(({ type }) => type)).toContain("summary-made");
    expect((await opened.thread.read()).map(({ text }) => text).join()).toContain("In short.");
  });

  it("that fails leaves the history as it was, and the next one waits", async () => {
    const summaryModel = new FunctionModel(() => new Error("no"));
    const opened = open({ ...LIMITS, summaryModel });
    const events = await talk(opened, 8);
    expect(events.filter(({ type }) => type === "summary-failed").length).toBeGreaterThan(0);
    expect(summaryModel.requests.length).toBeLessThan(6);
    expect(questionsOf(await opened.thread.read())).toEqual(asked(8));
    expect(opened.model.refused).toEqual([]);
  });

  it.each([0, 3])(
    "that an overloaded model fails, behind %i other middleware, is not asked for twice",
    async (count) => {
      const others = Array.from({ length: count }, (_, index) =>
        createMiddleware({ name: `own-${index}`, wrapModelCall: (request, handler) => handler(request) }),
      );
      const wants = { conversation: "Write this summary now", transcript: "The conversation since:" };
      const model = new FunctionModel(({ text }) =>
        Object.values(wants).some((words) => text.includes(words))
          ? Object.assign(new Error("overloaded"), { status: 529 })
          : "Yes.",
      );
      const events = await talk(open(LIMITS, { model, list: (own) => [own, ...others] }), 6);
      const askedFor = (words: string) => model.requests.filter(({ text }) => text.includes(words)).length;
      expect(events.map(({ type }) => type)).toContain("summary-failed");
      expect(askedFor(wants.conversation)).toBeGreaterThan(0);
      expect(askedFor(wants.transcript)).toBe(0);
    },
  );

  it("is paid for once, however often a middleware asks the model in one step", async () => {
    const summaryModel = shortSummariser();
    const twice = createMiddleware({
      name: "Twice",
      wrapModelCall: async (request, handler) => {
        await handler(request);
        return handler(request);
      },
    });
    const opened = open(
      { ...LIMITS, summaryModel },
      { list: (own) => [twice, own], model: new FunctionModel(() => "Yes.") },
    );
    const events = await talk(opened, 6);
    expect(summaryModel.requests).toHaveLength(events.filter(({ type }) => type === "summary-made").length);
    expect(summaryModel.requests.length).toBeGreaterThan(0);
    const covered = events.map((event) => JSON.stringify(event));
    expect(new Set(covered).size).toBe(covered.length);
    expect(await opened.allAsked()).toEqual(asked(6));
  });

  it("keeps a late result of a call that it covers", async () => {
    const opened = open({ ...LIMITS, summaryModel: shortSummariser(), coveredMessages: "archive" });
    const { thread } = opened;
    await thread.update([new HumanMessage("First."), calls(["fast", {}, "late"])]);
    await talk(opened, 8);
    await thread.update([new ToolMessage({ content: "at last", tool_call_id: "late" })]);
    await talk(opened, 1);
    const whole = await readFullHistory(thread.agent.graph, thread.config);
    expect(script(whole).slice(0, 3)).toEqual(["human: First.", "ai> fast", "tool: at last"]);
  });

  it("keeps what it covers in the state of an agent without a checkpointer", async () => {
    const summary = { ...LIMITS, summaryModel: shortSummariser(), coveredMessages: "archive" } as const;
    const agent = createAgent({ model: scripted("Yes."), middleware: [tetherMiddleware({ summary })] });
    const given = turnsOf(12, 60);
    const { messages } = await agent.invoke({ messages: [...given, new HumanMessage("Hi.")] });
    expect(messages.flatMap((message) => coverageOf(message)?.kind ?? [])).toEqual(["keep"]);
    expect(messages).toHaveLength(given.length + 3);
  });

  it("is stored beside a structured response", async () => {
    const format = toolStrategy(z.object({ answer: z.string() }), {});
    const name = format[0]?.name ?? "";
    const model = new FunctionModel(({ index }) => calls([name, { answer: `${index}` }, `s${index}`]));
    const more = { responseFormat: format, tools: [] };
    const opened = open({ ...LIMITS, summaryModel: shortSummariser() }, { model, more });
    expect((await talk(opened, 6)).map(({ type }) => type)).toContain("summary-made");
    expect(await opened.allAsked()).toEqual(asked(6));
    expect(model.refused).toEqual([]);
  });

  it("has no part in the input and the output of the agent", async () => {
    const opened = open({ ...LIMITS, summaryModel: shortSummariser() });
    await talk(opened, 4);
    const result = await opened.thread.agent.invoke(user("And?") as never, opened.thread.config);
    expect(Object.keys(result)).toEqual(["messages"]);
  });
});

/** LangChain's summaries replace messages of the state. Those of deepagents are in a key of their own. */
const hasSummarised = (values: Record<string, unknown>): boolean =>
  values["_summarizationEvent"] !== undefined ||
  !questionsOf(values["messages"] as []).includes("Question 0");

const ORDERS = [
  ["before", (other: object) => (own: object) => [other, own]],
  ["after", (other: object) => (own: object) => [own, other]],
] as const;

const OTHERS = [
  [
    "`summarizationMiddleware`",
    (limit: number) =>
      summarizationMiddleware({
        model: shortSummariser(),
        trigger: { tokens: limit },
        keep: { messages: 4 },
      } as never),
  ],
  [
    "the summarisation of deepagents",
    (limit: number) =>
      createSummarizationMiddleware({
        model: shortSummariser(),
        backend: (config: never) => new StateBackend(config),
        trigger: { type: "tokens", value: limit },
        keep: { type: "messages", value: 4 },
      } as never),
  ],
] as const;

describe.each(OTHERS)("%s stands beside it unharmed", (_name, other) => {
  const cases = ORDERS.flatMap(([order, list]) =>
    [undefined, "keep", "archive"].map((coveredMessages) => ({ order, list, coveredMessages })),
  );

  it.each(cases)("$order this one, with summary $coveredMessages", async ({ list, coveredMessages }) => {
    const { fast } = createProbe();
    const model = callingOnce("fast");
    const summary = { ...LIMITS, summaryModel: shortSummariser(), coveredMessages } as TetherSummaryOptions;
    const own = tetherMiddleware(coveredMessages === undefined ? {} : { summary });
    const middleware = list(other(700) as object)(own);
    const thread = openAgent({ model, tools: [fast], middleware });
    for (let turn = 0; turn < 9; turn += 1) {
      expect((await thread.run(question(turn))).error).toBeUndefined();
      // The model gets the question, and what it has called since.
      const last = model.requests.at(-1)?.messages ?? [];
      expect(questionsOf(last).at(-1)).toBe(`Question ${turn}`);
    }
    expect(model.refused).toEqual([]);
    expect((await thread.read()).at(-1)?.text).toMatch(/^Done/);
    // Where ours removes what it covers, the other one has nothing to do.
    if (coveredMessages === undefined) expect(hasSummarised(await thread.values())).toBe(true);
  });

  it("before this one and with a lower limit, it leaves nothing to summarise", async () => {
    const summaryModel = shortSummariser();
    const opened = open({ ...LIMITS, summaryModel }, { list: (own) => [other(300) as object, own] });
    await talk(opened, 9);
    expect(hasSummarised(await opened.thread.values())).toBe(true);
    expect(summaryModel.requests).toHaveLength(0);
    expect(opened.model.refused).toEqual([]);
  });
});

it.each([
  [{ maxTokensBeforSummary: 1 }, "Did you mean `maxTokensBeforeSummary`"],
  [{ messagesToKeep: 0 }, "`messagesToKeep`"],
  [{ coveredMessages: "delete" }, "`coveredMessages`"],
  [{ summaryModel: 7 }, "`summaryModel`"],
  [{ summaryModel: "klingon:1" }, "klingon"],
  [true, "`summary`"],
])("the options %j are refused by name", (summary, text) => {
  expect(() => tetherMiddleware({ summary } as never)).toThrow(text);
});
