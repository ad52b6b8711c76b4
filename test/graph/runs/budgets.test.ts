/** Budgets of tokens and tool calls: what is counted, what happens at a limit, and what the counters survive. */

import { AIMessage } from "@langchain/core/messages";
import {
  type BaseCheckpointSaver,
  InMemoryStore,
  MemorySaver,
  REMOVE_ALL_MESSAGES,
} from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import {
  type AgentEvent,
  type AgentGraphOptions,
  chatMiddleware,
  createAgentGraph,
  InvalidSettingError,
} from "../../../src/index.js";
import { type Answer, FunctionModel, shortSummariser } from "../../support/function-model.js";
import { mortalSaver, SAVERS } from "../../support/mortal-saver.js";
import { createProbe } from "../../support/probe-tools.js";
import { calls } from "../../support/scripted-model.js";
import { inThread, messagesOf, pairedMessagesOf, script, user } from "../../support/thread.js";

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

function threadOf(model: FunctionModel, options: Partial<AgentGraphOptions> = {}) {
  const probe = createProbe();
  const saver = new MemorySaver();
  const make = (more: Partial<AgentGraphOptions> = {}) =>
    createAgentGraph({ model, tools: [probe.fast], checkpointer: saver, ...options, ...more });
  const graph = make();
  const run = async (input: unknown, more: object = {}, other = graph) => {
    const events: AgentEvent[] = [];
    const chunks = await other.stream(input as null, {
      ...config,
      ...more,
      streamMode: ["custom", "values"],
    });
    let last: unknown;
    for await (const [mode, data] of chunks as AsyncIterable<[string, unknown]>) {
      if (mode === "custom") events.push(data as AgentEvent);
      else last = data;
    }
    const told = events.filter(({ type }) => type.startsWith("limit-"));
    return { lines: script(pairedMessagesOf(last)), told, end: events.at(-1) };
  };
  const send = (text: string, more: object = {}, other = graph) => run(user(text), more, other);
  const usage = async () => (await saver.getTuple(config))?.checkpoint.channel_values["threadUsage"];
  return { graph, make, probe, run, send, usage };
}

const reached = (limit: string) => ({ type: "limit-reached", limit });
const near = (limit: string, used: number, max: number) => ({ type: "limit-near", limit, used, max });

