/**
 * What the library promises, over each checkpointer and store, and with each durability. Each step is taken by
 * another process: it has its own graph, checkpointer and store.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { describe, expect, it, vi } from "vitest";
import { createAgentGraph, readFullHistory, restoreCovered } from "../../src/index.js";
import { createSoakGraph } from "../fixtures/soak/graph.js";
import { type TurnKind, turnText } from "../fixtures/soak/turn-kinds.js";
import { approve, asInput, askedLabels } from "../support/approval-graph.js";
import { DURABILITIES, type Durability } from "../support/crashing-thread.js";
import { coverageOf, replaceMethods } from "../support/internals.js";
import { calls, FunctionModel } from "../support/models.js";
import { mortalSaver } from "../support/mortal-saver.js";
import { SAVERS, type SaverKind } from "../support/savers.js";
import { inThread, messagesOf, pairedMessagesOf, pairedScript, script, user } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

const config = inThread("1");
const isSlow = process.env["SLOW_TESTS"] === "1";

/** How the messages are stored. */
const CHANNELS = ["full", "delta"] as const;
type Channel = (typeof CHANNELS)[number];

/** Each durability with each channel. LangGraph's defaults, `async` and `full`, are tested everywhere else. */
const BY_DEFAULT: readonly string[] = [
  "SqliteSaver sync full",
  "SqliteSaver async delta",
  "SqliteSaver exit delta",
  "MemorySaver sync delta",
  "MemorySaver exit full",
];
/** PostgreSQL takes part whenever there is one. */
const isChosen = (title: string, durability: Durability, channel: Channel): boolean =>
  isSlow || title === "PostgresSaver" || BY_DEFAULT.includes(`${title} ${durability} ${channel}`);

const CASES = SAVERS.filter(({ isThere }) => isThere).flatMap((kind) =>
  DURABILITIES.flatMap((durability) =>
    CHANNELS.flatMap((messagesChannel) =>
      isChosen(kind.title, durability, messagesChannel) ? [{ ...kind, durability, messagesChannel }] : [],
    ),
  ),
);

interface Case extends SaverKind {
  readonly durability: Durability;
  readonly messagesChannel: Channel;
}

/** Opens a database. `agent` and `soak` make the graph of another process. */
async function openThread({ open, durability, messagesChannel }: Case) {
  const { connect, connectStore } = await open();
  const options = { ...config, durability };
  const soak = async () =>
    createSoakGraph({ checkpointer: connect(), store: await connectStore(), messagesChannel });
  const agent = (more: Omit<Parameters<typeof createAgentGraph>[0], "checkpointer">, saver = connect()) =>
    createAgentGraph({ ...more, messagesChannel, checkpointer: saver });
  /** One turn in another process. */
  const turn = async (kind: TurnKind, number: number): Promise<BaseMessage[]> =>
    pairedMessagesOf(await (await soak()).invoke(user(turnText(kind, number)), options));
  const read = async (): Promise<BaseMessage[]> => messagesOf((await (await soak()).getState(config)).values);
  const update = async (...messages: object[]) =>
    (await soak()).updateState(config, { messages: messages as never });
  return { connect, options, agent, soak, turn, read, update };
}

/** PostgreSQL takes part whenever there is one. */
const SHARED = SAVERS.filter(
  ({ isThere, title }) => isThere && (isSlow || /^(?:Memory|Postgres)/.test(title)),
);
/** The kinds of the turns of each thread, with their number of messages. */
const TURNS: Readonly<Partial<Record<TurnKind, number>>> = {
  ...(isSlow && { tools: 6, "broken-text": 2 }),
  throws: 5,
};

it.each(SHARED)(
  "With $title, fifty threads at once each have their own messages, and nothing else",
  async ({ open }) => {
    const { connect, connectStore } = await open();
    const graph = createSoakGraph({ checkpointer: connect(), store: await connectStore() });
    const threads = Array.from({ length: 50 }, (_, thread) => ({
      at: inThread(`${thread}`),
      texts: Object.keys(TURNS).map((kind, turn) => turnText(kind as TurnKind, 100 * thread + turn)),
    }));
    const run = async ({ at, texts }: (typeof threads)[number]) => {
      for (const text of texts) await graph.invoke(user(text), at);
    };
    await Promise.all(threads.map(run));
    for (const { at, texts } of threads) {
      const lines = pairedScript((await graph.getState(at)).values);
      expect(lines.filter((line) => line.startsWith("human"))).toEqual(texts.map((text) => `human: ${text}`));
      expect(lines).toHaveLength(Object.values(TURNS).reduce((sum, count) => sum + count, 0));
    }
  },
);

