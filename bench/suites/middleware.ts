/**
 * What a middleware adds to a model call of LangChain's `createAgent`. A turn has ten model calls, and no checkpointer.
 * deepagents' patch looks at all messages in each of them, and `tetherMiddleware` at those that are new.
 */

import { AIMessage, type AIMessageChunk, type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { createPatchToolCallsMiddleware } from "deepagents";
import { createAgent } from "langchain";
import { tetherMiddleware } from "../../src/langchain.js";
import { PlayedModel, wholeChunk } from "../../test/support/played-model.js";
import type { AnyAgent } from "../agents.js";
import { CREATE_AGENT, WITH_PATCH, WITH_TETHER } from "../contenders.js";
import { createHistory, written } from "../histories.js";
import { look } from "../instant-model.js";
import { type CaseSpec, measureRounds, type Suite, timeOf } from "../suite.js";

/** How many turns a round has, by the number of messages. */
const TURNS = { 100: 5, 1000: 3, 10000: 1 };
/** Each but the last calls the tool. */
const CALLS = 10;

class CallingModel extends PlayedModel {
  protected override async play(messages: readonly BaseMessage[]): Promise<readonly AIMessageChunk[]> {
    const start = messages.findLastIndex(({ type }) => type === "human");
    const done = messages.length - start - 1;
    const call = { id: `new-${done}`, name: "look", args: { city: "Rome" }, type: "tool_call" as const };
    const isLast = done >= 2 * (CALLS - 1);
    return [wholeChunk(new AIMessage(isLast ? "Done." : { content: "", tool_calls: [call] }))];
  }
}

const agentWith = (...middleware: unknown[]) =>
  createAgent({ model: new CallingModel(), tools: [look], middleware } as never).graph as unknown as AnyAgent;

const CONTENDERS: Readonly<Record<string, AnyAgent>> = {
  [CREATE_AGENT]: agentWith(),
  [WITH_PATCH]: agentWith(createPatchToolCallsMiddleware()),
  [WITH_TETHER]: agentWith(tetherMiddleware()),
};

/** The milliseconds of a model call, with all else that the agent does for it. */
async function measure(agent: AnyAgent, history: BaseMessage[], turns: number): Promise<number> {
  const taken = await timeOf(async () => {
    for (let turn = 0; turn < turns; turn += 1) {
      const { messages } = await agent.invoke({ messages: history }, { recursionLimit: 100 });
      const expected = history.length + 2 * CALLS - 1;
      if (messages.length !== expected)
        throw new Error(`Expected ${expected} messages, got ${messages.length}.`);
    }
  });
  return taken / turns / CALLS;
}

export const middleware: Suite = {
  name: "middleware",
  measure: (conditions) => {
    const cases = Object.entries(TURNS).map(([size, turns]): CaseSpec => {
      const history = [...createHistory(Number(size)), new HumanMessage({ id: "next", content: "Next" })];
      return {
        id: size,
        title: `A model call of createAgent at ${written(Number(size))} messages`,
        unit: "ms",
        base: CREATE_AGENT,
        contenders: Object.fromEntries(
          Object.entries(CONTENDERS).map(([name, agent]) => [name, () => measure(agent, history, turns)]),
        ),
      };
    });
    return measureRounds(cases, { ...conditions, rounds: 7, warmUps: 2 });
  },
};
