/** Writes the messages of a thread of a graph, and nothing else of it. */

import type { CheckpointTuple } from "@langchain/langgraph";
import { TetherError } from "../../errors.js";
import { convertMessage } from "../../history/reading/coerce-message.js";
import { guardHead } from "../../langgraph/checkpoints/guard-head.js";
import { pinJson, pinMessages } from "../../langgraph/checkpoints/pin-messages.js";
import { withUniqueVersions } from "../../langgraph/checkpoints/unique-versions.js";
import { writeMessages } from "../../langgraph/state/swap-channel.js";
import { isRecord } from "../../shared/is-record.js";
import { errorText } from "../error-text.js";
import { readList } from "../examine/read-list.js";
import type { ThreadRef, ThreadWrite, WriteOutcome } from "../thread-store.js";
import type { OpenedGraph } from "./graph-thread.js";
import { otherGraphReason } from "./other-graph.js";

/** See `ThreadStore.write`. */
export async function writeThread(
  { graph, saver }: OpenedGraph,
  { threadId, namespace }: ThreadRef,
  { expectedCheckpointId, messages, asNode }: ThreadWrite,
): Promise<WriteOutcome> {
  if (namespace !== "")
    throw new Error("Expected a thread, got the state of a subgraph, which is never written.");
  const config = { configurable: { thread_id: threadId, checkpoint_ns: "" } };
  const reading = pinMessages(saver);
  const head = await reading.getTuple(config);
  if (head?.checkpoint.id !== expectedCheckpointId)
    return { kind: "moved", checkpointId: head?.checkpoint.id };
  const foreign = head && otherGraphReason(graph, head.checkpoint);
  if (foreign !== undefined) throw new Error(foreign);
  const list = routable(messages.map(asInstance));
  let reason: unknown;
  const known = nodesOf(graph);
  if (asNode !== undefined && !known.includes(asNode))
    throw new Error(`The graph has no node \`${asNode}\`. Its nodes are ${known.join(", ")}.`);
  const nodes = candidates(head).filter((name) => known.includes(name));
  for (const node of asNode === undefined ? [undefined, ...nodes] : [asNode]) {
    const { saver: guarded } = guardHead({
      saver: withUniqueVersions(reading),
      target: saver,
      threadId,
      signal: undefined,
      messageIds: () => [],
    });
    try {
      const written = await writeMessages(graph, guarded, config, list, node);
      return { kind: "written", checkpointId: written.configurable?.["checkpoint_id"] };
    } catch (error) {
      if (TetherError.isInstance(error) && error.code === "THREAD_MOVED") {
        const latest = await saver.getTuple(config);
        return { kind: "moved", checkpointId: latest?.checkpoint.id };
      }
      if (!isAboutNode(error)) throw error;
      reason ??= error;
    }
  }
  if (asNode !== undefined) throw reason;
  throw new Error(
    `${errorText(reason)}. Name the node that the thread is written as with --as-node (\`asNode\` in the library): ${known.join(", ")}.`,
  );
}

/** LangGraph cannot tell which of several nodes ran last, or none ran, or the graph has lost that node since. */
function isAboutNode(error: unknown): boolean {
  return /Ambiguous update|Node ".*" does not exist|No writers found for node/.test(errorText(error));
}

const nodesOf = ({ nodes }: OpenedGraph["graph"]): string[] =>
  Object.keys(nodes).filter((name) => !name.startsWith("__"));

/** The nodes that the latest superstep ran, or that wait to run. */
function candidates(head: CheckpointTuple | undefined): string[] {
  const { versions_seen = {} } = { ...head?.checkpoint };
  const latest = (seen: object) =>
    Math.max(...Object.values(seen).map((version) => Number.parseFloat(String(version))));
  return Object.entries(versions_seen)
    .filter(([name, seen]) => !name.startsWith("__") && Object.keys(seen).length > 0)
    .sort(([, one], [, other]) => latest(other) - latest(one))
    .map(([name]) => name);
}

/**
 * The routes of the graph read the list, and expect messages with the fields of their types. They get those that can be
 * read; the stored list is the given one.
 */
function routable(list: readonly unknown[]): readonly unknown[] {
  const { messages, foreign } = readList(list);
  const isSound = foreign.length === 0 && messages.every(({ issue }) => issue === undefined);
  return isSound
    ? list
    : pinJson(
        messages.map(({ message }) => message),
        list,
      );
}

/** A message in its serialized form is stored in that form. */
function asInstance(value: unknown): unknown {
  if (!isRecord(value) || value["lc"] !== 1) return value;
  const message = convertMessage(value);
  return message === undefined ? value : pinJson(message, value);
}
