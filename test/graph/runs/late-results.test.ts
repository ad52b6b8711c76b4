/** What a tool returns after the abort of its run takes its placeholder's place in the next run of the thread. */

import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { getEventListeners } from "node:events";
import { RemoveMessage } from "@langchain/core/messages";
import type { ToolRuntime } from "@langchain/core/tools";
import { Command, InMemoryStore, MemorySaver } from "@langchain/langgraph";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { z } from "zod/v4";
import { coverPlan } from "../../../src/history/plan-summary.js";
import { type AgentEvent, createAgentGraph, functionMiddleware } from "../../../src/index.js";
import { findLateResults } from "../../../src/threads/ended-runs/late-results.js";
import { turns } from "../../support/async.js";
import {
  callsOf,
  createPlaceholder,
  createSummary,
  diaryWritten,
  EVENT_CHANNEL,
  recover,
  reduceMessages,
  visibleHistory,
} from "../../support/internals.js";
import { lines } from "../../support/lines.js";
import { ai, human, result } from "../../support/make-messages.js";
import { parentOf } from "../../support/plain-graph.js";
import { abortRun } from "../../support/test-tools.js";
import { inThread, messagesOf, pairedScript, script, user } from "../../support/thread.js";
import { createProbe, makeTool } from "../../support/tools.js";

type Options = Partial<Parameters<typeof createAgentGraph>[0]> & {
  readonly durability?: "async" | "sync" | "exit";
};
type Late = Extract<AgentEvent, { type: "result-late" }>;

const config = inThread("1");
const CLOSED = "a new message came before it finished";
let told: AgentEvent[] = [];
const listen = (event: unknown) => void told.push(event as AgentEvent);
const lateEvents = () => told.filter((event): event is Late => event.type === "result-late");
const typesTold = (...types: string[]) => told.map(({ type }) => type).filter((type) => types.includes(type));

beforeEach(() => {
  told = [];
  subscribe(EVENT_CHANNEL, listen);
});
afterEach(() => void unsubscribe(EVENT_CHANNEL, listen));

function createThread({ durability = "async", ...options }: Options = {}, probe = createProbe()) {
  const saver = options.checkpointer instanceof MemorySaver ? options.checkpointer : new MemorySaver();
  const graph = createAgentGraph({
    model: "offline:",
    tools: [probe.fast, probe.heedful, probe.deaf],
    checkpointer: saver,
    ...options,
  });
  const send = async (text: string, more: object = {}) =>
    graph.invoke(user(text), { ...config, durability, ...more });
  /** Aborts a run whose calls have begun. */
  const abort = async (
    text = "call deaf",
    count = 1,
    start = (signal: AbortSignal): Promise<unknown> => send(text, { signal }),
  ) => {
    const begun = probe.runs.length + count;
    await abortRun(start, () => probe.hasBegun(begun));
  };
  /** Ends the tool, and waits until its result has come. The next run waits until it is written. */
  const release = async (count = lateEvents().length + 1) => {
    probe.release();
    await expect.poll(() => lateEvents().length, { interval: 5 }).toBe(count);
    await turns();
  };
  const read = async () => messagesOf((await graph.getState(config)).values);
  const results = async () => (await read()).flatMap(({ type, text }) => (type === "tool" ? text : []));
  return { probe, graph, saver, send, abort, release, read, results };
}

/** A tool that ends when the probe's does, and with what this function does then. */
const endingLate = (probe: ReturnType<typeof createProbe>, end: (runtime: ToolRuntime) => unknown) =>
  makeTool("deaf", async (_, runtime) => {
    await probe.deaf.invoke({ label: "-" }, { ...runtime, signal: AbortSignal.timeout(60_000) });
    return end(runtime);
  });

const WAYS: readonly (readonly [name: string, options: () => Options])[] = [
  ["async", () => ({})],
  ["sync, with a store", () => ({ durability: "sync", store: new InMemoryStore() })],
  ["exit", () => ({ durability: "exit" })],
  ["exit, with the delta channel", () => ({ durability: "exit", messagesChannel: "delta" })],
];

