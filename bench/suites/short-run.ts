/**
 * What most runs are: a thread of a few messages, one response, or one tool call before it. The unit is the time of the
 * processor, because most of these milliseconds are spent in this process also if a database stands behind it.
 */

import { type BaseMessage, HumanMessage } from "@langchain/core/messages";
import { type BaseCheckpointSaver, MemorySaver } from "@langchain/langgraph";
import { createPatchToolCallsMiddleware } from "deepagents";
import { createAgent } from "langchain";
import { createAgentGraph } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import type { AnyAgent } from "../agents.js";
import { CREATE_AGENT, OURS, STATE_GRAPH, WITH_PATCH, WITH_TETHER } from "../contenders.js";
import { DATABASES } from "../databases.js";
import { createHistory } from "../histories.js";
import { InstantModel, look } from "../instant-model.js";
import { createPlainGraph } from "../plain-graph.js";
import { type CaseSpec, measureRounds, type Suite } from "../suite.js";

/** How many runs a round has. */
const RUNS = 40;

/** How many messages the thread has in the end, if the response is a text. */
const LENGTHS = [2, 10, 50];

/** Answers at once, unless it is asked for a look. */
class ShortModel extends InstantModel {
  protected override play(...[messages, options]: Parameters<InstantModel["play"]>) {
    const callsTool = messages.some(({ text }) => text === "Look.");
    return super.play(messages, callsTool ? options : { ...options, toolNames: [] });
  }
}

function agentsWith(checkpointer: BaseCheckpointSaver | undefined): Readonly<Record<string, AnyAgent>> {
  const saved = checkpointer === undefined ? {} : { checkpointer };
  const parts = { tools: [look], ...saved };
  const langChains = (...middleware: unknown[]) =>
    createAgent({ model: new ShortModel(), ...parts, middleware } as never).graph as unknown as AnyAgent;
  return {
    [OURS]: createAgentGraph({ model: new ShortModel(), ...parts }) as unknown as AnyAgent,
    [WITH_TETHER]: langChains(tetherMiddleware()),
    [CREATE_AGENT]: langChains(),
    [WITH_PATCH]: langChains(createPatchToolCallsMiddleware()),
    [STATE_GRAPH]: createPlainGraph(new ShortModel(), look, checkpointer) as unknown as AnyAgent,
  };
}

let threads = 0;

/** The milliseconds of the processor that a run takes, each in a new thread. */
async function measure(agent: AnyAgent, history: readonly BaseMessage[], text: string): Promise<number> {
  const messages = [...history, new HumanMessage(text)];
  const expected = messages.length + (text === "Look." ? 3 : 1);
  const before = process.cpuUsage();
  for (let run = 0; run < RUNS; run += 1) {
    threads += 1;
    const config = { configurable: { thread_id: `short-${threads}` } };
    const { messages: after } = await agent.invoke({ messages }, config);
    if (after.length !== expected) throw new Error(`Expected ${expected} messages, got ${after.length}.`);
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000 / RUNS;
}

function casesOf(where: string, name: string, checkpointer?: BaseCheckpointSaver): CaseSpec[] {
  const agents = agentsWith(checkpointer);
  return LENGTHS.flatMap((length) =>
    [["text", "a text", "Speak."] as const, ["tool", "a tool call", "Look."] as const].map(
      ([kind, what, text]): CaseSpec => {
        const history = createHistory(length - 2);
        return {
          id: `${kind}-${length}-${name}`,
          title: `A run with ${what}, ${length} messages, ${where}`,
          unit: "ms",
          base: CREATE_AGENT,
          contenders: Object.fromEntries(
            Object.entries(agents).map(([agent, graph]) => [agent, () => measure(graph, history, text)]),
          ),
        };
      },
    ),
  );
}

export const shortRun: Suite = {
  name: "short-run",
  measure: (conditions) => {
    const cases = [
      ...casesOf("without a checkpointer", "none"),
      ...casesOf("in memory", "memory", new MemorySaver()),
    ];
    return measureRounds(cases, { ...conditions, rounds: 15, warmUps: 5 });
  },
};

export const shortRunInPostgres: Suite = {
  name: "short-run-postgres",
  needs: "postgres",
  measure: async (conditions) => {
    const database = await DATABASES.postgres();
    const { checkpointer } = await database.connect(new MemorySaver().serde);
    try {
      const cases = casesOf("in PostgreSQL", "postgres", checkpointer);
      return await measureRounds(cases, { ...conditions, rounds: 15, warmUps: 3 });
    } finally {
      await database.close();
    }
  },
};
