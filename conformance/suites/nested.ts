/** Agents that are a part of another graph, whose run is cancelled in their tools. */

import { MessagesValue, START, StateGraph, StateSchema } from "@langchain/langgraph";
import type { AnyGraph, GraphParts, MakeGraph } from "../adapter.js";
import {
  DURABILITIES,
  type Durability,
  finishedAt,
  greet,
  judge,
  MOMENTS,
  type Play,
  suiteOfThreads,
  textsOf,
} from "./ended-run.js";

/** How an agent is in another graph: what it has for a checkpointer, and the node that it is. */
const WAYS = {
  "a node": { memory: {}, nodeOf: (agent: AnyGraph) => agent },
  "a node with its own memory": { memory: { checkpointer: true }, nodeOf: (agent: AnyGraph) => agent },
  "invoked by a node": {
    memory: {},
    nodeOf: (agent: AnyGraph) => (state: object, config: object) => agent.invoke(state, config),
  },
} as const satisfies Readonly<
  Record<string, { memory: Pick<GraphParts, "checkpointer">; nodeOf: (agent: AnyGraph) => unknown }>
>;
type Way = keyof typeof WAYS;

/** A graph of LangGraph whose only node is an agent. */
const inGraph =
  (makeAgent: MakeGraph, way: Way): MakeGraph =>
  ({ checkpointer, ...parts }) => {
    const { memory, nodeOf } = WAYS[way];
    const agent = makeAgent({ ...parts, ...memory });
    return new StateGraph(new StateSchema({ messages: MessagesValue }))
      .addNode("agent", nodeOf(agent) as never)
      .addEdge(START, "agent")
      .compile({ checkpointer: checkpointer as never }) as unknown as AnyGraph;
  };

const play =
  (way: Way, name: keyof typeof MOMENTS, durability: Durability): Play =>
  async (open, { makeGraph }) => {
    if (makeGraph === undefined) throw new Error("Expected an implementation that is a graph.");
    const moment = MOMENTS[name];
    const thread = open({ durability, makeGraph: inGraph(makeGraph, way) });
    const asked = thread.ask(moment.calls);
    await thread.cancel(moment, asked);
    const said = [...textsOf(asked)];
    for (const word of ["hello", "bye"]) {
      const greeting = `${word} ${thread.label}`;
      said.push(greeting);
      const unanswered = await greet(thread, greeting);
      if (unanswered !== undefined) return unanswered;
    }
    return judge(thread, { said, finished: finishedAt(moment, thread) });
  };

const ROWS: readonly (readonly [moment: keyof typeof MOMENTS, durabilities: readonly Durability[]])[] = [
  ["one of two tools has finished", DURABILITIES],
  ["one of two tools has finished, and the other ignores the abort", ["async"]],
  ["both tools have finished", DURABILITIES],
];

export const nested = suiteOfThreads(
  "nested",
  "An agent is a node of another graph, which has the checkpointer, and the run is cancelled in the agent's tools. The next two messages on the graph's thread are answered, and the result of each finished tool is in the thread and in the request.",
  Object.fromEntries(
    (Object.keys(WAYS) as Way[]).flatMap((way) =>
      ROWS.flatMap(([moment, durabilities]) =>
        durabilities.map((durability) => [
          `${way}, cancelled when ${moment}: ${durability}`,
          play(way, moment, durability),
        ]),
      ),
    ),
  ),
);
