/** The agents that a doctor meets, over one world of models and tools, which records what models are sent. */

import { randomUUID } from "node:crypto";
import { AIMessage, type BaseMessage, HumanMessage, isHumanMessage } from "@langchain/core/messages";
import {
  Annotation,
  type BaseCheckpointSaver,
  interrupt,
  MessagesAnnotation,
  messagesStateReducer,
  StateGraph,
} from "@langchain/langgraph";
import { createReactAgent, ToolNode } from "@langchain/langgraph/prebuilt";
import { createSupervisor } from "@langchain/langgraph-supervisor";
import { createSwarm } from "@langchain/langgraph-swarm";
import { createDeepAgent } from "deepagents";
import { createAgent } from "langchain";
import { createAgentGraph, repairHistory } from "../../src/index.js";
import { tetherMiddleware } from "../../src/langchain.js";
import { deferred } from "./deferred.js";
import { type Answer, calls, FunctionModel } from "./models.js";
import { makeTool } from "./tools.js";

const TOOLS: ReadonlySet<string> = new Set(["look", "ask", "wait"]);

const BROKEN = {
  content: [{ type: "tool_use", id: "b", name: "look", input: "{" }],
  invalid_tool_calls: [{ id: "b", name: "look", args: "{", error: "cut" }],
};

/**
 * The first word of the user decides what the model does: `work` calls `look`, which returns at once, and `wait`, which
 * returns when it is let go; `ask` calls a tool that asks a human; `break` gets arguments that are no JSON; `fail` fails.
 *
 * @param onSent Called with each request.
 */
export function createWorld(onSent?: (messages: readonly BaseMessage[]) => void) {
  const begun = deferred<void>();
  const ended = deferred<void>();
  const sent: (readonly BaseMessage[])[] = [];
  const note = (messages: readonly BaseMessage[]): void => {
    sent.push(messages);
    onSent?.(messages);
  };
  const answer: Answer = ({ messages }) => {
    note(messages);
    const place = messages.findLastIndex(isHumanMessage);
    const isDone = messages.slice(place).some(({ name }) => TOOLS.has(name ?? ""));
    const said = isDone ? "" : messages[place]?.text.split(" ")[0];
    if (said === "work") return calls(["look", {}, "l"], ["wait", {}, "w"]);
    if (said === "ask") return calls(["ask", {}, "a"]);
    if (said === "break") return new AIMessage(BROKEN as never);
    return said === "fail" ? new Error("the model is away") : "done";
  };
  return {
    sent,
    model: new FunctionModel(answer),
    /** It hands each request to `alice`. */
    chief: new FunctionModel(({ messages }) => {
      note(messages);
      const isAsked = messages.at(-1)?.type === "human";
      return isAsked ? calls(["transfer_to_alice", {}, randomUUID()]) : "done";
    }),
    tools: [
      makeTool("look", async () => "seen"),
      makeTool("ask", async () => `answered ${JSON.stringify(interrupt("May I?"))}`),
      makeTool("wait", async () => {
        begun.resolve();
        await ended.promise;
        return "waited";
      }),
    ],
    begun: begun.promise,
    letGo: () => ended.resolve(),
  };
}

export type World = ReturnType<typeof createWorld>;

/** The part of a compiled graph that is used. */
export type AnyGraph = Pick<
  ReturnType<typeof createAgentGraph>,
  "invoke" | "getState" | "updateState" | "checkpointer"
>;

const list = () => Annotation<BaseMessage[]>({ reducer: messagesStateReducer, default: () => [] });

