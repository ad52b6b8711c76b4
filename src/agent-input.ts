/** The messages of a run's input, for an agent middleware to read and change. */

import type { BaseMessage } from "@langchain/core/messages";
import { isCommand } from "@langchain/langgraph";
import { coerceMessage } from "./history/coerce-message.js";
import { messagesUpdateSchema } from "./history/messages-schema.js";
import { commandWithMessages } from "./nodes/command-with-messages.js";

/** @throws InvalidMessageError for a value that is no message. */
export function messagesOfInput(input: unknown): BaseMessage[] {
  const given = isRecord(input) && !isCommand(input) ? input["messages"] : undefined;
  return given === undefined ? [] : toMessages(given);
}

/**
 * The same input with other messages. Without any, a run that goes on where another stopped keeps its input.
 *
 * @throws InvalidMessageError for a value that a middleware put in and that is no message.
 */
export function withMessages(input: unknown, given: readonly unknown[]): unknown {
  const messages = toMessages(given);
  if (isCommand(input)) return messages.length === 0 ? input : commandWithMessages(input, messages);
  if (isRecord(input)) return { ...input, messages };
  return messages.length === 0 ? input : { messages };
}

function toMessages(given: unknown): BaseMessage[] {
  messagesUpdateSchema.parse(given);
  return [given].flat().flatMap((value) => coerceMessage(value) ?? []);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
