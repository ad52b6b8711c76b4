/** The field for reasoning that a provider wants back as plain text: DeepSeek, and hosts that serve its models. */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/messages/call.js";

/** The name of the field in `additional_kwargs`, where LangChain's clients put it, and in the request. */
export const REASONING_FIELD = "reasoning_content";

/** The reasoning that a message carries, possibly empty. Undefined if the message has none. */
export function reasoningOf(message: BaseMessage): string | undefined {
  if (!isAIMessage(message)) return undefined;
  const reasoning: unknown = message.additional_kwargs?.[REASONING_FIELD];
  return typeof reasoning === "string" ? reasoning : undefined;
}
