/** Reads the history of a checkpoint whose `messages` channel is a `DeltaChannel`. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { type BaseCheckpointSaver, DeltaChannel } from "@langchain/langgraph";
import { pairedMessagesDeltaReducer } from "../channels/paired-messages-delta.js";

/**
 * The history, from the latest ancestor that holds it and the writes since. LangGraph does the same when it loads a
 * thread. Undefined for a saver that is older than the delta channel.
 */
export async function readDelta(saver: BaseCheckpointSaver, config: RunnableConfig): Promise<unknown> {
  if (typeof saver.getDeltaChannelHistory !== "function") return undefined;
  const { messages } = await saver.getDeltaChannelHistory({ config, channels: ["messages"] });
  if (messages === undefined) return undefined;
  const channel = new DeltaChannel(pairedMessagesDeltaReducer).fromCheckpoint(messages.seed as never);
  channel.replayWrites(messages.writes);
  return channel.value;
}