/** A user's own graph. @param prepare What its node does with the messages before it sends them. */
function ownGraph(
  { model, tools }: World,
  channel: string,
  prepare: (messages: BaseMessage[]) => readonly BaseMessage[] = (messages) => messages,
) {
  const node = new ToolNode(tools);
  const messagesOf = (state: object): BaseMessage[] => Reflect.get(state, channel);
  const hasCalls = (state: object) => ((messagesOf(state).at(-1) as AIMessage).tool_calls ?? []).length > 0;
  return new StateGraph(Annotation.Root({ [channel]: list() }))
    .addNode("talk", async (state) => ({
      [channel]: [await model.bindTools(tools).invoke([...prepare(messagesOf(state))])],
    }))
    .addNode("act", async (state, config) => {
      const { messages } = await node.invoke({ messages: messagesOf(state) }, config);
      return { [channel]: messages };
    })
    .addEdge("__start__", "talk")
    .addConditionalEdges("talk", (state) => (hasCalls(state) ? "act" : "__end__"))
    .addEdge("act", "talk");
}

type Make = (world: World, checkpointer: BaseCheckpointSaver) => object;

const alice = ({ model, tools }: World) => createReactAgent({ llm: model, tools, name: "alice" } as never);

const MAKERS = {
  createAgent: ({ model, tools }, checkpointer) => createAgent({ model, tools, checkpointer } as never).graph,
  "createAgent with tetherMiddleware": ({ model, tools }, checkpointer) =>
    createAgent({ model, tools, checkpointer, middleware: [tetherMiddleware()] } as never).graph,
  createReactAgent: ({ model, tools }, checkpointer) =>
    createReactAgent({ llm: model, tools, checkpointer } as never),
  createDeepAgent: ({ model, tools }, checkpointer) =>
    Reflect.get(createDeepAgent({ model, tools, checkpointer } as never), "graph"),
  "an own graph": (world, checkpointer) => ownGraph(world, "messages").compile({ checkpointer }),
  "an own graph with the channel chat": (world, checkpointer) =>
    ownGraph(world, "chat").compile({ checkpointer }),
  "an own graph that repairs what it sends": (world, checkpointer) =>
    ownGraph(world, "messages", (messages) => repairHistory(messages).messages).compile({ checkpointer }),
  "a subgraph with a memory of its own": ({ model, tools }, checkpointer) => {
    const inner = createAgent({ model, tools, checkpointer: true } as never).graph;
    // Its parent keeps what was said, and gives it the latest message only.
    return new StateGraph(MessagesAnnotation)
      .addNode("researcher", async ({ messages }, config) => {
        const { messages: all } = await inner.invoke({ messages: messages.slice(-1) } as never, config);
        return { messages: [new AIMessage(all.at(-1)?.text ?? "")] };
      })
      .addEdge("__start__", "researcher")
      .compile({ checkpointer });
  },
  "a swarm": (world, checkpointer) =>
    createSwarm({ agents: [alice(world)], defaultActiveAgent: "alice" } as never).compile({ checkpointer }),
  "a supervisor": (world, checkpointer) =>
    createSupervisor({ agents: [alice(world)], llm: world.chief } as never).compile({ checkpointer }),
  createAgentGraph: ({ model, tools }, checkpointer) =>
    createAgentGraph({ model, tools, checkpointer } as never),
  "createAgentGraph in another graph": ({ model, tools }, checkpointer) =>
    new StateGraph(MessagesAnnotation)
      .addNode("child", createAgentGraph({ model, tools } as never) as never)
      .addEdge("__start__", "child")
      .compile({ checkpointer }),
} satisfies Record<string, Make>;

export type AgentKind = keyof typeof MAKERS;

export const AGENT_KINDS = Object.keys(MAKERS) as AgentKind[];

/** @param checkpointer Undefined: a server brings its own. */
export const makeAgent = (kind: AgentKind, world: World, checkpointer: BaseCheckpointSaver | undefined) =>
  MAKERS[kind](world, checkpointer as BaseCheckpointSaver) as unknown as AnyGraph;

/** The name of the agent's channel of messages. */
export const channelOf = (kind: AgentKind): string =>
  kind === "an own graph with the channel chat" ? "chat" : "messages";

/** The input of a run: one message of the user. */
export const inputOf = (kind: AgentKind, text: string) =>
  ({ [channelOf(kind)]: [new HumanMessage(text)] }) as never;
