/** The reducer as a channel uses it: its repairs are published instead of returned. */

import { channel } from "node:diagnostics_channel";
import type { BaseMessage } from "@langchain/core/messages";
import { reduceMessages } from "./reduce-messages.js";

/** The `node:diagnostics_channel` on which each {@link Repair} is published. */
export const REPAIR_CHANNEL = "langgraph-tether:repair";

const repairChannel = channel(REPAIR_CHANNEL);

/**
 * {@link reduceMessages} as the reducer of a `messages` channel. LangGraph runs reducers again on local reads and
 * replays, so one repair may be published several times; its `key` stays the same.
 */
export function pairedMessagesReducer(history: unknown, update: unknown): BaseMessage[] {
  const { messages, repairs } = reduceMessages(history, update);
  if (repairChannel.hasSubscribers) for (const repair of repairs) repairChannel.publish(repair);
  return messages;
}
