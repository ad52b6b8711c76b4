/** Budgets of tokens and tool calls: what is counted, what happens at a limit, and what the counters survive. */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import {
  type BaseCheckpointSaver,
  InMemoryStore,
  MemorySaver,
  type StateSnapshot,
} from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  type AgentEvent,
  type AgentGraphOptions,
  chatMiddleware,
  createAgentGraph,
  InvalidSettingError,
} from "../../../src/index.js";
import { allOf } from "../../support/async.js";
import { replaceMethods } from "../../support/internals.js";
import { removeAll } from "../../support/make-messages.js";
import { type Answer, calls, FunctionModel, shortSummariser } from "../../support/models.js";
import { mortalSaver, SAVERS } from "../../support/mortal-saver.js";
import { inThread, messagesOf, pairedMessagesOf, script, user } from "../../support/thread.js";
import { createProbe } from "../../support/tools.js";

const config = inThread("1");

/** A response that a provider reports this many tokens for. */
function costing(total: number, answer: AIMessage | string = "done"): AIMessage {
  const message = typeof answer === "string" ? new AIMessage(answer) : answer;
  const usage_metadata = { input_tokens: total - 10, output_tokens: 10, total_tokens: total };
  return Object.assign(message, { usage_metadata });
}

const call = (count = 1) => calls(...Array.from({ length: count }, () => ["fast", {}] as const));

/** Calls a tool in each round until tools are off. Each request costs 100 tokens. */
const eager: Answer = ({ toolChoice }) => costing(100, toolChoice === "none" ? "the end" : call());

/** Gives these responses, one after the other. */
const listed =
  (answers: (AIMessage | string)[]): Answer =>
  () =>
    answers.shift() ?? "too often";

function threadOf(answer: Answer, options: Partial<AgentGraphOptions> = {}, names: object = {}) {
  const model = Object.assign(new FunctionModel(answer), names);
  const probe = createProbe();
  const saver = new MemorySaver();
  const make = (more: Partial<AgentGraphOptions> = {}) =>
    createAgentGraph({ model, tools: [probe.fast], checkpointer: saver, ...options, ...more });
  const graph = make();
  const run = async (input: unknown, more: object = {}, other = graph) => {
    const options = { ...config, ...more, streamMode: ["custom", "values"] as const };
    const chunks = await allOf<[string, unknown]>(other.stream(input as null, options as object));
    const events = chunks.flatMap(([mode, data]) => (mode === "custom" ? [data as AgentEvent] : []));
    const last = chunks.findLast(([mode]) => mode === "values")?.[1];
    const told = events.filter(({ type }) => type.startsWith("limit-"));
    return { lines: script(pairedMessagesOf(last)), told, end: events.at(-1) };
  };
  const send = (text: string, more: object = {}, other = graph) => run(user(text), more, other);
  const usage = async () => {
    const saved = (await saver.getTuple(config))?.checkpoint.channel_values["threadUsage"];
    const { run: _, ...counters } = saved as { readonly run?: unknown };
    return counters;
  };
  return { graph, model, make, probe, run, send, usage };
}

const reached = (limit: string) => ({ type: "limit-reached", limit });
const near = (limit: string, used: number, max: number) => ({ type: "limit-near", limit, used, max });

describe("A count of tokens that cannot be", () => {
  const fields = ["input_tokens", "output_tokens", "total_tokens"];
  const counts = [-1, -1e9, Number.NaN, Number.POSITIVE_INFINITY, 1e308, "12", null, {}, [5], 0];
  const reports = counts.flatMap((count) =>
    [...fields.map((field) => [field]), fields].map((names) => [
      Object.fromEntries(names.map((name) => [name, count])),
    ]),
  );

  it.each(reports)("%o does not switch a budget off", async (report) => {
    const usage_metadata = { input_tokens: 90, output_tokens: 10, total_tokens: 100, ...report };
    const answer: Answer = ({ toolChoice }) =>
      Object.assign(toolChoice === "none" ? new AIMessage("the end") : call(), { usage_metadata });
    const { send, usage } = threadOf(answer, { maxTokensPerTurn: 500, maxTokensPerThread: 1_500 });
    const { told, end } = await send("word ".repeat(200));
    expect(told.at(-1)).toMatchObject(reached("max-tokens-per-turn"));
    for (const text of ["go", "go"]) await send(text);
    expect((await send("go")).told.at(-1)).toMatchObject(reached("max-tokens-per-thread"));
    expect(JSON.stringify([Object(end).usage ?? {}, await usage()])).not.toMatch(
      /-\d|null|e\+|_tokens":[^\d{]/,
    );
  });
});

