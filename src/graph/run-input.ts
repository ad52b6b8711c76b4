/** The messages of a run's input, for an agent middleware to read and change. */

import type { BaseMessage } from "@langchain/core/messages";
import { isCommand } from "@langchain/langgraph";
import { InvalidMessageError } from "../errors.js";
import { cloneMessage } from "../history/messages/clone-message.js";
import { parseMessages } from "../history/messages/messages-schema.js";
import { commandWithMessages, messagesOfCommand } from "../nodes/tools/command-with-messages.js";
import { nearestOf } from "../shared/did-you-mean.js";
import { isRecord } from "../shared/is-record.js";

/**
 * Nothing is left to LangGraph, which says that it wants the first of a run. An object without `messages` would run
 * nothing and result in nothing.
 *
 * @param isSubgraph Whether the input is the state of a parent graph, where `messages` may not be written yet.
 * @throws InvalidMessageError for what is neither nothing nor an object with `messages`.
 */
export function assertRunInput(input: unknown, isSubgraph: boolean): void {
  if (input === undefined || input === null || isCommand(input)) return;
  const isObject = isRecord(input);
  if (isObject && (isSubgraph || input["messages"] !== undefined)) return;
  const expectation = "an object with `messages`, a `Command` or null";
  const hint = isObject && isNearMessages(Object.keys(input)) ? " Did you mean `messages`?" : "";
  throw new InvalidMessageError("input", input, expectation, hint);
}

function isNearMessages(names: readonly string[]): boolean {
  return names.some((name) => name !== "messages" && nearestOf(name, ["messages"]) !== undefined);
}

/**
 * Copies: the caller's messages stay as they are.
 *
 * @throws InvalidMessageError for a value that is no message.
 */
export function messagesOfInput(input: unknown): BaseMessage[] {
  const given = isCommand(input) ? messagesOfCommand(input) : isRecord(input) ? input["messages"] : undefined;
  return given === undefined ? [] : parseMessages(given).map(cloneMessage);
}

/**
 * The same input with other messages. Without any, a run that goes on where another stopped keeps its input.
 *
 * @throws InvalidMessageError for a value that a middleware put in and that is no message.
 */
export function withMessages(input: unknown, given: readonly unknown[]): unknown {
  const messages = parseMessages(given);
  if (isCommand(input)) {
    const isUntouched = messages.length === 0 && messagesOfCommand(input) === undefined;
    return isUntouched ? input : commandWithMessages(input, messages);
  }
  if (isRecord(input)) return { ...input, messages };
  return messages.length === 0 ? input : { messages };
}
