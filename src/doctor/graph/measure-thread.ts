/** Measures what a thread stores, through any checkpointer. */

import type { BaseCheckpointSaver } from "@langchain/langgraph";
import { MESSAGES } from "../../langgraph/state/swap-channel.js";
import { toJson } from "../../shared/to-json.js";
import type { ThreadSizes } from "../stored-thread.js";
import type { ThreadRef } from "../thread-store.js";

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
