/**
 * Messages that say nothing go, or say so.
 *
 * An assistant's message with neither text nor calls is refused by most, so it goes; a blank system message too. A
 * user's message or a result cannot go: it has its place in the turn. There a few words stand for it, where the
 * provider demands some.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../../history/call.js";
import { copyMessage } from "../../../history/copy-message.js";
import { NO_OUTPUT } from "../../../history/result.js";
import { isBlankMessage } from "../../../history/without-calls.js";
import type { Rules } from "../../dialects/rule.js";
import { mapMessages } from "./map-messages.js";
import type { Step } from "./step.js";

const EMPTY_MESSAGE = "(empty message)";

export const fillBlanks: Step = (messages, { dialect }) =>
  mapMessages(messages, (message) => filled(message, dialect.rules));

function filled(message: BaseMessage, rules: Rules): BaseMessage | undefined {
  if (isAIMessage(message)) {
    return (message.tool_calls ?? []).length === 0 && isBlankMessage(message) ? undefined : message;
  }
  // Blank content is an empty text by now.
  if (message.content !== "") return message;
  if (message.type === "system") return undefined;
  if (message.type === "tool" && rules["blank-result"] !== undefined)
    return copyMessage(message, { content: NO_OUTPUT });
  if (message.type === "human" && rules["blank-user"] !== undefined)
    return copyMessage(message, { content: EMPTY_MESSAGE });
  return message;
}