const firstLine = (kind: TurnKind, number: number) => `human: ${turnText(kind, number)}`;

describe.each(CASES)("With $title, $durability and the $messagesChannel channel, a thread", (kind) => {
  it("has the result of a tool that finished before its run was cancelled", async () => {
    const { agent, connect, options, read } = await openThread(kind);
    const { heedful, fast } = createProbe();
    const tools = [heedful, fast];
    const doomed = agent({
      model: new FunctionModel(() => calls(["heedful", {}, "slow"], ["fast", {}, "done"])),
      tools,
    });
    const abort = new AbortController();
    const run = async () => {
      const more = { streamMode: "updates", signal: abort.signal } as const;
      for await (const part of await doomed.stream(user("go"), { ...options, ...more }))
        if ("tools" in (part as object)) abort.abort();
    };
    await expect(run()).rejects.toThrow(/abort/i);
    expect(script(await read())).toContain("tool: fast done -");
    const next = agent({ model: new FunctionModel(() => "fine"), tools }, connect());
    expect(pairedScript(await next.invoke(user("next"), options))).toEqual([
      "human: go",
      "ai> heedful fast",
      expect.stringMatching(/^tool! Tool call heedful/),
      "tool: fast done -",
      "human: next",
      "ai: fine",
    ]);
  });

  it.skipIf(kind.durability === "exit")("has the response of a run that was killed", async () => {
    const { agent, connect, options, read } = await openThread(kind);
    const { mortal, die } = mortalSaver(connect(), ["put"]);
    const doomed = new FunctionModel(async () => {
      await vi.waitFor(async () => expect(script(await read())).toEqual(["human: go"]));
      die();
      return "the answer";
    });
    await expect(agent({ model: doomed }, mortal).invoke(user("go"), options)).rejects.toThrow("died");
    const dead = mortalSaver(connect());
    dead.die();
    const lost = agent({ model: "offline:" }, dead.mortal).invoke(user("lost"), options);
    await expect(lost).rejects.toThrow("died");
    const lines = ["human: go", "ai: the answer"];
    expect(script(await read())).toEqual(lines);
    const next = agent({ model: new FunctionModel(() => "fine") });
    const after = [...lines, "human: next", "ai: fine"];
    expect(pairedScript(await next.invoke(user("next"), options))).toEqual(after);
  });

  it("goes on after a run with the durability exit was killed, of which LangGraph saved nothing", async () => {
    const { agent, connect, turn } = await openThread(kind);
    const before = script(await turn("tools", 1));
    const { mortal, die } = mortalSaver(connect());
    die();
    const doomed = agent({ model: "offline:" }, mortal);
    await expect(doomed.invoke(user("lost"), { ...config, durability: "exit" })).rejects.toThrow("died");
    const after = [...before, firstLine("plain", 2), "ai: the answer to plain"];
    expect(script(await turn("plain", 2))).toEqual(after);
  });

  // LangGraph saves such a run as writes beside the checkpoint before it, and then the checkpoint.
  it.skipIf(kind.durability !== "exit" || kind.messagesChannel !== "delta").each(["first", "second"])(
    "has the %s turn, of which everything but the last checkpoint was saved",
    async (turns) => {
      const { agent, connect, options, read } = await openThread(kind);
      const { fast, runs } = createProbe();
      const answer = () =>
        new FunctionModel(({ messages, text }) =>
          messages.at(-1)?.type === "tool" ? "done" : calls(["fast", {}, text], ["fast", {}, `${text}2`]),
        );
      const before =
        turns === "second"
          ? pairedScript(await agent({ model: answer(), tools: [fast] }).invoke(user("a"), options))
          : [];
      const saver = connect();
      const killed = replaceMethods(saver, {
        // A thread's first run saves an empty checkpoint before.
        put: async (...given) => {
          if (given[2].step === -2) return saver.put(...given);
          throw new Error("The process has died.");
        },
      });
      const doomed = agent({ model: answer(), tools: [fast] }, killed);
      await expect(doomed.invoke(user("b"), options)).rejects.toThrow("died");
      const next = agent({ model: answer(), tools: [fast] });
      const rest = ["ai> fast fast", "tool: fast done -", "tool: fast done -", "ai: done"];
      const expected = [...before, "human: b", ...rest, "human: c", ...rest];
      expect(pairedScript(await next.invoke(user("c"), options))).toEqual(expected);
      expect(script(await read())).toEqual(expected);
      const tuple = await connect().getTuple(config);
      expect(tuple?.checkpoint.channel_values["threadUsage"]).toMatchObject({ toolCalls: runs.length });
      expect(runs).toHaveLength(expected.length * (2 / 5));
    },
  );

  it("waits for a human, who decides in another process or sends a message instead", async () => {
    const { agent, options } = await openThread(kind);
    const { fast, runs } = createProbe();
    const ask = () =>
      agent({
        model: new FunctionModel(({ messages, text }) =>
          messages.at(-1)?.type === "tool" || text === "never mind" ? "fine" : calls(["fast", {}, text]),
        ),
        tools: [fast],
        requireApproval: ["fast"],
      });
    expect(askedLabels(await ask().invoke(user("a"), options))).toHaveLength(1);
    await ask().invoke(asInput({ resume: { decisions: [approve] } }), options);
    expect(runs).toHaveLength(1);
    await ask().invoke(user("b"), options);
    const lines = pairedScript(await ask().invoke(user("never mind"), options));
    expect(lines.slice(1, 4)).toEqual(["ai> fast", "tool: fast done -", "ai: fine"]);
    expect(lines.slice(5)).toEqual([
      "ai> fast",
      expect.stringMatching(/^tool! .*it was not approved|^tool! .*declined|^tool! .*new message/),
      "human: never mind",
      "ai: fine",
    ]);
    expect(runs).toHaveLength(1);
  });

  it("has a branch for a run and for an update from an older checkpoint", async () => {
    const { soak, turn, read, options } = await openThread(kind);
    const first = script(await turn("tools", 1));
    const { config: at } = await (await soak()).getState(config);
    const second = script(await turn("tools", 2));
    const { config: left } = await (await soak()).getState(config);
    await (await soak()).invoke(user(turnText("plain", 3)), { ...at, durability: options.durability });
    const branch = [...first, firstLine("plain", 3), "ai: the answer to plain"];
    expect(script(await read())).toEqual(branch);
    expect(script(messagesOf((await (await soak()).getState(left)).values))).toEqual(second);
    await (await soak()).updateState(at, user("an edit"), "model");
    expect(script(await read())).toEqual([...first, "human: an edit"]);
  });

  it("keeps updates: a late result, an edit, a removed response, and a new start", async () => {
    const { turn, read, update } = await openThread(kind);
    await turn("plain", 1);
    await update(
      { type: "human", content: "by hand", id: "by-hand" },
      { type: "ai", content: "", id: "made", tool_calls: [{ id: "c", name: "fast", args: { label: "1" } }] },
    );
    await turn("plain", 2);
    await update({ type: "tool", content: "late news", tool_call_id: "c" });
    await update({ type: "human", content: "edited", id: "by-hand" });
    expect(script(await read()).slice(2, 5)).toEqual(["human: edited", "ai> fast", "tool: late news"]);
    await update({ type: "remove", id: "made" });
    expect(script(await read()).slice(2, 4)).toEqual(["human: edited", firstLine("plain", 2)]);
    await update({ type: "remove", id: "__remove_all__" });
    expect(script(await turn("plain", 3))).toEqual([firstLine("plain", 3), "ai: the answer to plain"]);
  });

  it("has whole responses where the stream broke or the first model failed", async () => {
    const { turn } = await openThread(kind);
    await turn("broken-text", 1);
    await turn("cut-call", 2);
    expect(script(await turn("switch", 3))).toEqual([
      firstLine("broken-text", 1),
      "ai: the answer to broken-text",
      firstLine("cut-call", 2),
      "ai> fast",
      expect.stringMatching(/^tool: found/),
      "ai: the answer to cut-call",
      firstLine("switch", 3),
      "ai> fast",
      expect.stringMatching(/^tool: found/),
      "ai: the answer to switch",
    ]);
  });

  it("is summarised into an archive, read back and restored", async () => {
    const { connect, turn, read, update } = await openThread(kind);
    const kinds = Array.from(
      { length: 10 },
      (_, number) => (["tools", "plain"] as const)[number % 2] ?? "plain",
    );
    for (const [number, each] of kinds.entries()) await turn(each, number);
    const state = await read();
    expect(state.filter((message) => coverageOf(message) !== undefined)).toHaveLength(1);
    const whole = script(await readFullHistory(connect(), config));
    expect(whole).toHaveLength(5 * 6 + 5 * 2);
    expect(whole.filter((line) => line.startsWith("human"))).toEqual(
      kinds.map((each, number) => firstLine(each, number)),
    );
    await update(...(await restoreCovered(connect(), config)));
    expect(script(await read())).toEqual(whole);
  });
});
