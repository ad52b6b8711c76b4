/**
 * A few words stand where a provider demands a message that is not there.
 *
 * Mistral takes no user's message behind a result; Claude 4.6 and Mistral take no assistant's message at the end;
 * Bedrock and GLM want a user's message first, and everybody wants some message. The user's words are marked, so
 * that nobody takes them for the user's.
 */

import { AIMessage, type BaseMessage } from "@langchain/core/messages";
import { createSummaryNote } from "../../../history/summary.js";
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
