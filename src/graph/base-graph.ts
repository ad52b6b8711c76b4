import type { BaseMessage } from "@langchain/core/messages";
import type { BaseChannel, END, Interrupt, START, StateType, UpdateType, writer } from "@langchain/langgraph";
import type { MessagesUpdate } from "../history/reading/messages-schema.js";
import { WrappableGraph } from "../langgraph/wrappable-graph.js";
import type { AgentEvent } from "../nodes/run/agent-event.js";
import type { buildStateGraph } from "./build-state-graph.js";

/** The type of the compiled graph, before it is wrapped. */
export type Drawn = ReturnType<ReturnType<typeof buildStateGraph>["compile"]>;
type NodeName = Exclude<keyof Drawn["nodes"], typeof START | typeof END>;

type Channels = { messages: BaseChannel<BaseMessage[], MessagesUpdate> };

/** The state of a thread, as LangGraph's types infer it. */
export type AgentValues = StateType<Channels>;
/** The update that a task writes. */
export type AgentUpdate = UpdateType<Channels>;

/**
 * A chunk of the `updates` stream: the update of each node, or a list of them if the chunk has several tasks of the
 * node.
 */
export type AgentUpdates = { [Name in NodeName]: { messages?: BaseMessage[] } } & {
  __interrupt__: Interrupt[];
};

/**
 * LangGraph's class for an agent. The type of the context is open, because LangGraph would make its optional fields
 * required. The names of nodes are open, because a `Command` can contain them as strings. `run-types.ts` has the exact
 * types that callers see.
 */
export abstract class BaseGraph extends WrappableGraph<
  AgentValues,
  Record<string, unknown>,
  Channels,
  AgentUpdates,
  typeof writer<AgentEvent>
> {}
