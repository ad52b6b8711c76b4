/** What a turn costs in a thread that was stored: how often its messages are made, and read. */

import { AIMessage, type AIMessageChunk, type BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { expect, it, vi } from "vitest";
import { createAgentGraph, messageSerializer } from "../../../src/index.js";
import { look } from "../../support/create-look-graph.js";
import { turnsOf } from "../../support/long-histories.js";
import { calls, FunctionModel, PlayedModel, wholeChunk } from "../../support/models.js";
import { inThread } from "../../support/thread.js";

/** Calls its tool once in each turn. It reads the last message only. */
class CallingModel extends PlayedModel {
  protected override async play(messages: readonly BaseMessage[]): Promise<readonly AIMessageChunk[]> {
    const isAnswered = messages.at(-1)?.type === "tool";
    return [wholeChunk(isAnswered ? new AIMessage("found") : calls(["look", { at: "it", tokens: 5 }]))];
  }
}

interface Counts {
  /** How many messages were made of stored ones. */
  made: number;
  /** How often the content of one of them was read. */
  read: number;
}

class CountingSaver extends MemorySaver {
  counts: Counts | undefined;

  constructor() {
    const serializer = messageSerializer();
    super({
      dumpsTyped: (data) => serializer.dumpsTyped(data),
      loadsTyped: async (type, data) => {
        const value = await serializer.loadsTyped(type, data);
        if (this.counts !== undefined) watch(value, this.counts);
        return value;
      },
    });
  }
}

function watch(value: unknown, counts: Counts): void {
  if (typeof value !== "object" || value === null) return;
  if (!("lc_namespace" in value)) {
    for (const inner of Object.values(value)) watch(inner, counts);
    return;
  }
  counts.made += 1;
  let { content } = value as unknown as BaseMessage;
  Object.defineProperty(value, "content", {
    get: () => {
      counts.read += 1;
      return content;
    },
    set: (written) => {
      content = written;
    },
    enumerable: true,
    configurable: true,
  });
}

const TURNS = 60;
const MESSAGES_A_TURN = turnsOf(1).length;

/** The counts of one turn after this many. It includes the messages that are stored as writes. */
async function countTurn(turns: number, messagesChannel: "delta" | "full"): Promise<Counts> {
  const checkpointer = new CountingSaver();
  const graph = createAgentGraph({
    model: new CallingModel(),
    tools: [look],
    checkpointer,
    messagesChannel,
    // The input is measured, and no summary is due.
    maxTokensBeforeSummary: 1e6,
  });
  const thread = inThread("1");
  await graph.updateState(thread, { messages: turnsOf(turns) });
  const input = { messages: [{ role: "user", content: "Look." }] };
  await graph.invoke(input, thread);
  const counts = { made: 0, read: 0 };
  checkpointer.counts = counts;
  const { messages } = await graph.invoke(input, thread);
  expect(messages.length).toBe((turns + 2) * MESSAGES_A_TURN);
  return counts;
}

/** A check reads the content a few times, and each step to the model input once. A checkpoint with all messages too. */
const READS = [
  ["delta", 18],
  ["full", 24],
] as const;

it.each(READS)(
  "a turn makes each stored message once, and reads it a few times: %s",
  async (channel, reads) => {
    const few = await countTurn(TURNS, channel);
    const many = await countTurn(2 * TURNS, channel);
    const messages = TURNS * MESSAGES_A_TURN;
    expect(many.made - few.made).toBe(messages);
    expect((many.read - few.read) / messages).toBeLessThanOrEqual(reads);
  },
);

function createGraph() {
  const model = new FunctionModel(({ text }) =>
    text === "tool" ? calls(["look", { at: "here", tokens: 5 }]) : "Done.",
  );
  const checkpointer = new MemorySaver();
  return { model, checkpointer, graph: createAgentGraph({ model, tools: [look], checkpointer }) };
}

it.each([
  ["text", 3],
  ["tool", 5],
])(
  "A turn with a %s response reads its thread twice, and writes %d checkpoints",
  async (text, checkpoints) => {
    const { checkpointer, graph } = createGraph();
    const read = vi.spyOn(checkpointer, "getTuple");
    const put = vi.spyOn(checkpointer, "put");
    await graph.invoke({ messages: text }, inThread("one"));
    expect(put).toHaveBeenCalledTimes(checkpoints);
    // As it begins, and at its end, to see whether another process has written to it.
    expect(read).toHaveBeenCalledTimes(2);
  },
);

it("The schemas of tools are given to a model once, however many runs there are", async () => {
  const { model, graph } = createGraph();
  const bind = vi.spyOn(model, "bindTools");
  for (const id of ["one", "two", "three"]) await graph.invoke({ messages: "tool" }, inThread(id));
  expect(bind).toHaveBeenCalledTimes(1);
});
