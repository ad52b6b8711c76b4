/** Archives of threads that are forked, copied and lived in for long, and of models that repeat the ids of responses. */

import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { createAgentGraph, type MissingMessages, readFullHistory } from "../../src/index.js";
import { tetherMiddleware, tetherState } from "../../src/langchain.js";
import { copyThread } from "../support/copy-thread.js";
import { archiveOf, isPlaceholder, UPDATES_BETWEEN_SNAPSHOTS } from "../support/internals.js";
import { callingOnce, FunctionModel, shortSummariser } from "../support/models.js";
import type { AnyAgent } from "../support/open-thread.js";
import { inThread, messagesOf } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

const SUMMARIES = {
  coveredMessages: "archive",
  maxTokensBeforeSummary: 0,
  maxMessagesBeforeSummary: 8,
  messagesToKeep: 4,
} as const;

interface Parts {
  readonly model?: FunctionModel;
  readonly checkpointer: MemorySaver;
  readonly delta?: boolean;
}

const AGENTS: readonly [title: string, create: (parts: Parts) => AnyAgent["graph"]][] = [
  [
    "createAgentGraph",
    ({ model = callingOnce("fast"), checkpointer, delta }) => {
      const parts = { model, tools: [createProbe().fast], checkpointer, summaryModel: shortSummariser() };
      const messagesChannel = delta ? "delta" : "full";
      return createAgentGraph({ ...parts, ...SUMMARIES, messagesChannel } as never) as never;
    },
  ],
  [
    "tetherMiddleware",
    ({ model = callingOnce("fast"), checkpointer, delta = false }) =>
      createAgent({
        model,
        tools: [createProbe().fast],
        checkpointer,
        stateSchema: tetherState({ delta }),
        middleware: [tetherMiddleware({ summary: { ...SUMMARIES, summaryModel: shortSummariser() } })],
      } as never).graph as never,
  ],
];

/** What a client has of a message. */
const asClient = (message: BaseMessage) => ({ ...message.toDict().data, type: message.type });

const config = inThread("1");
const question = (turn: number | string) => ({ id: `q${turn}`, type: "human", content: `Question ${turn}` });

function open(create: (parts: Parts) => AnyAgent["graph"], parts: Omit<Parts, "checkpointer"> = {}) {
  const checkpointer = new MemorySaver();
  const graph = create({ ...parts, checkpointer });
  const state = async (at: object = config) => messagesOf((await graph.getState(at as never)).values);
  const isArchived = async (id: string, at: object = config) =>
    (await state(at)).some((message) => archiveOf(message)?.messages.includes(id));
  const whole = (at: object = config): Promise<BaseMessage[]> => readFullHistory(graph as never, at);
  const turn = (number: number | string, at: object = config) =>
    graph.invoke({ messages: [question(number)] }, at as never);
  return { checkpointer, graph, state, isArchived, whole, turn };
}

