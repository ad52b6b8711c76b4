import type { BaseMessage } from "@langchain/core/messages";
import { ReducedValue } from "@langchain/langgraph";
import {
  type MessagesUpdate,
  messagesJsonSchemaExtra,
  messagesSchema,
  messagesUpdateSchema,
} from "./messages-schema.js";
import { pairedMessagesReducer } from "./paired-messages-reducer.js";

/** A `messages` field whose history stays paired, in the place of LangGraph's `MessagesValue`. An update that holds no message is refused: `InvalidMessageError`. */
export const PairedMessagesValue: ReducedValue<BaseMessage[], MessagesUpdate> = new ReducedValue(
  messagesSchema.default(() => []),
  {
    inputSchema: messagesUpdateSchema,
    reducer: pairedMessagesReducer,
    jsonSchemaExtra: messagesJsonSchemaExtra,
  },
);
