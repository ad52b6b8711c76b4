/**
 * Adds a short message where a provider demands one that is missing.
 *
 * Mistral does not accept a user message after a tool result. Claude 4.6 and Mistral do not accept an assistant
 * message at the end. Bedrock and GLM demand a user message first, and every provider demands at least one message.
 * Added user messages are marked, so that they are not taken for the user's own.
 */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { createSummaryNote } from "../../../history/messages/summary.js";
import type { Step } from "./step.js";

const OPENING = "(The beginning of this conversation is not shown.)";
const AFTER_RESULTS = "I have the results.";
const CONTINUE = "Please continue.";

export const bridgeRoles: Step = (messages, { dialect: { rules } }) => {
  const bridged: BaseMessage[] = [];
  let before: BaseMessage | undefined;
  for (const message of messages) {
    if (message.type !== "system") {
      if (before === undefined && message.type !== "human" && rules["first-user"] !== undefined)
        bridged.push(createSummaryNote(OPENING));
      if (before?.type === "tool" && message.type === "human" && rules["user-after-tool"] !== undefined)
        bridged.push(new AIMessage(AFTER_RESULTS));
      before = message;
    }
    bridged.push(message);
  }
  if (before === undefined) bridged.push(createSummaryNote(OPENING));
  else if (before.type === "ai" && rules["assistant-last"] !== undefined)
    bridged.push(createSummaryNote(CONTINUE));
  return bridged.length === messages.length ? messages : bridged;
};