describe("maxTokensPerTurn", () => {
  it("is followed by the closing response, after a warning at 80 %", async () => {
    const { send, probe } = threadOf(eager, { maxTokensPerTurn: 250 });
    const { lines, told } = await send("go");
    expect(probe.runs).toHaveLength(3);
    expect(lines.at(-1)).toBe("ai: the end");
    expect(told).toMatchObject([near("max-tokens-per-turn", 200, 250), reached("max-tokens-per-turn")]);
  });

  it.each([
    [200, 2],
    [201, 3],
  ])("is reached by exactly %i tokens, and begins anew with each turn", async (maxTokensPerTurn, ran) => {
    const { send, probe } = threadOf(eager, { maxTokensPerTurn });
    for (const turn of [1, 2]) {
      await send("go");
      expect(probe.runs).toHaveLength(turn * ran);
    }
  });

  it("may be lowered by a run, and not raised", async () => {
    const { send, probe } = threadOf(eager, { maxTokensPerTurn: 1_000 });
    await send("go", { context: { maxTokensPerTurn: 150 } });
    expect(probe.runs).toHaveLength(2);
    await expect(send("go", { context: { maxTokensPerTurn: 1_001 } })).rejects.toThrow(InvalidSettingError);
  });

  it("counts our estimate where the model reports no usage", async () => {
    const answer: Answer = ({ toolChoice }) => (toolChoice === "none" ? "the end" : call());
    const { send, probe } = threadOf(answer, { maxTokensPerTurn: 400, maxIterations: 30 });
    const { told, end } = await send("word ".repeat(200));
    expect(told.at(-1)).toMatchObject(reached("max-tokens-per-turn"));
    // The message has 250 tokens by our estimate, and is sent with each request.
    expect(probe.runs).toHaveLength(2);
    expect(end).not.toHaveProperty("usage");
  });

  it("counts responses that were broken", async () => {
    const answers = [costing(100, ""), costing(100, call()), costing(100)];
    const { told, lines } = await threadOf(listed(answers), { maxTokensPerTurn: 200 }).send("go");
    expect(told).toMatchObject([near("max-tokens-per-turn", 200, 200), reached("max-tokens-per-turn")]);
    expect(lines.at(-1)).toBe("ai: done");
  });
});

describe("maxToolCallsPerThread", () => {
  it("gives each call of a batch that would exceed it a result, and warns before", async () => {
    const answers = [call(4), "four", call(2), "no more", "off"];
    const { send, probe } = threadOf(listed(answers), { maxToolCallsPerThread: 5 });
    expect((await send("go")).told).toMatchObject([near("max-tool-calls-per-thread", 4, 5)]);
    const { lines, told } = await send("again");
    const refused = "tool! Not run: the limit of tool calls for this thread is reached.";
    expect(lines.slice(-4)).toEqual(["ai> fast fast", refused, refused, "ai: no more"]);
    expect(told).toMatchObject([reached("max-tool-calls-per-thread")]);
    expect(probe.runs).toHaveLength(4);
  });

  it("turns the tools off in the turns after it", async () => {
    const { send, probe, model } = threadOf(eager, { maxToolCallsPerThread: 2 });
    await send("go");
    const { lines, told } = await send("again");
    expect(lines.slice(-2)).toEqual(["human: again", "ai: the end"]);
    expect(told).toMatchObject([reached("max-tool-calls-per-thread")]);
    expect(probe.runs).toHaveLength(2);
    expect(model.requests.at(-1)?.toolChoice).toBe("none");
  });

  it("does not count calls that the caller runs", async () => {
    const answer: Answer = ({ messages }) => (messages.at(-1)?.type === "tool" ? "the end" : call());
    const { graph } = threadOf(answer, { autoInvoke: false, maxToolCallsPerThread: 1 });
    for (let turn = 0; turn < 3; turn += 1) {
      const [asking] = messagesOf(await graph.invoke(user("go"), config)).slice(-1);
      const [wanted] = (asking as AIMessage).tool_calls ?? [];
      const result = { role: "tool", content: "by hand", tool_call_id: wanted?.id ?? "" };
      const { messages } = await graph.invoke({ messages: [result] } as never, config);
      expect(script(messages).slice(-2)).toEqual(["tool: by hand", "ai: the end"]);
    }
  });
});

