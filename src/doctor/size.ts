/** The sizes of a thread. */

import { HumanMessage } from "@langchain/core/messages";
import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { coerceMessage } from "../history/read-messages.js";
import { toJson } from "../shared/json.js";
import { MESSAGES } from "../threads/langgraph/swap-channel.js";
import type { StoredThread, ThreadRef, ThreadSizes } from "./thread-store.js";

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

/*
 * Measures what a thread stores, through any checkpointer.
 */

/**
 * The sizes of the JSON of all values. A database stores some more: its own columns and indexes. One checkpoint at a time
 * is in memory. Undefined for a thread without checkpoints.
 */
export async function measureThread(
  saver: BaseCheckpointSaver,
  { threadId, namespace }: ThreadRef,
): Promise<ThreadSizes | undefined> {
  const channels = new Map<string, number>();
  const add = (name: string, value: unknown): number => {
    const bytes = bytesOf(value);
    channels.set(name, (channels.get(name) ?? 0) + bytes);
    return bytes;
  };
  let checkpoints = 0;
  let totalBytes = 0;
  let latestMessagesBytes = 0;
  const place = { configurable: { thread_id: threadId, checkpoint_ns: namespace } };
  for await (const { checkpoint, metadata, pendingWrites = [] } of saver.list(place)) {
    const { channel_values, ...rest } = checkpoint;
    totalBytes += bytesOf(rest) + bytesOf(metadata);
    for (const [name, value] of Object.entries(channel_values)) {
      const bytes = add(name, value);
      totalBytes += bytes;
      if (name === MESSAGES && checkpoints === 0) latestMessagesBytes = bytes;
    }
    for (const [, name, value] of pendingWrites) {
      // A delta channel stores its messages as writes.
      totalBytes += add(String(name), value);
    }
    checkpoints += 1;
  }
  if (checkpoints === 0) return undefined;
  const messagesBytes = channels.get(MESSAGES) ?? 0;
  return {
    checkpoints,
    totalBytes,
    messagesBytes,
    latestMessagesBytes,
    channels: Object.fromEntries(channels),
  };
}

/** How many bytes the JSON of a value has. */
export function bytesOf(value: unknown): number {
  return Buffer.byteLength(toJson(value) ?? "");
}