describe("A count of tokens that cannot be", () => {
  const fields = ["input_tokens", "output_tokens", "total_tokens"];
  const counts = [-1, -1e9, Number.NaN, Number.POSITIVE_INFINITY, 1e308, "12", null, {}, [5], 0];
  const reports = counts.flatMap((count) =>
    [...fields.map((field) => [field]), fields].map((names) =>
      Object.fromEntries(names.map((name) => [name, count])),
    ),
  );

  it.each(reports.map((report) => [report] as const))("%o does not switch a budget off", async (report) => {
    const usage_metadata = { input_tokens: 90, output_tokens: 10, total_tokens: 100, ...report };
    const model = new FunctionModel(({ toolChoice }) =>
      Object.assign(toolChoice === "none" ? new AIMessage("the end") : call(), { usage_metadata }),
    );
    const budgets = { maxTokensPerTurn: 500, maxTokensPerThread: 2_000, maxIterations: 40 };
    const { send, usage } = threadOf(model, budgets);
    const { told, end } = await send("word ".repeat(200));
    expect(told.at(-1)).toEqual(reached("max-tokens-per-turn"));
    for (let turn = 0; turn < 5; turn += 1) await send("go");
    expect((await send("go")).told.at(-1)).toEqual(reached("max-tokens-per-thread"));
    expect(JSON.stringify([end, await usage()])).not.toMatch(/-\d|null|e\+|_tokens":[^\d{]/);
  });
});

describe("maxTokensPerTurn", () => {
  it("is followed by the closing response, after a warning at 80 %", async () => {
    const { send, probe } = threadOf(new FunctionModel(eager), { maxTokensPerTurn: 250 });
    const { lines, told } = await send("go");
    expect(probe.runs).toHaveLength(3);
    expect(lines.at(-1)).toBe("ai: the end");
    expect(told).toEqual([near("max-tokens-per-turn", 200, 250), reached("max-tokens-per-turn")]);
  });

  it("begins anew with each turn", async () => {
    const { send, probe } = threadOf(new FunctionModel(eager), { maxTokensPerTurn: 150 });
    await send("go");
    await send("again");
    expect(probe.runs).toHaveLength(4);
  });

  it("is reached by exactly this many tokens, and not by one less", async () => {
    for (const [max, ran] of [
      [200, 2],
      [201, 3],
    ] as const) {
      const { send, probe } = threadOf(new FunctionModel(eager), { maxTokensPerTurn: max });
      await send("go");
      expect(probe.runs).toHaveLength(ran);
    }
  });

  it("may be lowered by a run, and not raised", async () => {
    const { send, probe } = threadOf(new FunctionModel(eager), { maxTokensPerTurn: 1_000 });
    await send("go", { context: { maxTokensPerTurn: 150 } });
    expect(probe.runs).toHaveLength(2);
    await expect(send("go", { context: { maxTokensPerTurn: 1_001 } })).rejects.toThrow(InvalidSettingError);
  });

  it("counts our estimate where the model reports no usage", async () => {
    const model = new FunctionModel(({ toolChoice }) => (toolChoice === "none" ? "the end" : call()));
    const { send, probe } = threadOf(model, { maxTokensPerTurn: 400, maxIterations: 30 });
    const { told, end } = await send("word ".repeat(200));
    expect(told.at(-1)).toEqual(reached("max-tokens-per-turn"));
    // The message has 250 tokens by our estimate, and is sent with each request.
    expect(probe.runs).toHaveLength(2);
    expect(end).not.toHaveProperty("usage");
  });

  it("counts responses that were broken", async () => {
    const answers = [costing(100, ""), costing(100, call()), costing(100)];
    const { send } = threadOf(new FunctionModel(() => answers.shift() ?? "too often"), {
      maxTokensPerTurn: 200,
    });
    const { told, lines } = await send("go");
    expect(told).toEqual([near("max-tokens-per-turn", 200, 200), reached("max-tokens-per-turn")]);
    expect(lines.at(-1)).toBe("ai: done");
  });
});

describe("maxToolCallsPerThread", () => {
  it.each([
    // The limit, the calls of each turn, and how many run.
    [3, [2, 2], 2],
    [3, [3, 1], 3],
    [4, [2, 2, 1], 4],
    [0, [1], 0],
    [5, [1, 1, 4, 1], 2],
  ])("of %i is never exceeded by turns of %j calls", async (max, turns, ran) => {
    const wanted: number[] = [];
    const model = new FunctionModel(({ messages, toolChoice }) =>
      toolChoice === "none" || messages.at(-1)?.type === "tool" ? "the end" : call(wanted.shift()),
    );
    const { send, probe } = threadOf(model, { maxToolCallsPerThread: max });
    for (const count of turns) {
      wanted.splice(0, 1, count);
      expect((await send("go")).lines.at(-1)).toBe("ai: the end");
      if (probe.runs.length > max) throw new Error("It ran too many calls.");
    }
    expect(probe.runs.length).toBeGreaterThanOrEqual(ran);
  });

  it("gives each call of a batch that would exceed it a result, and warns before", async () => {
    const answers = [call(4), "four", call(2), "no more", "off"];
    const model = new FunctionModel(() => answers.shift() ?? "too often");
    const { send, probe } = threadOf(model, { maxToolCallsPerThread: 5 });
    expect((await send("go")).told).toEqual([near("max-tool-calls-per-thread", 4, 5)]);
    const { lines, told } = await send("again");
    expect(lines.slice(-4)).toEqual([
      "ai> fast fast",
      "tool! Not run: the limit of tool calls for this thread is reached.",
      "tool! Not run: the limit of tool calls for this thread is reached.",
      "ai: no more",
    ]);
    expect(told).toEqual([reached("max-tool-calls-per-thread")]);
    expect(probe.runs).toHaveLength(4);
  });

  it("turns the tools off in the turns after it", async () => {
    const model = new FunctionModel(eager);
    const { send, probe } = threadOf(model, { maxToolCallsPerThread: 2 });
    await send("go");
    const { lines, told } = await send("again");
    expect(lines.slice(-2)).toEqual(["human: again", "ai: the end"]);
    expect(told).toEqual([reached("max-tool-calls-per-thread")]);
    expect(probe.runs).toHaveLength(2);
    expect(model.requests.at(-1)?.toolChoice).toBe("none");
  });

  it("does not count calls that the caller runs", async () => {
    const model = new FunctionModel(({ messages }) =>
      messages.at(-1)?.type === "tool" ? "the end" : call(),
    );
    const { graph } = threadOf(model, { autoInvoke: false, maxToolCallsPerThread: 1 });
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
    const model = new FunctionModel(eager);
    const { send, probe } = threadOf(model, { maxTokensPerThread: 250 });
    const first = await send("go");
    expect(first.lines.at(-1)).toBe("ai: the end");
    expect(first.told).toEqual([near("max-tokens-per-thread", 200, 250), reached("max-tokens-per-thread")]);
    expect(model.requests).toHaveLength(4);
    for (const text of ["again", "and again"]) {
      const later = await send(text);
      expect(later.lines.slice(-2)).toEqual([`human: ${text}`, USED_UP]);
      expect(later.told).toEqual([reached("max-tokens-per-thread")]);
      expect(later.end).toMatchObject({ type: "run-end", calls: 0, results: 0 });
    }
    expect(model.requests).toHaveLength(4);
    expect(probe.runs).toHaveLength(3);
  });

  it("streams the response of a turn that does not ask the model", async () => {
    const { graph, send } = threadOf(new FunctionModel(eager), { maxTokensPerThread: 100 });
    await send("go");
    const texts: string[] = [];
    for await (const [message] of await graph.stream(user("again"), { ...config, streamMode: "messages" }))
      texts.push(`${message.type}: ${message.text}`);
    expect(texts).toEqual([USED_UP]);
  });

  it("lets the thread go on when the graph has a higher one", async () => {
    const model = new FunctionModel(() => costing(100));
    const { send, make } = threadOf(model, { maxTokensPerThread: 150 });
    for (const text of ["1", "2"]) expect((await send(text)).lines.at(-1)).toBe("ai: done");
    expect((await send("3")).lines.at(-1)).toBe(USED_UP);
    const { lines, told } = await send("4", {}, make({ maxTokensPerThread: 320 }));
    expect(lines.at(-1)).toBe("ai: done");
    expect(told).toEqual([near("max-tokens-per-thread", 300, 320)]);
  });

  it("warns once in each turn, and again in the next", async () => {
    const { send } = threadOf(new FunctionModel(() => costing(100)), { maxTokensPerThread: 1_000 });
    const told = [];
    for (let turn = 1; turn <= 10; turn += 1) told.push((await send(`${turn}`)).told);
    expect(told).toEqual([
      ...Array.from({ length: 7 }, () => []),
      ...[800, 900, 1_000].map((used) => [near("max-tokens-per-thread", used, 1_000)]),
    ]);
  });

  it("makes no summary when it is used up", async () => {
    const summaryModel = shortSummariser();
    const model = new FunctionModel(() => costing(100, "word ".repeat(100)));
    const options = { maxTokensPerThread: 300, maxMessagesBeforeSummary: 4, summaryModel };
    const { send } = threadOf(model, options);
    for (let turn = 0; turn < 6; turn += 1) await send(`${turn} ${"word ".repeat(100)}`);
    const asked = summaryModel.requests.length;
    for (let turn = 0; turn < 6; turn += 1)
      expect((await send(`later ${turn} ${"word ".repeat(100)}`)).lines.at(-1)).toBe(USED_UP);
    expect(summaryModel.requests).toHaveLength(asked);
  });
});

/** A saver that dies when it is to save this checkpoint of a run, the first being 1. */
function dyingAt(saver: BaseCheckpointSaver, checkpoint: number): BaseCheckpointSaver {
  const { mortal, die } = mortalSaver(saver, ["put"]);
  let saved = 0;
  return new Proxy(mortal, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name, target);
      if (name !== "put" || typeof value !== "function") return value;
      return (...given: unknown[]) => {
        saved += 1;
        if (saved === checkpoint) die();
        return Reflect.apply(value, target, given);
      };
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
    const store = new InMemoryStore();
    const thread = threadOf(new FunctionModel(talk), {
      store,
      summaryModel,
      coveredMessages: "archive",
      maxMessagesBeforeSummary: 6,
    });
    for (let turn = 0; turn < 4; turn += 1) await thread.send(`call ${"words ".repeat(50)}`);
    await thread.graph.updateState(config, {
      messages: [{ type: "remove", id: REMOVE_ALL_MESSAGES }],
    } as never);
    expect(messagesOf((await thread.graph.getState(config)).values)).toEqual([]);
    const summaries = summaryModel.requests.length;
    expect(summaries).toBeGreaterThan(0);
    // Four turns of two requests, and the last question.
    expect(await usedBy(thread)).toEqual({ tokens: 900 + 17 * summaries, toolCalls: 8 });
  });

  it("are those of the branch in a fork", async () => {
    const thread = threadOf(new FunctionModel(talk));
    await thread.send("call");
    const head = await thread.graph.getState(config);
    await thread.send("call");
    await thread.send("call");
    expect(await usedBy(thread, { configurable: head.config.configurable })).toEqual({
      tokens: 300,
      toolCalls: 2,
    });
  });

  it("do not include what another branch did after the checkpoint of a fork", async () => {
    const thread = threadOf(new FunctionModel(talk));
    await thread.send("hello");
    const states = [];
    for await (const state of thread.graph.getStateHistory(config)) states.push(state);
    const before = states.find(({ next }) => next.includes("model"));
    expect(await usedBy(thread, { configurable: before?.config.configurable })).toMatchObject({
      tokens: 100,
    });
  });

  it("are kept by a run without an answer, and by one that is resumed", async () => {
    const thread = threadOf(new FunctionModel(talk), { requireApproval: ["fast"] });
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
      const make = (answer: Answer, checkpointer = saver) =>
        createAgentGraph({ model: new FunctionModel(answer), tools: [probe.fast], checkpointer });
      await make(talk).invoke(user("call"), config);
      const doomed = make(() => {
        die();
        return costing(1_000, call(3));
      }, mortal);
      await expect(doomed.invoke(user("go"), { ...config, durability: "sync" })).rejects.toThrow("died");
      // The next runs die before the patch node, and when it has finished but is not stored.
      for (const puts of [1, 2, 3]) {
        const dying = make(talk, dyingAt(saver, puts));
        await expect(dying.invoke(user("?"), { ...config, durability: "sync" })).rejects.toThrow("died");
      }
      await make(talk).invoke(user("well?"), config);
      const { checkpoint } = (await saver.getTuple(config)) ?? {};
      expect(checkpoint?.channel_values["threadUsage"]).toEqual({ tokens: 1_300, toolCalls: 5 });
      expect(probe.runs).toHaveLength(2);
    },
  );

  it("are not shown, and no client can write them", async () => {
    const thread = threadOf(new FunctionModel(talk), { maxTokensPerThread: 150 });
    await thread.send("1", { context: {} });
    const forged = { messages: [], threadUsage: { tokens: -1_000, toolCalls: -1_000 } };
    await thread.graph.updateState(config, forged as never);
    await thread.run({ ...user("2"), threadUsage: forged.threadUsage });
    const { lines } = await thread.send("3");
    expect(lines.at(-1)).toContain("the limit of tokens for this thread");
    expect((await thread.graph.getState(config)).values).not.toHaveProperty("threadUsage");
  });
});

