import { types } from "node:util";
import type { Checkpoint } from "@langchain/langgraph";
import { type ForeignGraph, MESSAGES } from "../../langgraph/state/swap-channel.js";

/** Whether a channel is one of the user. LangGraph's own have a colon or underscores in their names. */
export function isOwnName(name: string): boolean {
  return !name.includes(":") && !name.startsWith("__");
}

/** The nodes of `createAgentGraph`, which are always there. */
const AGENT_NODES = ["patch", "summarize", "model", "approve", "tools"];

/** Whether a graph with these nodes has been made by `createAgentGraph`, or has `tetherMiddleware`. */
export function mendsItself(nodes: readonly string[]): boolean {
  return nodes.includes("tether.before_agent") || AGENT_NODES.every((name) => nodes.includes(name));
}

/**
 * Why a checkpoint does not belong to this graph, in one sentence; undefined if it may belong to it. A write through
 * another graph would drop the channels that this graph does not know. Several agents can share one database, and a
 * checkpoint does not name its graph.
 */
export function otherGraphReason(
  graph: ForeignGraph,
  checkpoint: Pick<Checkpoint, "channel_values" | "channel_versions" | "versions_seen">,
): string | undefined {
  const { channels, nodes } = graph;
  const { channel_values, versions_seen } = checkpoint;
  const unknown = Object.keys(channel_values).filter(
    (name) => name !== MESSAGES && isOwnName(name) && !Object.hasOwn(channels, name),
  );
  if (unknown.length > 0)
    return `The thread has values that this graph does not know, and a write would drop them: ${unknown.join(", ")}. Name the graph that the thread belongs to.`;
  const ran = Object.entries(versions_seen ?? {})
    .filter(([name, seen]) => !name.startsWith("__") && Object.keys(seen).length > 0)
    .map(([name]) => name);
  if (ran.length > 0 && !ran.some((name) => Object.hasOwn(nodes, name)))
    return `Another graph has run the thread: its nodes were ${ran.join(", ")}, and this graph has none of them. Name the graph that the thread belongs to.`;
  const entry = unreachedEntry(graph, checkpoint);
  const missing = Object.keys(channels).filter(
    (name) => name !== MESSAGES && isOwnName(name) && !(name in channel_values) && hasDefault(channels[name]),
  );
  if (entry !== undefined && missing.length > 0)
    return `Another graph has run the thread: each run of this graph begins at ${entry}, where the thread has never been, and a write would add values to it: ${missing.join(", ")}. Name the graph that the thread belongs to. If your graph has changed since, name it as it was.`;
  return undefined;
}

/**
 * The first node of each run of the graph, if the thread has had runs and none of them came there. One that a graph has
 * got since is no proof: a middleware can bring it, and its threads may be repaired.
 */
function unreachedEntry(
  graph: ForeignGraph,
  { channel_versions, versions_seen }: Pick<Checkpoint, "channel_versions" | "versions_seen">,
): string | undefined {
  const edges: unknown = Reflect.get(Object(Reflect.get(graph, "builder")), "edges");
  if (versions_seen?.["__start__"] === undefined || !types.isSet(edges)) return undefined;
  const entries = [...edges].flatMap((edge) =>
    Array.isArray(edge) && edge[0] === "__start__" ? [String(edge[1])] : [],
  );
  const isReached = (node: string): boolean =>
    Object.hasOwn(versions_seen, node) ||
    Object.keys(channel_versions ?? {}).some((channel) => channel.endsWith(`:${node}`));
  return entries.some(isReached) ? undefined : entries[0];
}

/** Whether each checkpoint of a graph with this channel can have a value of it, also if nobody wrote one. */
function hasDefault(channel: object | undefined): boolean {
  try {
    const fresh = Object(Reflect.apply(Reflect.get(Object(channel), "fromCheckpoint"), channel, [undefined]));
    return fresh.isAvailable() === true;
  } catch {
    return false;
  }
}
