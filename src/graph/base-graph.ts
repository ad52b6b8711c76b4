import type { BaseMessage } from "@langchain/core/messages";
import type { BaseChannel, END, Interrupt, START, StateType, UpdateType, writer } from "@langchain/langgraph";
import type { MessagesUpdate } from "../history/messages/messages-schema.js";
import { WrappableGraph } from "../langgraph/wrappable-graph.js";
import type { AgentEvent } from "../nodes/run/agent-event.js";
import type { buildStateGraph } from "./build-state-graph.js";

/** The graph as it is drawn and compiled. */
export type Drawn = ReturnType<ReturnType<typeof buildStateGraph>["compile"]>;
type NodeName = Exclude<keyof Drawn["nodes"], typeof START | typeof END>;

type Channels = { messages: BaseChannel<BaseMessage[], MessagesUpdate> };

/** The state of a thread, as LangGraph's types work it out. */
export type AgentValues = StateType<Channels>;
/** What a task wrote. */
export type AgentUpdate = UpdateType<Channels>;

/** What nodes wrote in a chunk of the `updates` stream; a list if several tasks of a node are told of at once. */
export type AgentUpdates = { [Name in NodeName]: { messages?: BaseMessage[] } } & {
  __interrupt__: Interrupt[];
};

/**
 * LangGraph's class for an agent. The context is left open, as LangGraph would make its optional fields required, and
 * so are the names of nodes, which a `Command` may have as strings: what callers see of both is in the types of a run.
 */
export abstract class BaseGraph extends WrappableGraph<
  AgentValues,
  Record<string, unknown>,
  Channels,
  AgentUpdates,
  typeof writer<AgentEvent>
> {}