describe("A chat middleware", () => {
  const usageWith = async (...[change, options]: Parameters<typeof chatMiddleware>) => {
    const middleware = [options === undefined ? chatMiddleware(change) : chatMiddleware(change, options)];
    const thread = threadOf(new FunctionModel(() => costing(100)), { middleware });
    const { end } = await thread.send("hello");
    return { end, counted: await thread.usage() };
  };

  it.each<[what: string, ...given: Parameters<typeof chatMiddleware>]>([
    ["that only reads", (_, next) => next(), { readOnly: true }],
    ["that may change the response", (_, next) => next()],
    [
      "that replaces the response",
      async (context, next) => {
        await next();
        context.result = costing(7, "another");
      },
    ],
  ])("%s leaves the tokens that were paid for", async (_what, change, options) => {
    const { end, counted } = await usageWith(change, options);
    expect(end).toMatchObject({ usage: { total_tokens: 100 } });
    expect(counted).toEqual({ tokens: 100, toolCalls: 0 });
  });

  it("that responds in place of the model uses no tokens", async () => {
    const { end, counted } = await usageWith(async (context) => {
      context.result = costing(7, "from a cache");
    });
    expect(end).not.toHaveProperty("usage");
    expect(counted).toEqual({ tokens: 0, toolCalls: 0 });
  });
});

