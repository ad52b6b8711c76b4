/** How much a thread stores, and how it grows. */

import { HumanMessage } from "@langchain/core/messages";
import { coerceMessage } from "../../history/reading/coerce-message.js";
import { bytesOf } from "../graph/measure-thread.js";
import type { StoredThread } from "../stored-thread.js";

/** LangGraph's delta channels store the complete list after this many updates. */
const UPDATES_PER_SNAPSHOT = 100;
/** How many messages an agent keeps after a summary, if nobody says. */
const MESSAGES_AFTER_SUMMARY = 20;

/** What `sizeOf` returns. All numbers are bytes, unless their name says otherwise. */
export interface SizeReport {
  readonly schemaVersion: 1;
  readonly threadId: string;
  readonly namespace: string;
  readonly messagesChannel: "full" | "delta" | "unknown";
  readonly checkpoints: number;
  readonly totalBytes: number;
  readonly messagesBytes: number;
  readonly latestMessagesBytes: number;
  readonly channels: Readonly<Record<string, number>>;
  /** How many messages the list has. */
  readonly messages: number;
  /** How many messages of a user the list has. */
  readonly turns: number;
  /** How much a turn adds to the list, on average. */
  readonly bytesPerTurn: number;
  /** How much the next turn adds to the database, at the present rate of checkpoints. */
  readonly nextTurnBytes: number;
  /** How much of `messagesBytes` a delta channel would have saved. An estimate. */
  readonly savedByDelta: number;
  /** How much of each new checkpoint is saved if all but the latest twenty messages are archived. */
  readonly savedByArchive: number;
}

/**
 * How much a thread stores, how it grows, and what a delta channel or an archive would save. Undefined for a thread whose
 * sizes were not measured, or whose messages cannot be read.
 *
 * @example
 * ```ts
 * import { MemorySaver } from "@langchain/langgraph";
 * import { createAgentGraph } from "langgraph-tether";
 * import { readThread, sizeOf } from "langgraph-tether/doctor";
 *
 * const graph = await createAgentGraph({ model: "offline:", checkpointer: new MemorySaver() });
 * const config = { configurable: { thread_id: "1" } };
 * await graph.invoke({ messages: [{ role: "user", content: "Hello!" }] }, config);
 * const size = sizeOf(await readThread({ graph, config }, { measure: true }));
 * console.log(size?.messages, size?.turns); // 2 1
 * ```
 */
export function sizeOf(thread: StoredThread): SizeReport | undefined {
  const { sizes, content, threadId, namespace, messagesChannel = "unknown" } = thread;
  const values = content.kind === "read" || content.kind === "bricked" ? content.messages : undefined;
  if (sizes === undefined || values === undefined) return undefined;
  const messages = values.flatMap((value) => coerceMessage(value) ?? []);
  const turns = Math.max(1, messages.filter((message) => HumanMessage.isInstance(message)).length);
  const { checkpoints, messagesBytes } = sizes;
  // A checkpoint of a delta channel does not hold the list.
  const latestMessagesBytes = sizes.latestMessagesBytes || sumOf(values);
  const bytesPerTurn = Math.round(latestMessagesBytes / turns);
  const checkpointsPerTurn = checkpoints / turns;
  const isDelta = messagesChannel === "delta";
  const nextTurnBytes = Math.round(
    isDelta ? bytesPerTurn : (latestMessagesBytes + bytesPerTurn) * checkpointsPerTurn,
  );
  // Each message once, and the complete list now and then.
  const snapshots = Math.floor(checkpoints / UPDATES_PER_SNAPSHOT);
  const withDelta = latestMessagesBytes + (snapshots * latestMessagesBytes) / 2;
  const kept = sumOf(values.slice(-MESSAGES_AFTER_SUMMARY));
  return {
    schemaVersion: 1,
    threadId,
    namespace,
    messagesChannel,
    ...sizes,
    latestMessagesBytes,
    messages: values.length,
    turns,
    bytesPerTurn,
    nextTurnBytes,
    savedByDelta: isDelta ? 0 : Math.max(0, Math.round(messagesBytes - withDelta)),
    savedByArchive: Math.max(0, latestMessagesBytes - kept),
  };
}

function sumOf(values: readonly unknown[]): number {
  return values.reduce<number>((sum, value) => sum + bytesOf(value), 0);
}
