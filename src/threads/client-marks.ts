/** Takes this library's marks off the messages that a client sends, because code trusts them. */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../history/call.js";
import { isTrusted, MARKS, withMarks, withoutMarks } from "../history/marks.js";
import { convertMessage } from "../history/read-messages.js";
import { causeInText, placeholderMarks } from "../history/result.js";
import { askedFor, withAsked } from "../providers/contract/author.js";

/**
 * A client's message without marks. A placeholder's text says the same as its marks, so they stay. Who was asked for a
 * response stays too: it only lets the message's own words go to whom it names. A thread can thus be sent back over HTTP.
 */
export function withoutForeignMarks(message: BaseMessage): BaseMessage {
  const isMarked = message.additional_kwargs[MARKS.placeholder] !== undefined;
  const cause = isMarked ? causeInText(message) : undefined;
  const asked = isAIMessage(message) ? askedFor(message) : undefined;
  const unmarked = withoutMarks(message);
  const told = asked === undefined ? unmarked : withAsked(unmarked, asked);
  return cause === undefined ? told : withMarks(told, placeholderMarks(cause));
}

/**
 * The same for one message-like or several, as a run's input has them. What has no mark, and what this library returned
 * itself in this process, stays as it is.
 */
export function unmarkedInput(input: unknown): unknown {
  if (!Array.isArray(input)) return unmarkedValue(input);
  const values = input.map(unmarkedValue);
  return values.every((value, index) => value === input[index]) ? input : values;
}

function unmarkedValue(value: unknown): unknown {
  const message = isTrusted(value) ? undefined : convertMessage(value);
  return message === undefined || withoutMarks(message) === message ? value : withoutForeignMarks(message);
}
