/** The agents of a deployment, as users of LangChain build them. */

import {
  Annotation,
  type BaseCheckpointSaver,
  MessagesAnnotation,
  MessagesDeltaValue,
  StateSchema,
} from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { createDeepAgent } from "deepagents";
import { createAgent, humanInTheLoopMiddleware, todoListMiddleware } from "langchain";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { StrictWorker } from "./strict-worker.js";
import { COUNT, TOOLS } from "./tools.js";

/**
 * - `langchain`: `createAgent`, with a list of tasks, a counter and approvals.
 * - `delta`: the same over a delta channel of LangGraph.
 * - `react`: `createReactAgent`, with a counter.
 * - `gated`: the same. It stops before each batch of tools, until a human lets it go on.
 * - `deep`: `createDeepAgent`, with files, a list of tasks and approvals.
 * - `ours`: `createAgentGraph`, with a counter and approvals.
 */
export const AGENT_NAMES = ["langchain", "delta", "react", "gated", "deep", "ours"] as const;
export type AgentName = (typeof AGENT_NAMES)[number];

/** What the tests use of a compiled graph. */
export interface AnyGraph {
  checkpointer?: unknown;
  readonly channels: Readonly<Record<string, unknown>>;
  invoke(input: unknown, config: object): Promise<{ messages?: unknown }>;
  getState(config: object): Promise<{ values: Record<string, unknown>; next: readonly string[] }>;
  updateState(config: object, values: unknown, asNode?: string): Promise<unknown>;
}

type Saver = BaseCheckpointSaver | undefined;
const approvals = () => humanInTheLoopMiddleware({ interruptOn: { pay: true } } as never);
const counted = { counter: z.number().default(0) };
const ReactState = Annotation.Root({
  ...MessagesAnnotation.spec,
  counter: Annotation<number>({ reducer: (_, next) => next, default: () => 0 }),
});

const createReact = (saver: Saver, options: object = {}) =>
  createReactAgent({
    llm: new StrictWorker(),
    tools: [...TOOLS, COUNT],
    stateSchema: ReactState,
    version: "v2",
    ...(saver && { checkpointSaver: saver }),
    ...options,
  } as never);

const createLangChain = (stateSchema: unknown, checkpointer: Saver) =>
  createAgent({
    model: new StrictWorker(),
    tools: [...TOOLS, COUNT],
    stateSchema,
    middleware: [todoListMiddleware(), approvals()],
    ...(checkpointer && { checkpointer }),
  } as never).graph;

const MAKERS: Readonly<Record<AgentName, (saver: Saver) => unknown>> = {
  langchain: (saver) => createLangChain(z.object(counted), saver),
  delta: (saver) => createLangChain(new StateSchema({ messages: MessagesDeltaValue, ...counted }), saver),
  react: createReact,
  gated: (saver) => createReact(saver, { interruptBefore: ["tools"] }),
  deep: (checkpointer) =>
    (
      createDeepAgent({
        model: new StrictWorker(),
        tools: TOOLS,
        interruptOn: { pay: true },
        ...(checkpointer && { checkpointer }),
      } as never) as unknown as { graph: unknown }
    ).graph,
  ours: (checkpointer) =>
    createAgentGraph({
      model: new StrictWorker(),
      tools: [...TOOLS, COUNT],
      requireApproval: ["pay"],
      stateSchema: z.object({ counter: z.number().optional() }),
      ...(checkpointer && { checkpointer }),
    }),
};

export function createDeployedAgent(name: AgentName, saver?: BaseCheckpointSaver): AnyGraph {
  return MAKERS[name](saver) as AnyGraph;
}
