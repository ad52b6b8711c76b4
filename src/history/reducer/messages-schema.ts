/** The input schema of a messages channel. It refuses values that are not messages before the reducer sees them. */

import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import { z } from "zod/v4";
import { InvalidMessageError } from "../../errors.js";
import { coerceMessage, convertMessage, lacksContent, messageExpectation } from "../read-messages.js";
import { isKnownHistory } from "./normalize-history.js";

export type MessagesUpdate = BaseMessageLike | readonly BaseMessageLike[];

/** Makes Studio and agent-chat-ui show their chat input. */
export const messagesJsonSchemaExtra = {
  langgraph_type: "messages",
  description: "A list of chat messages",
} as const;

/**
 * Accepts one message-like or several. It throws a single sentence instead of zod's list of issues, so that a run's
 * caller reads it even through a server.
 *
 * `any` instead of `custom`: the latter has no JSON schema, and LangGraph would drop the whole input's schema.
 */
export const messagesUpdateSchema = z.any().superRefine(assertMessages) as z.ZodType<
  MessagesUpdate,
  MessagesUpdate
>;

export const messagesSchema = z.any().superRefine(assertMessages) as z.ZodType<BaseMessage[], BaseMessage[]>;

/**
 * Reads one message-like or several as a list of messages.
 *
 * @throws InvalidMessageError that names the first value that is not a message.
 */
export function parseMessages(given: unknown): BaseMessage[] {
  return eachMessage(given, coerceMessage);
}

/** @throws InvalidMessageError that names the first value that is not a message. */
function assertMessages(update: unknown, context: z.RefinementCtx): void {
  // LangGraph validates undefined to find a schema's default, and expects an issue if there is none.
  if (update === undefined) {
    context.addIssue("Expected `messages` to be given.");
    return;
  }
  // LangChain's agents validate the whole state at every model call.
  if (!Array.isArray(update) || !isKnownHistory(update)) eachMessage(update, convertMessage);
}

function eachMessage(given: unknown, read: (value: unknown) => BaseMessage | undefined): BaseMessage[] {
  const isList = Array.isArray(given);
  return Array.from(isList ? given : [given], (value: unknown, index) => {
    const message = read(value);
    if (message !== undefined && !lacksContent(value, message)) return message;
    const { expectation, hint } = messageExpectation(value) ?? {};
    throw new InvalidMessageError(isList ? `messages[${index}]` : "messages", value, expectation, hint);
  });
}
