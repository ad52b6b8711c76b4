/** How often a response waits for a summary, in a thread that grows turn by turn. */

import { AIMessage, HumanMessage } from "@langchain/core/messages";
import { FunctionModel } from "../test/support/models.js";
import { type MakeAgent, words } from "./summarising-agents.js";

export const TURNS = 100;

/** @returns In how many turns the response came after a summary, and how many requests these summaries took. */
export async function countWaits(make: MakeAgent): Promise<{ waitingTurns: number; requests: number }> {
  const summariser = new FunctionModel(() => "The user asked about places, and was told about them.");
  let summariesBefore = 0;
  const model = new FunctionModel(({ index }) => {
    summariesBefore = summariser.requests.length;
    if (index % 2 === 1) return new AIMessage({ id: `a${index}`, content: words("answer", 30) });
    const call = { id: `x${index}`, name: "look", args: { at: `place ${index}` } };
    return new AIMessage({ id: `c${index}`, content: "", tool_calls: [call] });
  });
  const agent = make(model, summariser);
  const waits: number[] = [];
  for (let turn = 0; turn < TURNS; turn += 1) {
    const before = summariser.requests.length;
    const question = new HumanMessage({ id: `h${turn}`, content: words("question", 30) });
    await agent.invoke({ messages: [question] }, { configurable: { thread_id: "waits" } });
    // A summary that is written after a response is part of no wait.
    waits.push(summariesBefore - before);
  }
  return {
    waitingTurns: waits.filter((requests) => requests > 0).length,
    requests: waits.reduce((sum, requests) => sum + requests, 0),
  };
}