describe("maxTokensPerThread", () => {
  const USED_UP = "ai: I stopped here: the limit of tokens for this thread is reached.";

  it("is followed by the closing response, and later turns do not ask the model", async () => {
    const { send, probe, graph, model } = threadOf(eager, { maxTokensPerThread: 250 });
    const first = await send("go");
    expect(first.lines.at(-1)).toBe("ai: the end");
    expect(first.told).toMatchObject([
      near("max-tokens-per-thread", 200, 250),
      reached("max-tokens-per-thread"),
    ]);
    for (const text of ["again", "and again"]) {
      const later = await send(text);
      expect(later.lines.slice(-2)).toEqual([`human: ${text}`, USED_UP]);
      expect(later.told).toMatchObject([reached("max-tokens-per-thread")]);
      expect(later.end).toMatchObject({ type: "run-end", calls: 0, results: 0 });
    }
    expect(model.requests).toHaveLength(4);
    expect(probe.runs).toHaveLength(3);
    const streamed = graph.stream(user("and streamed"), { ...config, streamMode: "messages" });
    const shown = (await allOf<[BaseMessage]>(streamed)).map(([message]) => message);
    expect(script(shown)).toEqual([USED_UP]);
  });

  it("lets the thread go on when the graph has a higher one", async () => {
    const { send, make } = threadOf(() => costing(100), { maxTokensPerThread: 150 });
    for (const text of ["1", "2"]) expect((await send(text)).lines.at(-1)).toBe("ai: done");
    expect((await send("3")).lines.at(-1)).toBe(USED_UP);
    const { lines, told } = await send("4", {}, make({ maxTokensPerThread: 320 }));
    expect(lines.at(-1)).toBe("ai: done");
    expect(told).toMatchObject([near("max-tokens-per-thread", 300, 320)]);
  });

  it("warns once in each turn, and again in the next", async () => {
    const { send } = threadOf(() => costing(100), { maxTokensPerThread: 1_000 });
    const told = [];
    for (let turn = 1; turn <= 10; turn += 1) told.push((await send(`${turn}`)).told);
    const warnings = [800, 900, 1_000].map((used) => [near("max-tokens-per-thread", used, 1_000)]);
    expect(told).toMatchObject([...Array(7).fill([]), ...warnings]);
  });

  it("makes no summary when it is used up", async () => {
    const summaryModel = shortSummariser();
    const text = "word ".repeat(100);
    const options = { maxTokensPerThread: 300, maxMessagesBeforeSummary: 4, summaryModel };
    const { send } = threadOf(() => costing(100, text), options);
    for (let turn = 0; turn < 6; turn += 1) await send(`${turn} ${text}`);
    const asked = summaryModel.requests.length;
    for (let turn = 0; turn < 6; turn += 1)
      expect((await send(`later ${turn} ${text}`)).lines.at(-1)).toBe(USED_UP);
    expect(summaryModel.requests).toHaveLength(asked);
  });
});

/** A saver that dies when it is to save this checkpoint of a run, the first being 1. */
function dyingAt(saver: BaseCheckpointSaver, checkpoint: number): BaseCheckpointSaver {
  const { mortal, die } = mortalSaver(saver, ["put"]);
  let saved = 0;
  return replaceMethods(mortal, {
    put: (...given) => {
      saved += 1;
      if (saved === checkpoint) die();
      return mortal.put(...given);
    },
  });
}

/** What a thread has used, as its next response tells. */
async function usedBy(thread: ReturnType<typeof threadOf>, more: object = {}): Promise<unknown> {
  const { told } = await thread.send("how much?", { ...more, context: { maxTokensPerThread: 1_000_000 } });
  expect(told).toEqual([]);
  return thread.usage();
}

