/** Memories of graphs inside tools and tasks, apart from one another. */

import { setImmediate as yieldToEvents } from "node:timers/promises";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseCheckpointSaver, CheckpointTuple } from "@langchain/langgraph";
import { InvalidSettingError } from "../../errors.js";
import { forAllCopies } from "../../shared/for-all-copies.js";
import { toJson } from "../../shared/json.js";
import { isRecord, madeOnce } from "../../shared/values.js";
import { isSaver, replaceMethods } from "./replace-methods.js";
import {
  inheritedCheckpointer,
  isContinuedStep,
  memoryNamespace,
  namespaceOfGraph,
  taskOf,
  withInheritedCheckpointer,
} from "./run-host.js";

/**
 * A config with which graphs inside a tool keep a memory under this name.
 *
 * LangGraph stores the memory of a graph with `checkpointer: true` in its task's namespace without the task's id. All
 * tools of an agent, and two calls in one response, share that namespace. Each graph would then continue what another
 * has saved, and make its payment: https://github.com/langchain-ai/docs/pull/2730
 *
 * @param name Without `|` and `:`, which divide namespaces.
 */
export function withOwnMemory<Config extends RunnableConfig>(config: Config, name: string): Config {
  const saver = inheritedCheckpointer(config);
  const namespace: unknown = config.configurable?.["checkpoint_ns"];
  if (!isSaver(saver) || typeof namespace !== "string") return config;
  const shared = memoryNamespace(config);
  return withInheritedCheckpointer(config, withNamespace(saver, shared, `${shared}|${name}`));
}

/** How many supersteps are remembered for each checkpointer. */
const MOST_SUPERSTEPS = 1_000;

/** The task that runs a graph on its own memory, by the superstep of its parent, for each checkpointer. */
const memoryUsers = forAllCopies(
  "memory-users",
  () => new WeakMap<BaseCheckpointSaver, Map<string, unknown>>(),
);

/**
 * Whether another task of the same superstep runs a graph on the same memory, as two `Send`s to one node do. LangGraph
 * gives both a namespace without task ids, so each would continue what the other has saved.
 *
 * @param config The config of a graph with `checkpointer: true` inside another one.
 */
export function sharesMemory(config: RunnableConfig): boolean {
  const saver = inheritedCheckpointer(config);
  if (!isSaver(saver)) return false;
  const { thread_id, checkpoint_map } = { ...config.configurable };
  const superstep = toJson([thread_id, memoryNamespace(config), checkpoint_map]) ?? "";
  return isUsedByOther(saver, superstep, taskOf(config));
}

function isUsedByOther(saver: BaseCheckpointSaver, superstep: string, own: unknown): boolean {
  const users = madeOnce(memoryUsers, saver, () => new Map<string, unknown>());
  const user = madeOnce(users, superstep, () => own);
  keepLast(users);
  return user !== own;
}

function keepLast(supersteps: Map<string, unknown> | Set<string>): void {
  const [oldest = ""] = supersteps.keys();
  if (supersteps.size > MOST_SUPERSTEPS) supersteps.delete(oldest);
}

/** The supersteps whose tasks share a memory. */
const sharedSupersteps = forAllCopies(
  "shared-supersteps",
  () => new WeakMap<BaseCheckpointSaver, Set<string>>(),
);

/**
 * The same for a task of that graph itself, which does not know the task that runs the graph. If two runs begin in one
 * superstep of their parent, both share it, also when the superstep is continued.
 */
export function sharesMemoryInside(config: RunnableConfig): boolean {
  const { saver, superstep } = memoryOf(config) ?? {};
  return saver !== undefined && sharedSupersteps.get(saver)?.has(superstep ?? "") === true;
}

/** Contract: call it in the first node of a run. Resolves when the other tasks of the parent's superstep have begun. */
export async function beginMemory(config: RunnableConfig): Promise<void> {
  const memory = memoryOf(config);
  // A retry of a task continues its graph.
  if (memory === undefined || isContinuedStep(config)) return;
  const { saver, superstep, own } = memory;
  const shared = madeOnce(sharedSupersteps, saver, () => new Set<string>());
  if (isUsedByOther(saver, superstep, own)) keepLast(shared.add(superstep));
  // The parent begins all of them in one turn of the event loop.
  await yieldToEvents();
}

/** The superstep of the parent in which a task's graph uses its own memory. */
function memoryOf(config: RunnableConfig) {
  const namespace = namespaceOfGraph(config);
  const saver = inheritedCheckpointer(config);
  // A namespace with a task's id belongs to one run.
  if (!isSaver(saver) || namespace === "" || namespace.includes(":")) return undefined;
  const { thread_id, checkpoint_map } = { ...config.configurable };
  const { [namespace]: own, ...parents } = { ...(isRecord(checkpoint_map) && checkpoint_map) };
  return { saver, superstep: toJson([thread_id, namespace, parents]) ?? "", own };
}

/** @throws InvalidSettingError for an agent whose memory another task of the superstep has. */
export function refuseSharedMemory(): never {
  const expectation =
    "left out for an agent that several tasks run at once, because they would share one memory";
  throw InvalidSettingError.expected("checkpointer", expectation, true);
}

/** A view of a checkpointer that stores one namespace, and those below it, under another. */
function withNamespace(saver: BaseCheckpointSaver, seen: string, stored: string): BaseCheckpointSaver {
  const toStored = (config: RunnableConfig) => moved(config, seen, stored);
  const toSeen = <Found extends CheckpointTuple | undefined>(tuple: Found): Found =>
    tuple && {
      ...tuple,
      config: moved(tuple.config, stored, seen),
      ...(tuple.parentConfig && { parentConfig: moved(tuple.parentConfig, stored, seen) }),
    };
  return replaceMethods(saver, {
    get: (config) => saver.get(toStored(config)),
    getTuple: async (config) => toSeen(await saver.getTuple(toStored(config))),
    async *list(config, options) {
      const before = options?.before && { before: toStored(options.before) };
      for await (const tuple of saver.list(toStored(config), { ...options, ...before })) yield toSeen(tuple);
    },
    put: async (config, ...rest) => moved(await saver.put(toStored(config), ...rest), stored, seen),
    putWrites: (config, ...rest) => saver.putWrites(toStored(config), ...rest),
    getDeltaChannelHistory: ({ config, channels }) =>
      saver.getDeltaChannelHistory({ config: toStored(config), channels }),
  });
}

function moved(config: RunnableConfig, from: string, to: string): RunnableConfig {
  const namespace: unknown = config.configurable?.["checkpoint_ns"];
  const isMoved = typeof namespace === "string" && `${namespace}|`.startsWith(`${from}|`);
  if (!isMoved) return config;
  const checkpoint_ns = `${to}${namespace.slice(from.length)}`;
  return { ...config, configurable: { ...config.configurable, checkpoint_ns } };
}
