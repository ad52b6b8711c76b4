/** The mark of a message that was recovered from a run that ended before it could store it. */

import type { BaseMessage, ToolMessage } from "@langchain/core/messages";
import { isRecord } from "../../shared/is-record.js";
import { copyMessage } from "./copy-message.js";
import { MARKS } from "./marks.js";

/**
 * A copy of the message with the mark.
 *
 * @param after The id of the message that it follows; `""` if it is the first of the history.
 */
export function markRecovered<Message extends BaseMessage>(message: Message, after: string): Message {
  const additional_kwargs = { ...message.additional_kwargs, [MARKS.recovered]: { after } };
  return copyMessage<BaseMessage>(message, { additional_kwargs }) as Message;
}

/** A copy of a recovered result with the mark. It names no place, because a result stands at its call. */
export function markRecoveredResult(result: ToolMessage): ToolMessage {
  return copyMessage(result, { additional_kwargs: { ...result.additional_kwargs, [MARKS.recovered]: {} } });
}

/** The id of the message that a recovered message follows. Undefined for every other message. */
export function recoveredAfter(message: BaseMessage): string | undefined {
  const mark: unknown = message.additional_kwargs?.[MARKS.recovered];
  const after = isRecord(mark) ? mark["after"] : undefined;
  return typeof after === "string" ? after : undefined;
}

/** The message as the history stores it: the mark stays, but names no place. */
export function withoutPlace<Message extends BaseMessage>(message: Message): Message {
  if (recoveredAfter(message) === undefined) return message;
  const additional_kwargs = { ...message.additional_kwargs, [MARKS.recovered]: {} };
  return copyMessage<BaseMessage>(message, { additional_kwargs }) as Message;
}
