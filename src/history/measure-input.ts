/** How long a model input is, as far as that is known. */

import type { BaseMessage } from "@langchain/core/messages";
import { isAIMessage } from "./call.js";
import { countTokens } from "./count-tokens.js";
import { coverageOf } from "./summary.js";
import { flattenVisible, visibleHistory } from "./visible-history.js";

/**
 * Tokens of what the model would be sent: the visible history, and `overhead` for system prompt and tool schemas.
 * Up to the last answer that carries the provider's usage numbers those are taken instead of the estimate, unless
 * a summary was made since.
 */
export function measureInput(history: readonly BaseMessage[], overhead: number): number {
  const visible = flattenVisible(visibleHistory(history));
  const trustedFrom = lastSummarised(history);
  const measured = visible.findLastIndex(
    (message) => usageOf(message) > 0 && history.lastIndexOf(message) > trustedFrom,
  );
  const known = visible[measured];
  if (known === undefined) return overhead + sumTokens(visible);
  return usageOf(known) + sumTokens(visible.slice(measured + 1));
}

export function sumTokens(messages: readonly BaseMessage[]): number {
  return messages.reduce((sum, message) => sum + countTokens(message), 0);
}

/** Tokens of the request that this message answered, and of the answer itself; 0 where the provider said nothing. */
function usageOf(message: BaseMessage): number {
  if (!isAIMessage(message)) return 0;
  const usage: { input_tokens?: unknown; output_tokens?: unknown } = message.usage_metadata ?? {};
  const { input_tokens, output_tokens } = usage;
  return typeof input_tokens === "number" && input_tokens > 0
    ? input_tokens + (typeof output_tokens === "number" ? output_tokens : 0)
    : 0;
}

/** The position of the last message that stood in the history when its latest summary was made; -1 if none. */
function lastSummarised(history: readonly BaseMessage[]): number {
  const summary = history.findLast((message) => coverageOf(message) !== undefined);
  const asOf = summary && coverageOf(summary)?.asOf;
  if (summary === undefined) return -1;
  const position = history.findLastIndex((message) => message.id === asOf);
  // The message is gone: nothing says which answers are older, so none is trusted.
  return position < 0 ? history.length : position;
}
