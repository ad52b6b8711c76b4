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

/**
 * The same as the batch reducer of a `DeltaChannel`: `writes` are updates, in order. Safe there because the
 * reducer is a left fold and derives every missing id.
 */
export function pairedMessagesDeltaReducer(history: unknown, writes: readonly unknown[]): BaseMessage[] {
  return pairedMessagesReducer(history, writes.flat(1));
}

// LangGraph gives ids to plain message objects before it saves them only for a reducer with this mark.
Object.defineProperty(pairedMessagesDeltaReducer, Symbol.for("langgraph.messages_delta_reducer"), {
  value: true,
});