describe.each(WAYS)("A late result, %s,", (_, options) => {
  it("that came before the next message answers its call", async () => {
    const { send, abort, release, read } = createThread(options());
    await abort();
    await release();
    await send("hello");
    expect(pairedScript({ messages: await read() })).toEqual(
      lines("human: call deaf | ai> deaf | tool: deaf done - | human: hello | ai: …"),
    );
    const types = ["result-late", "result-recovered"];
    expect(typesTold(...types, "result-dropped")).toEqual(types);
  });

  it("that came after the next message takes its placeholder's place, once", async () => {
    const { send, abort, release, results } = createThread(options());
    await abort();
    await send("hello");
    expect(await results()).toEqual([expect.stringContaining(CLOSED)]);
    await release();
    for (const text of ["and now", "again", "and again"]) await send(text);
    expect(await results()).toEqual(["deaf done -"]);
    expect(typesTold("result-recovered", "result-dropped")).toEqual(["result-recovered"]);
  });

  it("that comes while the next run goes on is in the thread after the run that follows", async () => {
    const probe = createProbe();
    const gate = makeTool("gate", () => thread.release().then(() => "open"));
    const thread = createThread({ ...options(), tools: [probe.deaf, gate] }, probe);
    await thread.abort();
    await thread.send("call gate");
    await thread.send("hello");
    expect(await thread.results()).toEqual(["deaf done -", "open"]);
    pairedScript({ messages: await thread.read() });
  });

  it("that is an error is the result, and what only tells of the abort is none", async () => {
    const failing = (error: unknown) => {
      const probe = createProbe();
      const deaf = endingLate(probe, () => Promise.reject(error));
      return createThread({ ...options(), tools: [deaf], includeDetailedErrors: true }, probe);
    };
    const declined = failing(new Error("the payment was declined"));
    await declined.abort();
    await declined.release();
    await declined.send("hello");
    expect((await declined.read())[2]).toMatchObject({
      type: "tool",
      status: "error",
      text: expect.stringContaining("the payment was declined"),
    });

    told = [];
    const aborted = failing(new DOMException("The operation was aborted.", "AbortError"));
    await aborted.abort();
    await aborted.release(0);
    await aborted.send("hello");
    expect(await aborted.results()).toEqual([expect.stringContaining(CLOSED)]);
    expect(lateEvents()).toEqual([]);
  });

  it("that comes before the aborted run of a new thread is saved has its place", async () => {
    const probe = createProbe();
    const controller = new AbortController();
    const stopping = makeTool("stopping", async () => {
      await turns();
      controller.abort();
      return "half of it";
    });
    const { send, read } = createThread({ ...options(), tools: [probe.fast, stopping] }, probe);
    const run = send("call fast and call stopping", { signal: controller.signal, durability: "exit" });
    await expect(run).rejects.toThrow("aborted");
    await send("hello");
    const results = "tool: fast done - | tool: half of it";
    expect(pairedScript({ messages: await read() })).toEqual(
      lines(`human: call fast and call stopping | ai> fast stopping | ${results} | human: hello | ai: …`),
    );
  });

  it("that comes twice is there once", async () => {
    const { graph, abort, release, send, results } = createThread(options());
    await abort();
    // The call is run again, and its first tool has not ended.
    const again = graph.invoke(null, config);
    await turns();
    await release();
    await again;
    for (const text of ["hello", "hello"]) await send(text);
    expect(await results()).toEqual(["deaf done -"]);
    expect(typesTold("result-dropped")).toEqual([]);
  });

  it("has passed the middleware of its call", async () => {
    const redact = functionMiddleware(async (context, next) => {
      await next();
      context.result = `redacted ${context.result?.text.length}`;
    });
    const { abort, release, send, results } = createThread({ ...options(), middleware: [redact] });
    await abort();
    await release();
    await send("hello");
    expect(await results()).toEqual(["redacted 11"]);
    expect(lateEvents()[0]?.message).toMatchObject({ content: "redacted 11" });
  });

  it("is there if the middleware of its call ends with the abort", async () => {
    const heed = functionMiddleware(async ({ signal }, next) => {
      await next();
      signal?.throwIfAborted();
    });
    const { abort, release, send, results } = createThread({ ...options(), middleware: [heed] });
    await abort();
    await release();
    await send("hello");
    expect(await results()).toEqual(["deaf done -"]);
  });

  it("of an approved call, in a run that resumed, answers it", async () => {
    const approvals = { ...options(), requireApproval: { deaf: true } };
    const { graph, abort, send, release, results } = createThread(approvals);
    await send("call deaf");
    const resume = new Command({ resume: { decisions: [{ type: "approve" }] } });
    await abort("", 1, (signal) => graph.invoke(resume, { ...config, signal }));
    await send("hello");
    await release();
    await send("and now");
    expect(await results()).toEqual(["deaf done -"]);
  });

  it("of an agent that is a node with a memory answers its call", async () => {
    const { graph, abort, release } = createThread({ ...options(), checkpointer: true });
    const parent = parentOf(graph, { checkpointer: new MemorySaver(), ...options() });
    await abort("", 1, (signal) => parent.invoke(user("call deaf"), { ...config, signal }));
    await release();
    const { messages } = await parent.invoke(user("hello"), config);
    expect(messages.find(({ type }) => type === "tool")?.text).toBe("deaf done -");
  });

  it("of a message that was removed is told when it comes, and has no place", async () => {
    const { graph, abort, release, send, read, results } = createThread(options());
    await abort();
    await send("hello");
    const [, asking] = await read();
    await graph.updateState(config, { messages: [new RemoveMessage({ id: asking?.id ?? "" })] });
    await release();
    await send("and now");
    expect(await results()).toEqual([]);
    expect(lateEvents()).toMatchObject([{ message: { content: "deaf done -" } }]);
  });

  it("of a run that is continued is the result of its call, and the tool is not run again", async () => {
    const { graph, probe, abort, release, results } = createThread(options());
    await abort();
    await release();
    pairedScript(await graph.invoke(null, config));
    expect([await results(), probe.runs]).toEqual([["deaf done -"], ["deaf:-"]]);
  });

  it("is not in a branch from before its call, and is in one from after it", async () => {
    const { graph, abort, release, send } = createThread(options());
    await send("zero");
    const before = (await graph.getState(config)).config;
    await abort();
    const sent = (await graph.getState(config)).config;
    await send("hello");
    await release();
    await send("and now");
    const resultsFrom = async (from: object) =>
      script((await graph.invoke(user("back"), from)).messages).filter((line) => line.startsWith("tool"));
    expect(await resultsFrom(before)).toEqual([]);
    expect(await resultsFrom(sent)).toEqual(["tool: deaf done -"]);
  });
});