describe("run-end", () => {
  it("has the tokens of the run by kind, in total and for each model", async () => {
    const answers = [
      Object.assign(call(), {
        usage_metadata: {
          input_tokens: 100,
          output_tokens: 20,
          total_tokens: 120,
          input_token_details: { cache_read: 60, cache_creation: 30 },
          output_token_details: { reasoning: 15 },
        },
      }),
      costing(50),
    ];
    const model = Object.assign(new FunctionModel(() => answers.shift() ?? "too often"), { model: "big-1" });
    const summaryModel = Object.assign(new FunctionModel(() => costing(30, "short")), { model: "small-1" });
    const { send } = threadOf(model, { summaryModel, maxMessagesBeforeSummary: 3, messagesToKeep: 1 });
    const { end } = await send("go");
    const big = {
      input_tokens: 140,
      output_tokens: 30,
      total_tokens: 170,
      input_token_details: { cache_read: 60, cache_creation: 30 },
      output_token_details: { reasoning: 15 },
    };
    expect(end).toEqual({
      type: "run-end",
      calls: 1,
      results: 1,
      usedFallback: false,
      usage: { ...big, models: { "big-1": big } },
    });
    answers.push(costing(70));
    const { end: later } = await send(`more ${"words ".repeat(100)}`);
    const noDetails = {
      input_token_details: { cache_read: 0, cache_creation: 0 },
      output_token_details: { reasoning: 0 },
    };
    expect(later).toMatchObject({
      usage: {
        total_tokens: 100,
        models: {
          "big-1": { input_tokens: 60, output_tokens: 10, total_tokens: 70, ...noDetails },
          "small-1": { input_tokens: 20, output_tokens: 10, total_tokens: 30, ...noDetails },
        },
      },
    });
  });
});
