/** Where reasoning is that a provider wants back as plain text: DeepSeek, and who serves its models. */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "../../history/call.js";

/** Its name in `additional_kwargs`, where LangChain's clients put it, and in the request. */
export const REASONING_FIELD = "reasoning_content";

/** The reasoning that a message carries, be it empty; undefined if none is written. */
export function reasoningOf(message: BaseMessage): string | undefined {
  if (!isAIMessage(message)) return undefined;
  const reasoning: unknown = message.additional_kwargs?.[REASONING_FIELD];
  return typeof reasoning === "string" ? reasoning : undefined;
}
