/**
 * Adds a short message where a provider demands one that is missing.
 *
 * Mistral does not accept a user message after a tool result. Claude 4.6 and Mistral do not accept an assistant
 * message at the end. Bedrock and GLM demand a user message first, and every provider demands at least one message.
 * Added user messages are marked, so that they are not taken for the user's own.
 */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { createSummaryNote } from "../../../history/messages/summary.js";
import type { Rules } from "../../dialects/rule.js";

const OPENING = "(The beginning of this conversation is not shown.)";
const AFTER_RESULTS = "I have the results.";
const CONTINUE = "Please continue.";

/**
 * The messages that must stand between two others, or before the first one.
 *
 * @param before The message before, without regard to system messages. Undefined if there is none.
 */
export function bridgesBefore(
  message: BaseMessage,
  before: BaseMessage | undefined,
  rules: Rules,
): BaseMessage[] {
  if (message.type === "system") return [];
  if (before === undefined && message.type !== "human" && rules["first-user"] !== undefined)
    return [createSummaryNote(OPENING)];
  if (before?.type === "tool" && message.type === "human" && rules["user-after-tool"] !== undefined)
    return [new AIMessage(AFTER_RESULTS)];
  return [];
}

/** The messages that must stand at the end. */
export function bridgesAfter(last: BaseMessage | undefined, rules: Rules): BaseMessage[] {
  if (last === undefined) return [createSummaryNote(OPENING)];
  return last.type === "ai" && rules["assistant-last"] !== undefined ? [createSummaryNote(CONTINUE)] : [];
}
