/** A run of an empty thread without a checkpointer: one text response, and one tool call before it. */

import { HumanMessage } from "@langchain/core/messages";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { createAgent } from "langchain";
import { createAgentGraph } from "../../src/index.js";
import type { AnyAgent } from "../agents.js";
import { CREATE_AGENT, CREATE_REACT_AGENT, OURS, STATE_GRAPH } from "../contenders.js";
import { InstantModel, look } from "../instant-model.js";
import { createPlainGraph } from "../plain-graph.js";
import { type CaseSpec, measureRounds, median, type Suite, timeOf } from "../suite.js";

/** How many runs a round has. */
const RUNS = 20;

/** Answers at once, unless it is asked for a look. */
class ShortModel extends InstantModel {
  protected override play(...[messages, options]: Parameters<InstantModel["play"]>) {
    const callsTool = messages.some(({ text }) => text === "Look.");
    return super.play(messages, callsTool ? options : { ...options, toolNames: [] });
  }
}

const parts = { tools: [look] };
const AGENTS: Readonly<Record<string, AnyAgent>> = {
  [OURS]: createAgentGraph({ model: new ShortModel(), ...parts }) as unknown as AnyAgent,
  [CREATE_AGENT]: createAgent({ model: new ShortModel(), ...parts }).graph as unknown as AnyAgent,
  [CREATE_REACT_AGENT]: createReactAgent({ llm: new ShortModel(), ...parts }) as unknown as AnyAgent,
  [STATE_GRAPH]: createPlainGraph(new ShortModel(), look) as unknown as AnyAgent,
};

async function measure(agent: AnyAgent, text: string, length: number): Promise<number> {
  const samples: number[] = [];
  for (let run = 0; run < RUNS; run += 1) {
    const taken = await timeOf(async () => {
      const { messages } = await agent.invoke({ messages: [new HumanMessage(text)] }, {});
      if (messages.length !== length) throw new Error(`Expected ${length} messages, got ${messages.length}.`);
    });
    samples.push(taken);
  }
  return median(samples);
}

const caseOf = (id: string, title: string, text: string, length: number): CaseSpec => ({
  id,
  title,
  unit: "ms",
  base: CREATE_AGENT,
  contenders: Object.fromEntries(
    Object.entries(AGENTS).map(([name, agent]) => [name, () => measure(agent, text, length)]),
  ),
});

export const shortRun: Suite = {
  name: "short-run",
  measure: (conditions) =>
    measureRounds(
      [
        caseOf("text", "A run with one text response", "Speak.", 2),
        caseOf("tool", "A run with one tool call", "Look.", 4),
      ],
      { ...conditions, rounds: 15, warmUps: 5 },
    ),
};