describe("A late result of another process", () => {
  /** Two processes have the database in common, and not the memory. */
  const processes = (options: Options) => {
    const one = createThread(options);
    const { storage, writes } = one.saver;
    const checkpointer = Object.assign(new MemorySaver(), { storage, writes });
    return [one, createThread({ ...options, checkpointer })] as const;
  };

  it("comes with the next run, whichever process has that", async () => {
    const [one, other] = processes({});
    await one.abort();
    await other.send("hello");
    await one.release();
    await diaryWritten("1");
    await other.send("and now");
    expect(await other.results()).toEqual(["deaf done -"]);
  });
});

it("A late result is forgotten if its thread was deleted", async () => {
  const { saver, abort, release, send, read } = createThread();
  await abort();
  await saver.deleteThread("1");
  await release();
  await diaryWritten("1");
  expect(saver.writes).toEqual({});
  await send("hello");
  expect(script(await read())[0]).toBe("human: hello");
  expect(typesTold("result-recovered", "result-dropped")).toEqual([]);
});

it("Without a checkpointer the event alone has a late result", async () => {
  const { graph, abort, release } = createThread({ checkpointer: undefined });
  await abort("", 1, (signal) => graph.invoke(user("call deaf"), { signal }));
  await release();
  expect(lateEvents()).toMatchObject([{ tool: "deaf", message: { type: "tool", content: "deaf done -" } }]);
  expect(lateEvents()[0]).not.toHaveProperty("threadId");
});

