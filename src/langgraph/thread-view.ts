/** Reads and writes the threads of a graph that somebody else has built, without changing the graph. */

import { type BaseCheckpointSaver, Overwrite, Pregel, type StateSnapshot } from "@langchain/langgraph";
import type { RunnableConfig } from "@langchain/core/runnables";
import { pairedMessagesReducer } from "../history/reducer/paired-messages-reducer.js";
import { isRecord } from "../shared/is-record.js";
import { pairedMessagesDeltaReducer } from "./paired-messages-delta.js";

/** What every compiled graph has, whichever copy of LangGraph it comes from. */
export interface CompiledGraph {
  readonly channels: Readonly<Record<string, unknown>>;
  readonly nodes: Readonly<Record<string, unknown>>;
}

/** The threads of one graph over one checkpointer. */
export interface ThreadView {
  /** How the channel of the messages is stored; undefined if the graph has no such channel. */
  readonly messagesChannel: "full" | "delta" | undefined;
  /** Reads as the graph itself does. Contract: rejects if the graph cannot read the thread. */
  readonly read: (config: RunnableConfig) => Promise<StateSnapshot>;
  /** The same, but a removal of an unknown message does not throw. */
  readonly readLeniently: (config: RunnableConfig) => Promise<StateSnapshot>;
  /**
   * Writes these messages in place of the ones that the thread has, exactly as they are. The other channels of the
   * graph stay, and LangGraph applies the pending writes of finished tasks.
   *
   * Contract: returns a promise. `saver` is what the write goes through, in place of the checkpointer.
   */
  readonly write: (
    config: RunnableConfig,
    messages: readonly unknown[],
    options: { readonly asNode: string | undefined; readonly saver: BaseCheckpointSaver },
  ) => unknown;
  /** Whether a run stops before or after one of these nodes, to wait for a human. */
  readonly stopsAt: (nodes: readonly string[]) => boolean;
}

export function isCompiledGraph(value: unknown): value is CompiledGraph {
  return isRecord(value) && isRecord(value["channels"]) && isRecord(value["nodes"]);
}

export function createThreadView(graph: CompiledGraph, checkpointer: BaseCheckpointSaver): ThreadView {
  const { messages } = graph.channels;
  const own = copyOf(graph, { checkpointer });
  const lenient = (saver: BaseCheckpointSaver) =>
    copyOf(graph, {
      checkpointer: saver,
      channels: isRecord(messages) ? { ...graph.channels, messages: toPaired(messages) } : graph.channels,
    });
  const reader = lenient(checkpointer);
  return {
    messagesChannel: isRecord(messages) ? (isDelta(messages) ? "delta" : "full") : undefined,
    read: (config) => baseMethod(graph, "getState").call(own, config) as Promise<StateSnapshot>,
    readLeniently: (config) => baseMethod(graph, "getState").call(reader, config) as Promise<StateSnapshot>,
    write: (config, list, { asNode, saver }) =>
      baseMethod(graph, "bulkUpdateState").call(lenient(saver), config, [
        { updates: [{ values: { messages: new Overwrite([...list]) }, asNode }] },
      ]),
    stopsAt: (nodes) =>
      [Reflect.get(graph, "interruptBefore")].flat().some((stop) => stop === "*" || nodes.includes(stop)),
  };
}

/**
 * A copy with other fields, which shows all channels. A constructor of another class may want other arguments, and the
 * methods that are called on the copy are those of LangGraph's base class, so none is called.
 */
function copyOf(graph: CompiledGraph, fields: object): CompiledGraph {
  const copy: CompiledGraph = Object.assign(Object.create(Object.getPrototypeOf(graph)), graph, fields);
  return Object.assign(copy, { streamChannels: undefined });
}

/**
 * A method of `Pregel`. A class that extends it can have another one that checks what clients write, or starts other
 * work. A graph of another copy of LangGraph has its own `Pregel`.
 */
function baseMethod(
  graph: CompiledGraph,
  name: "getState" | "bulkUpdateState",
): (this: CompiledGraph, ...given: unknown[]) => unknown {
  let found: unknown = Pregel.prototype[name];
  for (let proto = Object.getPrototypeOf(graph); proto !== null; proto = Object.getPrototypeOf(proto))
    found = Object.getOwnPropertyDescriptor(proto, name)?.value ?? found;
  return found as (this: CompiledGraph, ...given: unknown[]) => unknown;
}

/**
 * The channel with the paired reducer. It stays a channel of its own class, whose `fromCheckpoint` passes the reducer
 * on.
 */
function toPaired(channel: object): object {
  const copy: object = Object.assign(Object.create(Object.getPrototypeOf(channel)), channel);
  if ("operator" in channel) return Object.assign(copy, { operator: pairedMessagesReducer });
  if (isDelta(channel)) return Object.assign(copy, { reducer: pairedMessagesDeltaReducer });
  return channel;
}

const isDelta = (channel: object): boolean => Reflect.get(channel, "lc_graph_name") === "DeltaChannel";

