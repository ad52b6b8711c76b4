/**
 * Drops or fills messages that say nothing.
 *
 * Most providers reject an assistant message with neither text nor calls, so it is dropped. A blank system message is
 * dropped too. A user message or a tool result has its place in the turn and must stay. It gets a short text where
 * the provider demands one.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { isBlankMessage } from "../../../history/calls/without-calls.js";
import { isAIMessage } from "../../../history/messages/call.js";
import { copyMessage } from "../../../history/messages/copy-message.js";
import { NO_OUTPUT } from "../../../history/messages/result.js";
import type { Rules } from "../../dialects/rule.js";
import type { Step } from "./step.js";

const EMPTY_MESSAGE = "(empty message)";

export const fillBlanks: Step =
  ({ dialect }) =>
  (message) =>
    filled(message, dialect.rules);

function filled(message: BaseMessage, rules: Rules): BaseMessage | undefined {
  if (isAIMessage(message)) {
    return (message.tool_calls ?? []).length === 0 && isBlankMessage(message) ? undefined : message;
  }
  // At this step, blank content is already an empty text.
  if (message.content !== "") return message;
  if (message.type === "system") return undefined;
  if (message.type === "tool" && rules["blank-result"] !== undefined)
    return copyMessage(message, { content: NO_OUTPUT });
  if (message.type === "human" && rules["blank-user"] !== undefined)
    return copyMessage(message, { content: EMPTY_MESSAGE });
  return message;
}