describe.each(AGENTS)("With %s", (_title, create) => {
  it("a late result is in the branch in which it came, although another branch has archived its placeholder", async () => {
    const { graph, state, whole, turn, isArchived } = open(create);
    const call = new AIMessage({ id: "a", content: "", tool_calls: [{ id: "c", name: "pay", args: {} }] });
    await graph.updateState(config, { messages: [new HumanMessage({ id: "h", content: "Pay." }), call] });
    await turn("now");
    const placeholder = (await state()).find(isPlaceholder);
    const id = placeholder?.id ?? "";
    const { config: before } = await graph.getState(config);
    const paid = new ToolMessage({ id, content: "PAID 4711", tool_call_id: "c" });
    await graph.updateState(config, { messages: [paid] });
    for (let number = 0; !(await isArchived(id)); number += 1) await turn(`left ${number}`);
    const { config: left } = await graph.getState(config);
    await turn("right", before);
    for (let number = 0; !(await isArchived(id)); number += 1) await turn(`right ${number}`);
    const results = async (at: object) => (await whole(at)).filter((message) => message.id === id);
    expect((await results(left)).map(({ text }) => text)).toEqual(["PAID 4711"]);
    expect((await results(config)).map(({ text }) => text)).toEqual([placeholder?.text]);
  });

  it("an edit in one branch changes nothing in the other", async () => {
    const { graph, whole, turn, isArchived } = open(create);
    await turn(0);
    const { config: before } = await graph.getState(config);
    for (let number = 1; !(await isArchived("q0")); number += 1) await turn(number);
    const { config: left } = await graph.getState(config);
    const edited = { ...question(0), content: "edited" };
    await graph.updateState(before as never, { messages: [edited] });
    for (let number = 1; !(await isArchived("q0")); number += 1) await turn(`right ${number}`);
    expect((await whole(left))[0]?.text).toBe("Question 0");
    expect((await whole())[0]?.text).toBe("edited");
  });

  it("a copy of the thread has its archive, and keeps it when the thread is deleted", async () => {
    const { checkpointer, whole, turn } = open(create);
    for (let number = 0; number < 8; number += 1) await turn(number);
    const before = await whole();
    await copyThread(checkpointer, "1", "2");
    await checkpointer.deleteThread("1");
    const copy = await whole(inThread("2"));
    expect(copy.map(({ id }) => id)).toEqual(before.map(({ id }) => id));
    expect(copy).toHaveLength(32);
  });

  it("responses and results are never taken for copies, whatever ids the provider and the tools repeat", async () => {
    const turns = 40;
    let said = 0;
    const repeated: AIMessage[] = [];
    const model = new FunctionModel(({ messages }) => {
      said += 1;
      const content = `answer ${said}`;
      const taken = new Set(messages.map(({ id }) => id));
      // As Ollama does, with few numbers. One that the model is shown would replace a message.
      const id = [said, said + 1, said + 2, said + 3]
        .map((number) => `chatcmpl-${number % 9}`)
        .find((one) => !taken.has(one));
      const message = new AIMessage({ content, ...(id !== undefined && { id }) });
      repeated.push(message);
      return message;
    });
    const { whole, turn, state } = open(create, { model });
    for (let number = 0; number < turns; number += 1) {
      await turn(number);
      expect((await state()).map(({ text }) => text)).toContain(`answer ${said}`);
      expect(model.requests.at(-1)?.messages.at(-1)?.text).toBe(`Question ${number}`);
    }
    const expected = Array.from({ length: turns }, (_, number) => [
      `Question ${number}`,
      `answer ${number + 1}`,
    ]);
    expect((await whole()).map(({ text }) => text)).toEqual(expected.flat());
    expect(new Set(repeated.map(({ id }) => id)).size).toBeLessThan(turns);
    expect(model.requests.at(-1)?.messages.map(({ text }) => text)).toContain(`answer ${turns - 1}`);
  });

  it.each(["sync", "async", "exit"])(
    "a client can begin a branch with its whole list: %s",
    async (durability) => {
      const { graph, whole, turn } = open(create);
      for (let number = 0; number < 6; number += 1) await turn(number);
      const { config: before } = await graph.getState(config);
      const list = (await whole()).map(asClient);
      for (const name of ["left", "right"]) {
        const input = { messages: [...list, question(name)] };
        await graph.invoke(input as never, { ...before, durability } as never);
        const texts = (await whole()).filter(({ type }) => type === "human").map(({ text }) => text);
        expect(texts).toEqual([0, 1, 2, 3, 4, 5, name].map((number) => `Question ${number}`));
      }
    },
  );

  it("a copy is recognised although a later response has the id of its message", async () => {
    const model = new FunctionModel(({ messages, index }) => {
      const isFree = !messages.some(({ id }) => id === "same");
      return new AIMessage({ content: `answer ${index}`, ...(isFree && { id: "same" }) });
    });
    const { graph, whole, turn } = open(create, { model });
    for (let number = 0; number < 30; number += 1) {
      await turn(number);
      const list = (await whole()).map(asClient);
      await graph.invoke({ messages: list } as never, config);
      const history = (await whole()).filter(({ type }) => type === "human");
      expect(history).toHaveLength(number + 1);
    }
    const answers = (await whole()).filter(({ type }) => type === "ai").map(({ text }) => text);
    expect(answers).toEqual([...new Set(answers)]);
  });

  it("a checkpoint that was deleted is told, and the rest of the thread is read", async () => {
    const { checkpointer, graph, state, turn } = open(create);
    for (let number = 0; number < 8; number += 1) await turn(number);
    const [coverage] = (await state()).flatMap((message) => archiveOf(message) ?? []);
    delete checkpointer.storage["1"]?.[""]?.[coverage?.checkpoint ?? ""];
    const lost: MissingMessages[] = [];
    const onMissing = (one: MissingMessages) => void lost.push(one);
    const whole = await readFullHistory(graph as never, config, { onMissing });
    const { checkpoint = "", messages = [] } = coverage ?? {};
    expect(lost).toMatchObject([{ checkpoint, messages, reason: "missing" }]);
    expect(whole.map(({ id }) => id)).toEqual((await state()).map(({ id }) => id));
    await turn("last");
    expect((await state()).at(-1)?.text).toMatch(/^Done/);
  });
});

class CountingSaver extends MemorySaver {
  reads = 0;

  override async getTuple(...given: Parameters<MemorySaver["getTuple"]>) {
    this.reads += 1;
    return super.getTuple(...given);
  }
}

/** `TURNS=2500` reaches another age. */
const TURNS = Number(process.env["TURNS"] ?? 40);

describe.each(AGENTS)("The reads of a turn do not grow with the thread, with %s", (_title, create) => {
  it.each([
    { delta: false, durability: "sync", sendsAll: false },
    { delta: false, durability: "sync", sendsAll: true },
    { delta: true, durability: "sync", sendsAll: false },
    { delta: false, durability: "exit", sendsAll: false },
  ])("$durability, delta $delta, whole list $sendsAll", async ({ delta, durability, sendsAll }) => {
    const checkpointer = new CountingSaver();
    const graph = create({ checkpointer, delta });
    let shown: readonly object[] = [];
    const reads: number[] = [];
    for (let turn = 0; turn < TURNS; turn += 1) {
      checkpointer.reads = 0;
      const input = { messages: [...shown, question(turn)] };
      const result = await graph.invoke(input, { ...config, durability } as never);
      reads.push(checkpointer.reads);
      if (sendsAll) shown = [...shown, question(turn), ...messagesOf(result).slice(-3).map(asClient)];
    }
    const most = (from: number, to: number) => Math.max(...reads.slice(from, to));
    // LangGraph rebuilds a delta channel from up to some hundred checkpoints, and so does a summary.
    // A whole list brings back what is archived, so the middleware compares it with the thread.
    const bound = delta ? 2 * UPDATES_BETWEEN_SNAPSHOTS * 1.5 : sendsAll ? 8 : 5;
    expect(most(10, TURNS)).toBeLessThanOrEqual(bound);
    if (!delta) expect(most(TURNS - 10, TURNS)).toBe(most(10, 20));
  });
});