it("A checkpointer that fails for a moment gets the result when it is back", async () => {
  const { saver, abort, release, send, results } = createThread();
  await abort();
  const write = vi.spyOn(saver, "putWrites").mockRejectedValueOnce(new Error("no connection"));
  await release();
  await send("hello");
  expect(write.mock.calls.length).toBeGreaterThan(1);
  expect(await results()).toEqual(["deaf done -"]);
});

it("Tools that never end leave no listener behind", async () => {
  const silent = makeTool("silent", () => new Promise<string>(() => {}));
  const { graph } = createThread({ tools: [silent] });
  for (let run = 0; run < 20; run += 1) {
    const controller = new AbortController();
    const { signal } = controller;
    const running = graph.invoke(user("call silent"), { ...inThread(`${run}`), signal });
    setImmediate(() => setImmediate(() => controller.abort()));
    await expect(running).rejects.toThrow(/abort/i);
    expect(getEventListeners(signal, "abort")).toEqual([]);
  }
  expect(lateEvents()).toEqual([]);
});

describe("findLateResults", () => {
  const placeholderOf = (
    id: string,
    place: string,
    cause: Parameters<typeof createPlaceholder>[1],
    at = "7",
  ) => createPlaceholder({ kind: "valid", id, name: "t" }, cause, place, at);

  /** A checkpointer whose checkpoints have these results beside them. It counts its reads. */
  const withResults = (
    results: Readonly<Record<string, readonly (readonly [place: string, callId: string])[]>>,
  ) => {
    const read: string[] = [];
    const saver = {
      getTuple: async ({ configurable }: { configurable: { checkpoint_id: string } }) => {
        const { checkpoint_id: id } = configurable;
        read.push(id);
        const pendingWrites = (results[id] ?? []).map(([place, callId]) => [
          place,
          "tether:diary",
          [place, "result", { message: result("", callId, `late ${place}`), values: [{ note: place }] }],
        ]);
        return { pendingWrites };
      },
    };
    const config = {
      configurable: { thread_id: "1", checkpoint_ns: "model:1", __pregel_checkpointer: saver },
    };
    return {
      read,
      find: async (history: Parameters<typeof findLateResults>[0]) => {
        const late = await findLateResults(history, config, () => []);
        return recover(history, { runs: [], late }, { putsBack: "none", asksAtOnce: false, calls: [] });
      },
    };
  };

  it("gives the result of one of two calls with the same id to that one", async () => {
    const first = [human("h"), ai("first", "c"), placeholderOf("c", "first:0", "superseded")];
    const history = [...first, human("i"), ai("second", "c"), placeholderOf("c", "second:0", "superseded")];
    const { read, find } = withResults({ 7: [["first:0", "c"]] });
    const { late } = await find(history);
    const { messages } = reduceMessages(history, late);
    expect(script(messages).filter((line) => line.startsWith("tool:"))).toEqual(["tool: late first:0"]);
    expect(messages[5]).toBe(history[5]);
    expect(read).toEqual(["7"]);
  });

  it.each([
    ["unrecorded", true],
    ["superseded", true],
    ["interrupted", true],
    ["declined", false],
    ["not-started", false],
    ["invalid-arguments", false],
    ["timed-out", false],
    ["failed", false],
  ] as const)("looks for the result of a call that is closed as %s: %s", async (cause, isLookedUp) => {
    const { read, find } = withResults({});
    await find([human("h"), ai("a", "c"), placeholderOf("c", "a:0", cause)]);
    expect(read).toEqual(isLookedUp ? ["7"] : []);
  });

  it("reads each checkpoint of the last turns once, and none without such a placeholder", async () => {
    const turn = (index: number) => [
      human(`h${index}`),
      ai(`a${index}`, "c", "d"),
      placeholderOf("c", `a${index}:0`, "superseded", `${index}`),
      placeholderOf("d", `a${index}:1`, "superseded", `${index}`),
    ];
    const { read, find } = withResults({});
    await find(Array.from({ length: 40 }, (_, index) => turn(index)).flat());
    expect(read).toEqual(["32", "33", "34", "35", "36", "37", "38", "39"]);
    read.length = 0;
    await find([human("h"), ai("a", "c"), result("r", "c", "done"), human("i")]);
    expect(read).toEqual([]);
  });

  it.each(["keep", "archive"] as const)(
    "finds the result of a call that a summary covers (%s)",
    async (kind) => {
      const early = [human("h"), ai("a", "c"), placeholderOf("c", "a:0", "superseded")];
      const history = [...early, human("i"), ai("b")];
      const plan = { summaries: [], lateResults: [], covered: early };
      const summary = createSummary(
        "What was.",
        coverPlan(plan as never, history, kind === "keep" ? undefined : "7"),
      );
      const summarised = reduceMessages(history, [summary]).messages;
      expect(summarised.length).toBe(kind === "keep" ? 6 : 3);
      const { find } = withResults({ 7: [["a:0", "c"]] });
      const { late } = await find(summarised);
      const { messages } = reduceMessages(summarised, late);
      expect(visibleHistory(messages).lateResults.map(({ text }) => text)).toEqual(["late a:0"]);
      expect((await find(messages)).late).toEqual([]);
    },
  );

  it("gives values for own keys in the order of the calls, whichever tool ended first", async () => {
    const closed = ["c", "d"].map((id, index) => placeholderOf(id, `a:${index}`, "unrecorded"));
    const { find } = withResults({
      7: [
        ["a:1", "d"],
        ["a:0", "c"],
      ],
    });
    const { values } = await find([human("h"), ai("a", "c", "d"), ...closed]);
    expect(values).toEqual([
      ["note", "a:0"],
      ["note", "a:1"],
    ]);
  });
});

