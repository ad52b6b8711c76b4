/** The door check of a messages channel: what is no message is refused before it reaches the reducer. */

import type { BaseMessage, BaseMessageLike } from "@langchain/core/messages";
import { z } from "zod";
import { InvalidMessageError } from "../errors.js";
import { coerceMessage } from "./coerce-message.js";
import { messageExpectation } from "./message-expectation.js";

export type MessagesUpdate = BaseMessageLike | readonly BaseMessageLike[];

/** Makes Studio and agent-chat-ui show their chat input. */
export const messagesJsonSchemaExtra = {
  langgraph_type: "messages",
  description: "A list of chat messages",
} as const;

/**
 * One message-like or several. Throws instead of returning zod's list of issues, so that the caller of a run, also
 * one behind a server, reads one sentence.
 *
 * `any` and not `custom`: the latter has no JSON schema, which makes LangGraph drop the schema of the whole input.
 */
export const messagesUpdateSchema = z.any().superRefine(assertMessages) as z.ZodType<
  MessagesUpdate,
  MessagesUpdate
>;

export const messagesSchema = z.any().superRefine(assertMessages) as z.ZodType<BaseMessage[], BaseMessage[]>;

/**
 * One message-like or several, as messages.
 *
 * @throws InvalidMessageError that names the first value that is no message.
 */
export function parseMessages(given: unknown): BaseMessage[] {
  messagesUpdateSchema.parse(given);
  return [given].flat().flatMap((value) => coerceMessage(value) ?? []);
}

/** @throws InvalidMessageError that names the first value that is no message. */
function assertMessages(update: unknown, context: z.RefinementCtx): void {
  // LangGraph asks a schema for its default by validating undefined, and expects an issue where there is none.
  if (update === undefined) {
    context.addIssue("Expected `messages` to be given.");
    return;
  }
  const isList = Array.isArray(update);
  const values: readonly unknown[] = isList ? update : [update];
  for (const [index, value] of values.entries()) {
    if (coerceMessage(value) === undefined) {
      const { expectation, hint } = messageExpectation(value) ?? {};
      throw new InvalidMessageError(isList ? `messages[${index}]` : "messages", value, expectation, hint);
    }
  }
}