describe("The counters of a thread", () => {
  const talk: Answer = ({ messages }) =>
    costing(100, messages.at(-1)?.text.startsWith("call") ? call(2) : "done");

  it("do not lose what is removed, summarised or archived", async () => {
    const summaryModel = new FunctionModel(() => costing(17, "short"));
    const thread = threadOf(talk, {
      store: new InMemoryStore(),
      summaryModel,
      coveredMessages: "archive",
      maxMessagesBeforeSummary: 6,
    });
    for (let turn = 0; turn < 4; turn += 1) await thread.send(`call ${"words ".repeat(50)}`);
    await thread.graph.updateState(config, { messages: [removeAll()] });
    expect(messagesOf((await thread.graph.getState(config)).values)).toEqual([]);
    const summaries = summaryModel.requests.length;
    expect(summaries).toBeGreaterThan(0);
    // Four turns of two requests, and the last question.
    expect(await usedBy(thread)).toEqual({ tokens: 900 + 17 * summaries, toolCalls: 8 });
  });

  it("are those of the branch in a fork", async () => {
    const thread = threadOf(talk);
    await thread.send("call");
    const { config: head } = await thread.graph.getState(config);
    for (const text of ["call", "call"]) await thread.send(text);
    expect(await usedBy(thread, head)).toEqual({ tokens: 300, toolCalls: 2 });
  });

  it("do not include what another branch did after the checkpoint of a fork", async () => {
    const thread = threadOf(talk);
    await thread.send("hello");
    const states = await allOf<StateSnapshot>(thread.graph.getStateHistory(config));
    const before = states.find(({ next }) => next.includes("model"));
    expect(await usedBy(thread, before?.config)).toMatchObject({ tokens: 100 });
  });

  it("are kept by a run without an answer, and by one that is resumed", async () => {
    const thread = threadOf(talk, { requireApproval: ["fast"] });
    await thread.graph.invoke(user("call"), config);
    await thread.send("never mind");
    expect(await usedBy(thread)).toEqual({ tokens: 300, toolCalls: 2 });
  });

  it.each(SAVERS)(
    "include a response that its run could not store, once, with a $name",
    async ({ create }) => {
      const saver = create();
      const { mortal, die } = mortalSaver(saver, ["put"]);
      const probe = createProbe();
      const send = (answer: Answer, checkpointer = saver) =>
        createAgentGraph({ model: new FunctionModel(answer), tools: [probe.fast], checkpointer }).invoke(
          user("call"),
          { ...config, durability: "sync" },
        );
      await send(talk);
      const dying = send(() => {
        die();
        return costing(1_000, call(3));
      }, mortal);
      await expect(dying).rejects.toThrow("died");
      // The next runs die before the patch node, and when it has finished but is not stored.
      for (const puts of [1, 2, 3]) await expect(send(talk, dyingAt(saver, puts))).rejects.toThrow("died");
      await send(() => costing(100));
      const { checkpoint } = (await saver.getTuple(config)) ?? {};
      expect(checkpoint?.channel_values["threadUsage"]).toMatchObject({ tokens: 1_300, toolCalls: 5 });
      expect(probe.runs).toHaveLength(2);
    },
  );

  it("are not shown, and no client can write them", async () => {
    const thread = threadOf(talk, { maxTokensPerThread: 150 });
    await thread.send("1", { context: {} });
    const threadUsage = { tokens: -1_000, toolCalls: -1_000 };
    await thread.graph.updateState(config, { messages: [], threadUsage } as never);
    await thread.run({ ...user("2"), threadUsage });
    const { lines } = await thread.send("3");
    expect(lines.at(-1)).toContain("the limit of tokens for this thread");
    expect((await thread.graph.getState(config)).values).not.toHaveProperty("threadUsage");
  });
});

it.each<[what: string, total: number | undefined, ...given: Parameters<typeof chatMiddleware>]>([
  ["that only reads leaves the tokens that were paid for", 100, (_, next) => next(), { readOnly: true }],
  ["that may change the response leaves the tokens that were paid for", 100, (_, next) => next()],
  [
    "that replaces the response leaves the tokens that were paid for",
    100,
    async (context, next) => {
      await next();
      context.result = costing(7, "another");
    },
  ],
  [
    "that responds in place of the model uses no tokens",
    undefined,
    async (context) => {
      context.result = costing(7, "from a cache");
    },
  ],
])("A chat middleware %s", async (_what, total, ...given) => {
  const thread = threadOf(() => costing(100), { middleware: [chatMiddleware(...given)] });
  const { end } = await thread.send("hello");
  expect(Object(end).usage?.total_tokens).toBe(total);
  expect("usage" in Object(end)).toBe(total !== undefined);
  expect(await thread.usage()).toEqual({ tokens: total ?? 0, toolCalls: 0 });
});

it("`run-end` has the tokens of the run by kind, in total and for each model", async () => {
  const details = {
    input_token_details: { cache_read: 60, cache_creation: 30 },
    output_token_details: { reasoning: 15 },
  };
  const noDetails = {
    input_token_details: { cache_read: 0, cache_creation: 0 },
    output_token_details: { reasoning: 0 },
  };
  const usage = (input_tokens: number, output_tokens: number, more: object) => {
    const total_tokens = input_tokens + output_tokens;
    return { input_tokens, output_tokens, total_tokens, ...more };
  };
  const first = Object.assign(call(), { usage_metadata: usage(100, 20, details) });
  const answers = [first, costing(50), costing(70)];
  const summaryModel = Object.assign(new FunctionModel(() => costing(30, "short")), { model: "small-1" });
  const options = { summaryModel, maxMessagesBeforeSummary: 3, messagesToKeep: 1 };
  const { send } = threadOf(listed(answers), options, { model: "big-1" });
  const big = usage(140, 30, details);
  expect((await send("go")).end).toMatchObject({
    type: "run-end",
    calls: 1,
    results: 1,
    usedFallback: false,
    usage: { ...big, models: { "big-1": big } },
  });
  expect((await send(`more ${"words ".repeat(100)}`)).end).toMatchObject({
    usage: {
      total_tokens: 100,
      models: { "big-1": usage(60, 10, noDetails), "small-1": usage(20, 10, noDetails) },
    },
  });
});
