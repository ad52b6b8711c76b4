/** State fields: drop-ins for LangGraph's `MessagesValue` and `MessagesDeltaValue`. */

import type { BaseMessage } from "@langchain/core/messages";
import { DeltaValue, ReducedValue } from "@langchain/langgraph";
import {
  type MessagesUpdate,
  messagesJsonSchemaExtra,
  messagesSchema,
  messagesUpdateSchema,
} from "./messages-schema.js";
import { pairedMessagesDeltaReducer, pairedMessagesReducer } from "./paired-messages-reducer.js";

const valueSchema = messagesSchema.default(() => []);

/** A `messages` field whose history stays paired. An update that holds no message is refused: `InvalidMessageError`. */
export const PairedMessagesValue: ReducedValue<BaseMessage[], MessagesUpdate> = new ReducedValue(
  valueSchema,
  {
    inputSchema: messagesUpdateSchema,
    reducer: pairedMessagesReducer,
    jsonSchemaExtra: messagesJsonSchemaExtra,
  },
);

/** The same over a `DeltaChannel`: a checkpoint holds what a step added instead of the whole history. */
export const PairedMessagesDeltaValue: DeltaValue<BaseMessage[], MessagesUpdate> = new DeltaValue(
  valueSchema,
  {
    inputSchema: messagesUpdateSchema,
    reducer: pairedMessagesDeltaReducer,
    jsonSchemaExtra: messagesJsonSchemaExtra,
  },
);
