import type { Checkpoint } from "@langchain/langgraph";
import { type ForeignGraph, MESSAGES } from "../../langgraph/state/swap-channel.js";

/** Whether a channel is one of the user. LangGraph's own have a colon or underscores in their names. */
export function isOwnName(name: string): boolean {
  return !name.includes(":") && !name.startsWith("__");
}

/**
 * Why a checkpoint does not belong to this graph, in one sentence; undefined if it may belong to it. A write through
 * another graph would drop the channels that this graph does not know. Several agents can share one database, and a
 * checkpoint does not name its graph.
 */
export function otherGraphReason(
  { channels, nodes }: ForeignGraph,
  { channel_values, versions_seen }: Pick<Checkpoint, "channel_values" | "versions_seen">,
): string | undefined {
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
  return undefined;
}
