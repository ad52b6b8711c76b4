/**
 * Adds a short message where a provider demands one that is missing.
 *
 * Mistral does not accept a user message after a tool result. Claude 4.6 and Mistral do not accept an assistant
 * message at the end. Bedrock and GLM demand a user message first, and every provider demands at least one message.
 * Added user messages are marked, so that they are not taken for the user's own.
 */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { createSummaryNote } from "../../../history/messages/summary.js";
import type { RuleName, Rules } from "../../dialects/rule.js";

const OPENING = "(The beginning of this conversation is not shown.)";
const AFTER_RESULTS = "I have the results.";
const CONTINUE = "Please continue.";

/** A message that is missing, and the rule that demands it. */
export interface Bridge {
  readonly message: BaseMessage;
  readonly rule: RuleName;
}

const NONE: readonly Bridge[] = [];

/**
 * The messages that must stand between two others, or before the first one.
 *
 * @param before The message before, without regard to system messages. Undefined if there is none.
 */
export function bridgesBefore(
  message: BaseMessage,
  before: BaseMessage | undefined,
  rules: Rules,
): readonly Bridge[] {
  if (message.type === "system") return NONE;
  if (before === undefined && message.type !== "human" && rules["first-user"] !== undefined)
    return [{ message: createSummaryNote(OPENING), rule: "first-user" }];
  if (before?.type === "tool" && message.type === "human" && rules["user-after-tool"] !== undefined)
    return [{ message: new AIMessage(AFTER_RESULTS), rule: "user-after-tool" }];
  return NONE;
}

/** The messages that must stand at the end. */
export function bridgesAfter(last: BaseMessage | undefined, rules: Rules): Bridge[] {
  if (last === undefined) return [{ message: createSummaryNote(OPENING), rule: "empty-history" }];
  return last.type === "ai" && rules["assistant-last"] !== undefined
    ? [{ message: createSummaryNote(CONTINUE), rule: "assistant-last" }]
    : [];
}
