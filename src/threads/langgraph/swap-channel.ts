/**
 * Reads and writes the state of a foreign compiled graph, with another channel in place of its `messages`. The graph
 * itself does not change. All other channels are the graph's own and keep their values: a graph that does not know a
 * channel would drop it.
 */

import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, StateSnapshot } from "@langchain/langgraph";
import { isRecord } from "../../shared/values.js";
import { viewOf } from "../../shared/views.js";
import { overwriteIn } from "./channels.js";

export const MESSAGES = "messages";

/** What is read of a compiled graph. Its class can come from another copy of LangGraph. */
export interface ForeignGraph {
  readonly channels: Readonly<Record<string, object>>;
  readonly nodes: Readonly<Record<string, object>>;
  readonly checkpointer?: unknown;
  readonly store?: unknown;
  readonly interruptBefore?: unknown;
  readonly interruptAfter?: unknown;
  getState(config: RunnableConfig): Promise<StateSnapshot>;
  /** Draws it. Older versions have no such method. */
  getGraph?(): unknown;
}

/** An agent's compiled graph. The objects from `createAgent` and `createDeepAgent` have it as `graph`. */
export function compiledGraphOf(agent: unknown): ForeignGraph | undefined {
  if (isCompiled(agent)) return agent;
  const graph: unknown = isRecord(agent) ? Reflect.get(agent, "graph") : undefined;
  return isCompiled(graph) ? graph : undefined;
}

function isCompiled(value: unknown): value is ForeignGraph {
  return (
    isRecord(value) &&
    isRecord(Reflect.get(value, "channels")) &&
    isRecord(Reflect.get(value, "nodes")) &&
    typeof Reflect.get(value, "getState") === "function"
  );
}

/** Whether the channel stores only what was added. Its class can come from another copy of LangGraph. */
export function isDeltaChannel(channel: object | undefined): boolean {
  return channel !== undefined && Reflect.get(channel, "lc_graph_name") === "DeltaChannel";
}

/** A copy of the graph with another checkpointer and, if given, another channel of messages. */
function copyWith(graph: ForeignGraph, saver: BaseCheckpointSaver, channel?: object): ForeignGraph {
  const channels = channel === undefined ? graph.channels : { ...graph.channels, [MESSAGES]: channel };
  return viewOf(graph, { channels, checkpointer: saver });
}

/**
 * LangGraph's own method. A graph's class can override it, to check or complete what clients do. The last method in the
 * chain of classes is LangGraph's.
 */
function baseMethod(graph: object, name: string): (...given: unknown[]) => unknown {
  let found: unknown;
  for (let level: unknown = graph; typeof level === "object" && level !== null; ) {
    if (Object.hasOwn(level, name)) found = Reflect.get(level, name);
    level = Object.getPrototypeOf(level);
  }
  if (typeof found !== "function") throw new TypeError(`Expected the graph to have the method \`${name}\`.`);
  return found as (...given: unknown[]) => unknown;
}

/**
 * The state at a checkpoint, as LangGraph reads it.
 *
 * @param channel Replaces the channel of messages.
 */
export async function readSnapshot(
  graph: ForeignGraph,
  saver: BaseCheckpointSaver,
  config: RunnableConfig,
  channel?: object,
): Promise<StateSnapshot> {
  const copy = copyWith(graph, saver, channel);
  return (await Reflect.apply(baseMethod(graph, "getState"), copy, [config])) as StateSnapshot;
}

/**
 * Writes a state with exactly these messages. What finished tasks wrote at the latest checkpoint goes to the other
 * channels, as in each `updateState`.
 *
 * @param asNode Undefined: the node that ran last. LangGraph throws if there is no such node.
 * @returns The new checkpoint's config.
 */
export async function writeMessages(
  graph: ForeignGraph,
  saver: BaseCheckpointSaver,
  config: RunnableConfig,
  messages: readonly unknown[],
  asNode: string | undefined,
): Promise<RunnableConfig> {
  const copy = copyWith(graph, saver, fixedChannel(graph.channels[MESSAGES] ?? {}, messages));
  const update = { values: { [MESSAGES]: [] }, asNode };
  const write = baseMethod(graph, "bulkUpdateState");
  return (await Reflect.apply(write, copy, [config, [{ updates: [update] }]])) as RunnableConfig;
}

/**
 * A channel like the given one that always has this value. A delta channel stores it whole, as it sometimes does
 * anyway.
 */
function fixedChannel(channel: object, value: readonly unknown[]): object {
  const fixed: object = viewOf(channel, {
    fromCheckpoint: () => fixed,
    update: (values: readonly unknown[]) => values.length > 0,
    get: () => value,
    checkpoint: () => value,
    isAvailable: () => true,
    replayWrites: () => {},
    snapshotFrequency: 1,
  });
  return fixed;
}

/**
 * A channel like the given one with another reducer. It reads a thread whose own reducer throws.
 *
 * @param reduce Contract: never throws.
 */
export function tolerantChannel(
  channel: object,
  reduce: (history: unknown, writes: readonly unknown[]) => readonly unknown[],
): object {
  const withValue = (value: unknown): object => {
    let current: unknown = value;
    const apply = (writes: readonly unknown[]): void => {
      for (const write of writes) {
        const replaced = overwriteIn(write);
        current = replaced === undefined ? reduce(current, [write]) : replaced.value;
      }
    };
    return viewOf(channel, {
      fromCheckpoint: (stored: unknown) => withValue(unwrapped(stored)),
      update: (writes: readonly unknown[]) => {
        apply(writes);
        return writes.length > 0;
      },
      replayWrites: (writes: readonly (readonly unknown[])[]) => apply(writes.map(([, , write]) => write)),
      get: () => current ?? [],
      checkpoint: () => current ?? [],
      isAvailable: () => true,
    });
  };
  return withValue(undefined);
}

/** The list in a delta channel's snapshot, or the stored list itself. */
export function unwrapped(stored: unknown): unknown {
  return isRecord(stored) && !Array.isArray(stored) && Array.isArray(stored["value"])
    ? stored["value"]
    : stored;
}

/** Whether the graph always stops for a human before or after one of these nodes. `"*"` stands for all. */
export function stopsBefore(graph: ForeignGraph, next: readonly string[]): boolean {
  const before = namesIn(graph.interruptBefore);
  if (next.some((node) => before.includes(node) || before.includes("*"))) return true;
  return next.length > 0 && namesIn(graph.interruptAfter).length > 0;
}

function namesIn(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : value === "*" || value === "all" ? ["*"] : [];
}
