/** The agents of a deployment, as users of LangChain build them, and their tools. */

import { setTimeout as delay } from "node:timers/promises";
import { RemoveMessage, ToolMessage } from "@langchain/core/messages";
import type { ToolRuntime } from "@langchain/core/tools";
import {
  Annotation,
  type BaseCheckpointSaver,
  Command,
  interrupt,
  MessagesAnnotation,
  MessagesDeltaValue,
  StateSchema,
} from "@langchain/langgraph";
import { createReactAgent } from "@langchain/langgraph/prebuilt";
import { createDeepAgent } from "deepagents";
import { createAgent, humanInTheLoopMiddleware, todoListMiddleware } from "langchain";
import { z } from "zod";
import { createAgentGraph } from "../../../src/index.js";
import { makeTool } from "../tools.js";
import { StrictWorker } from "./strict-worker.js";

/** Longer than the tests of a whole deployment. */
const LONGEST_MS = 1_800_000;

/** `createReactAgent` names the call in another way than `createAgent`. */
type Runtime = ToolRuntime & { toolCall?: { id?: string } };

const LABELLED = z.object({ label: z.string().default("-") });

const labelled = (name: string, run: (label: string, runtime: Runtime) => unknown) =>
  makeTool(name, async ({ label }: { label: string }, runtime) => run(label, runtime), LABELLED);

const resultOf = ({ toolCallId, toolCall }: Runtime, name: string, content: string) =>
  new ToolMessage({ content, tool_call_id: toolCallId ?? toolCall?.id ?? "", name });

/** The tools of every agent. */
export const TOOLS = [
  labelled("look", (label) => `look done ${label}`),
  /** Returns a long text. */
  labelled("read", (label) => `read done ${label} ${"lorem ipsum ".repeat(400)}`),
  /** Returns at once, whatever it is given. */
  makeTool("store", async () => "store done", z.object({ value: z.any() })),
  /** Ends when its run is cancelled. */
  labelled("hold", async (_, { signal }) => {
    await delay(LONGEST_MS, undefined, signal === undefined ? {} : { signal });
    return "hold done";
  }),
  /** Removes a message that is not there. Under LangGraph's reducer, nobody can read the thread after that. */
  labelled("forget", (_, runtime) => {
    const removal = new RemoveMessage({ id: "no-such-message" });
    return new Command({ update: { messages: [resultOf(runtime, "forget", "forgotten"), removal] } });
  }),
  /** Asks a human in the middle of its run. */
  labelled("ask", (label) => `asked ${interrupt({ question: label })}`),
  /** Needs the approval of a human, in the way of each agent. */
  labelled("pay", (label) => `paid ${label}`),
];

/** Writes the key `counter` of the state. */
export const COUNT = makeTool(
  "count",
  async ({ value }: { value: number }, runtime) => {
    const messages = [resultOf(runtime, "count", `counted ${value}`)];
    return new Command({ update: { counter: value, messages } });
  },
  z.object({ value: z.number() }),
);

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
