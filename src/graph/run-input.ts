/** The input of a run: its check, and its messages, which agent middleware can read and change. */

import type { BaseMessage } from "@langchain/core/messages";
import { isCommand } from "@langchain/langgraph";
import { InvalidMessageError } from "../errors.js";
import { cloneMessage } from "../history/messages/clone-message.js";
import { parseMessages } from "../history/reading/messages-schema.js";
import { commandWithMessages, messagesOfCommand } from "../nodes/tools/command-with-messages.js";
import { hasNameLike } from "../shared/did-you-mean.js";
import { isRecord } from "../shared/is-record.js";

/**
 * Refuses an object without `messages`: LangGraph would end the run without asking the model. Missing input passes,
 * because LangGraph itself reports it if the thread has nothing to continue.
 *
 * @param isSubgraph Whether the input is the state of a parent graph, where `messages` can be missing.
 * @throws InvalidMessageError for an input that is not undefined, null, a `Command` or an object with `messages`.
 */
export function assertRunInput(input: unknown, isSubgraph: boolean): void {
  if (input === undefined || input === null || isCommand(input)) return;
  const isObject = isRecord(input);
  if (isObject && (isSubgraph || input["messages"] !== undefined)) return;
  const expectation = "an object with `messages`, a `Command` or null";
  const hint = isObject && hasNameLike("messages", input) ? " Did you mean `messages`?" : "";
  throw new InvalidMessageError("input", input, expectation, hint);
}

/**
 * The messages of an input. They are copies, so that middleware does not change the caller's messages.
 *
 * @throws InvalidMessageError for a value that is not a message.
 */
export function messagesOfInput(input: unknown): BaseMessage[] {
  const given = isCommand(input) ? messagesOfCommand(input) : isRecord(input) ? input["messages"] : undefined;
  return given === undefined ? [] : parseMessages(given).map(cloneMessage);
}

/**
 * A copy of the input with other messages. Input that continues a stopped run stays the same if there are no messages.
 *
 * @throws InvalidMessageError if a middleware added a value that is not a message.
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
