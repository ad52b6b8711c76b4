/** Summaries that are undone, results that come late, and ids that come again, in whole graphs. */

import { AIMessage, HumanMessage, RemoveMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { describe, expect, it } from "vitest";
import { createAgentGraph, readFullHistory } from "../../src/index.js";
import { createLookGraph, lookUp } from "../support/create-look-graph.js";
import { coverageOf } from "../support/internals.js";
import { textOf, turnsOf } from "../support/long-histories.js";
import { FunctionModel, shortSummariser } from "../support/models.js";
import { outline } from "../support/plain-messages.js";
import { inThread, messagesOf, user } from "../support/thread.js";

type Kind = "keep" | "archive";

const thread = inThread("t");

/** A thread of eight turns with one call each, which is summarised on the way, and other graphs that go on with it. */
async function lead() {
  const checkpointer = new MemorySaver();
  const play = async (coveredMessages: Kind, from: number, to: number) => {
    let turn = from;
    const made = createLookGraph(
      ({ messages }) =>
        messages.at(-1)?.type === "tool" ? textOf(20, `answer ${turn}`) : lookUp(`${turn}`, 60, "c"),
      { checkpointer, coveredMessages, maxTokensBeforeSummary: 500, messagesToKeep: 2 },
    );
    for (; turn < to; turn += 1) await made.graph.invoke(user(textOf(20, `question ${turn}`)), thread);
    return made;
  };
  const made = await play("keep", 0, 8);
  const state = async () => messagesOf((await made.graph.getState(thread)).values);
  const whole = async () => readFullHistory(made.graph, thread);
  return { ...made, play, state, whole };
}

describe.each<Kind>(["keep", "archive"])("A thread with covered messages set to %s", (kind) => {
  it("keeps a response whose id the provider used before", async () => {
    const answer = new FunctionModel(
      ({ index }) => new AIMessage({ id: "same", content: textOf(60, `answer ${index}`) }),
    );
    const graph = createAgentGraph({
      model: answer,
      summaryModel: shortSummariser(),
      checkpointer: new MemorySaver(),
      coveredMessages: kind,
      maxTokensBeforeSummary: 400,
      messagesToKeep: 2,
    });
    for (let turn = 0; turn < 10; turn += 1) await graph.invoke(user(textOf(60, `question ${turn}`)), thread);
    const texts = (await readFullHistory(graph, thread)).map(({ text }) => text.split(" word")[0]);
    expect(texts).toEqual(
      Array.from({ length: 10 }, (_, turn) => [`question ${turn}`, `answer ${turn}`]).flat(),
    );
    expect(answer.requests.at(-1)?.messages.some(({ text }) => text.includes("answer 8"))).toBe(true);
  });
});

describe("Removing a kept summary", () => {
  it("brings what it covers back into the model input, and the trigger counts it", async () => {
    const { graph, state, model } = await lead();
    const before = await state();
    for (const { id = "" } of before.filter((message) => coverageOf(message) !== undefined).toReversed()) {
      await graph.updateState(thread, { messages: [new RemoveMessage({ id })] });
    }
    await graph.invoke(user("go on"), { ...thread, context: { maxTokensBeforeSummary: 0 } });
    const input = model.requests.at(-2)?.messages ?? [];
    expect(outline(input)).toContain(outline(before.filter((message) => coverageOf(message) === undefined)));
  });
});

describe("A thread whose graph first kept and now archives covered messages", () => {
  it("shows no covered message again, and loses nothing", async () => {
    const { model, play, state, whole } = await lead();
    const covered = new Set((await state()).flatMap((message) => coverageOf(message)?.messages ?? []));
    const second = await play("archive", 8, 12);
    expect(model.refused).toEqual([]);
    expect(second.summariser.requests.length).toBeGreaterThan(0);
    for (const { messages } of second.model.requests)
      expect(messages.filter(({ id = "" }) => covered.has(id)).map(({ text }) => text)).toEqual([]);
    const texts = (await whole()).map(({ text }) => text);
    expect(texts).toHaveLength(12 * 4);
    for (let turn = 0; turn < 12; turn += 1) {
      expect(texts[turn * 4]).toContain(`question ${turn}`);
      expect(texts[turn * 4 + 2]).toContain(`found-${turn}.0`);
      expect(texts[turn * 4 + 3]).toContain(`answer ${turn}`);
    }
  });
});

it.each([2, 3, 4])(
  "A recursion limit of %i leaves room for an answer on a long thread too",
  async (recursionLimit) => {
    const { graph } = createLookGraph(() => "fine", {
      summaryModel: new FunctionModel(() => new Error("down")),
      maxTokensBeforeSummary: 100,
      messagesToKeep: 1,
    });
    const messages = [...turnsOf(10, 60), new HumanMessage("hello")];
    const result = await graph.invoke({ messages }, { recursionLimit });
    expect(messagesOf(result).at(-1)?.text).toBe("fine");
  },
);
