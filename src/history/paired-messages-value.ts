/** State fields: drop-ins for LangGraph's `MessagesValue` and `MessagesDeltaValue`. */

import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import { DeltaValue, ReducedValue } from "@langchain/langgraph";
import { z } from "zod";
import { coerceMessage } from "./coerce-message.js";
import { pairedMessagesDeltaReducer, pairedMessagesReducer } from "./paired-messages-reducer.js";

type MessagesUpdate = BaseMessageLike | readonly BaseMessageLike[];

const historySchema = z.custom<BaseMessage[]>().default(() => []);

/** Refuses what is no message before it reaches the reducer, which may not throw. Names the first one at fault. */
const updateSchema = z.custom<MessagesUpdate>().superRefine((update, context) => {
  const values: readonly unknown[] = Array.isArray(update) ? update : [update];
  const index = values.findIndex((value) => coerceMessage(value) === undefined);
  if (index < 0) return;
  context.addIssue({
    code: "custom",
    path: Array.isArray(update) ? [index] : [],
    message: `Expected a message (a string, or an object with \`role\` or \`type\` and \`content\`), got ${describe(values[index])}`,
  });
});

function describe(value: unknown): string {
  try {
    const text = JSON.stringify(value) ?? String(value);
    return `\`${text.length > 200 ? `${text.slice(0, 200)}…` : text}\``;
  } catch {
    return `a value of type ${typeof value}`;
  }
}

/** Makes Studio and agent-chat-ui show their chat input. */
const jsonSchemaExtra = { langgraph_type: "messages", description: "A list of chat messages" };

/** A `messages` field whose history stays paired. */
export const PairedMessagesValue: ReducedValue<BaseMessage[], MessagesUpdate> = new ReducedValue(
  historySchema,
  {
    inputSchema: updateSchema,
    reducer: pairedMessagesReducer,
    jsonSchemaExtra,
  },
);

/** The same over a `DeltaChannel`: a checkpoint holds what a step added instead of the whole history. */
export const PairedMessagesDeltaValue: DeltaValue<BaseMessage[], MessagesUpdate> = new DeltaValue(
  historySchema,
  {
    inputSchema: updateSchema,
    reducer: pairedMessagesDeltaReducer,
    jsonSchemaExtra,
  },
);
