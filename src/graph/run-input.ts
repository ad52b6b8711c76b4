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

/** An input without keys that the state does not have. LangGraph would store them in the first checkpoint. */
export function onlyKeysOfState(input: unknown, ownKeys: readonly string[]): unknown {
  if (!isRecord(input) || isCommand(input)) return input;
  const isOfState = (key: string): boolean => key === "messages" || ownKeys.includes(key);
  const keys = Object.keys(input);
  return keys.every(isOfState)
    ? input
    : Object.fromEntries(keys.filter(isOfState).map((key) => [key, input[key]]));
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

/** The ids of the messages of an input. The reducer writes an id into a message that comes without one. */
export function idsInInput(input: unknown): string[] {
  const given = isCommand(input) ? messagesOfCommand(input) : isRecord(input) ? input["messages"] : undefined;
  const ids = [given].flat().map((message: unknown) => (isRecord(message) ? message["id"] : undefined));
  return ids.filter((id) => typeof id === "string");
}

/**
 * A copy of the input with other messages. Input that continues a stopped run stays the same if there are no messages.
 *
 * @throws InvalidMessageError if a middleware added a value that is not a message.
 */
export function withMessages(input: unknown, given: readonly unknown[]): unknown {
  return withSoundMessages(input, parseMessages(given));
}

/** The same, with messages that were read before. */
export function withSoundMessages(input: unknown, messages: BaseMessage[]): unknown {
  if (isCommand(input)) {
    const isUntouched = messages.length === 0 && messagesOfCommand(input) === undefined;
    return isUntouched ? input : commandWithMessages(input, messages);
  }
  if (isRecord(input)) return { ...input, messages };
  return messages.length === 0 ? input : { messages };
}