describe.each(WAYS)("What a late Command writes to an own key, %s,", (_, options) => {
  it.each([
    ["is written with its result", {}, "late"],
    ["gives way to the input of the next run", { note: "new" }, "new"],
  ])("%s", async (_title, next, expected) => {
    const probe = createProbe();
    const deaf = endingLate(probe, ({ toolCallId }) => {
      const messages = [{ role: "tool" as const, content: "noted", tool_call_id: toolCallId }];
      return new Command({ update: { note: "late", messages } });
    });
    const stateSchema = z.object({ note: z.string().optional() });
    const { graph, abort, release } = createThread({ ...options(), stateSchema, tools: [deaf] }, probe);
    await abort();
    await release();
    await graph.invoke({ ...user("hello"), ...next } as never, config);
    const { values } = await graph.getState(config);
    expect([Reflect.get(values, "note"), messagesOf(values)[2]?.text]).toEqual([expected, "noted"]);
  });
});

it("A client cannot write into a diary: what its `Command` writes is not read", async () => {
  const { graph, saver, abort, read, send, results } = createThread();
  await abort();
  const [, asking] = await read();
  const [call] = asking === undefined ? [] : callsOf(asking);
  const message = { type: "tool", content: "forged", tool_call_id: call?.id };
  const { config: head } = await graph.getState(config);
  // Where LangGraph saves the update of a `Command`.
  const entry = [`${asking?.id}:0`, "result", { message, values: [] }];
  await saver.putWrites(head, [["tether:diary", entry]], "00000000-0000-0000-0000-000000000000");
  await send("and now");
  expect(await results()).toEqual([expect.stringContaining(CLOSED)]);
});

it("Results that come together look once for their thread", async () => {
  const { saver, abort, release } = createThread();
  await abort(Array.from({ length: 50 }, () => "call deaf").join(", "), 50);
  const looks = vi.spyOn(saver, "getTuple");
  await release(50);
  expect(looks.mock.calls.length).toBeLessThan(5);
});

it("A run of another branch leaves a late result for the branch that has its call", async () => {
  const { graph, abort, send, release } = createThread();
  const ends = [];
  for (const text of ["zero", "one"]) {
    await abort("call deaf");
    await send(text);
    ends.push((await graph.getState(config)).config);
  }
  await release(2);
  const [before = {}, tip = {}] = ends;
  await graph.invoke(user("another branch"), before);
  const lines = pairedScript(await graph.invoke(user("back"), tip));
  expect(lines.filter((line) => line.startsWith("tool"))).toEqual(Array(2).fill("tool: deaf done -"));
  expect(typesTold("result-dropped")).toEqual([]);
});
