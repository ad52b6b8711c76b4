/** The reducer of the history as a `DeltaChannel` uses it. */

import type { BaseMessage } from "@langchain/core/messages";
import { DeltaValue } from "@langchain/langgraph";
import {
  type MessagesUpdate,
  messagesJsonSchemaExtra,
  messagesSchema,
  messagesUpdateSchema,
} from "../../history/reading/messages-schema.js";
import { pairedMessagesReducer } from "../../history/reducer/paired-messages.js";

/** LangGraph gives ids to plain message objects before it saves them, but only for a reducer with this mark. Not exported. */
const DELTA_MARK = Symbol.for("langgraph.messages_delta_reducer");

/**
 * `pairedMessagesReducer` as the batch reducer of a `DeltaChannel`. `writes` are updates, in order. The split into
 * batches makes no difference, because the reducer is a left fold and derives every missing id.
 */
export function pairedMessagesDeltaReducer(history: unknown, writes: readonly unknown[]): BaseMessage[] {
  return pairedMessagesReducer(history, writes.flat(1));
}

Object.defineProperty(pairedMessagesDeltaReducer, DELTA_MARK, { value: true });

/**
 * `PairedMessagesValue` over a `DeltaChannel`, in place of LangGraph's `MessagesDeltaValue`: a checkpoint stores only
 * the messages that a step added.
 */
export const PairedMessagesDeltaValue: DeltaValue<BaseMessage[], MessagesUpdate> = new DeltaValue(
  messagesSchema.default(() => []),
  {
    inputSchema: messagesUpdateSchema,
    reducer: pairedMessagesDeltaReducer,
    jsonSchemaExtra: messagesJsonSchemaExtra,
  },
);
