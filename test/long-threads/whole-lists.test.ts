/** Clients such as those of AG-UI send the whole list of messages with each run, also what a summary has archived. */

import type { BaseMessage } from "@langchain/core/messages";
import { MemorySaver } from "@langchain/langgraph";
import { createAgent } from "langchain";
import { describe, expect, it } from "vitest";
import { type AgentEvent, createAgentGraph, readFullHistory, restoreCovered } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { callingOnce, type FunctionModel, shortSummariser } from "../support/models.js";
import type { AnyAgent } from "../support/open-thread.js";
import { inThread } from "../support/thread.js";
import { createProbe } from "../support/tools.js";

const SUMMARIES = {
  coveredMessages: "archive",
  maxTokensBeforeSummary: 0,
  maxMessagesBeforeSummary: 8,
  messagesToKeep: 4,
} as const;

const AGENTS: readonly { title: string; create: (options: object) => AnyAgent["graph"] }[] = [
  {
    title: "createAgentGraph",
    create: (options) => createAgentGraph({ ...options, ...SUMMARIES } as never) as never,
  },
  {
    title: "tetherMiddleware",
    create: ({ summaryModel, ...options }: { summaryModel?: FunctionModel }) => {
      const middleware = [
        tetherMiddleware({ summary: { ...SUMMARIES, ...(summaryModel && { summaryModel }) } }),
      ];
      return createAgent({ ...options, middleware } as never).graph as never;
    },
  },
];

/** What a client has of a message: no metadata, and the text as one string. */
const asClient = (message: BaseMessage) => ({
  id: message.id,
  type: message.type,
  content: message.text,
  ...("tool_calls" in message && { tool_calls: message.tool_calls }),
  ...("tool_call_id" in message && { tool_call_id: message.tool_call_id }),
});

function open(create: (typeof AGENTS)[number]["create"]) {
  const graph = create({
    model: callingOnce("fast"),
    tools: [createProbe().fast],
    checkpointer: new MemorySaver(),
    summaryModel: shortSummariser(),
  });
  const config = inThread("1");
  const events: AgentEvent[] = [];
  const state = async () => (await graph.getState(config)).values as { messages: BaseMessage[] };
  const send = async (messages: readonly object[]): Promise<readonly BaseMessage[]> => {
    for await (const event of await graph.stream({ messages }, { ...config, streamMode: "custom" }))
      events.push(event as AgentEvent);
    return (await state()).messages;
  };
  const whole = () => readFullHistory(graph as never, config);
  return { graph, config, events, state, send, whole };
}

const questions = (messages: readonly BaseMessage[]) =>
  messages.flatMap(({ type, text }) => (type === "human" ? (/^Question \d+/.exec(text) ?? []) : []));
const question = (turn: number) => ({ id: `q${turn}`, type: "human", content: `Question ${turn}` });

describe.each(AGENTS)("With $title", ({ create }) => {
  it("archived messages that a client sends again stay archived", async () => {
    const { send, whole, events } = open(create);
    let shown: readonly object[] = [];
    for (let turn = 0; turn < 12; turn += 1) {
      const messages = await send([...shown, question(turn)]);
      expect(messages.length).toBeLessThanOrEqual(11);
      const history = await whole();
      expect(questions(history)).toEqual(Array.from({ length: turn + 1 }, (_, index) => `Question ${index}`));
      expect(new Set(history.map(({ id }) => id)).size).toBe(history.length);
      expect(history).toHaveLength(4 * (turn + 1));
      shown = [...history, ...messages.filter(({ id = "" }) => id.startsWith("do-not-render"))].map(asClient);
    }
    expect(events.filter(({ type }) => type === "summary-made").length).toBeGreaterThan(2);
  });

  it("an edit of an archived message has no effect, and the new message beside it has", async () => {
    const { send, whole } = open(create);
    for (let turn = 0; turn < 8; turn += 1) await send([question(turn)]);
    const before = await whole();
    const edited = before
      .map(asClient)
      .map((one) => (one.id === "q0" ? { ...one, content: "Question 99" } : one));
    expect(questions(await send([...edited, question(8)]))).not.toContain("Question 99");
    expect(questions(await whole())).toEqual([...questions(before), "Question 8"]);
  });

  it("messages that are restored stay in the state, and can be edited", async () => {
    const { graph, config, send, state } = open(create);
    for (let turn = 0; turn < 3; turn += 1) await send([question(turn)]);
    expect((await state()).messages.length).toBeLessThan(12);
    await graph.updateState(config, { messages: await restoreCovered(graph as never, config) });
    expect((await state()).messages).toHaveLength(12);
    await graph.updateState(config, { messages: [{ ...question(0), content: "Question 99" }] });
    expect(questions((await state()).messages)).toEqual(["Question 99", "Question 1", "Question 2"]);
  });
});
