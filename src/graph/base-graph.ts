import type { BaseMessage } from "@langchain/core/messages";
import type { BaseChannel, END, Interrupt, START, StateType, UpdateType, writer } from "@langchain/langgraph";
import type { MessagesUpdate } from "../history/reading/messages-schema.js";
import { WrappableGraph } from "../langgraph/wrappable-graph.js";
import type { AgentEvent } from "../nodes/run/agent-event.js";
import type { NoKeys } from "../settings/schemas/schema-types.js";
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
export type AgentUpdates<Update = NoKeys> = { [Name in NodeName]: NodeUpdate<Update> } & {
  __interrupt__: Interrupt[];
};

type NodeUpdate<Update> = { messages?: BaseMessage[] } & Update;

/**
 * LangGraph's class for an agent. The type of the context is open, because LangGraph would make its optional fields
 * required. The names of nodes are open, because a `Command` can contain them as strings. `run-types.ts` has the exact
 * types that callers see.
 */
// biome-ignore lint/suspicious/noUnsafeDeclarationMerging: The class inherits these methods.
export abstract class BaseGraph extends WrappableGraph<
  AgentValues,
  Record<string, unknown>,
  Channels,
  AgentUpdates,
  typeof writer<AgentEvent>
> {
  declare readonly batch: OpenMethod;
  declare readonly streamEvents: OpenMethod;
  declare readonly withConfig: OpenMethod;
}

/**
 * Open types for the methods that `AgentGraph` declares with the keys of its user. LangGraph's types do not accept them
 * while these keys are type parameters.
 */
export interface BaseGraph {
  invoke(...given: Parameters<OpenMethod>): ReturnType<OpenMethod>;
  stream(...given: Parameters<OpenMethod>): ReturnType<OpenMethod>;
  getState(...given: Parameters<OpenMethod>): ReturnType<OpenMethod>;
}

// biome-ignore lint/suspicious/noExplicitAny: Any other type would be compared with the type parameters.
type OpenMethod = (...given: any[]) => any;
