/**
 * What a thread has used up since it began. It is a channel and not a sum over the history, because messages can be
 * removed, archived and summarised. Nodes write what they have used, and the channel adds it up, so that what an ended
 * run has written can be added later.
 */

import { withLangGraph } from "@langchain/langgraph/zod";
import { z } from "zod/v4";

export const threadUsageSchema = z.object({
  /** Tokens of all responses and summaries, input included. */
  tokens: z.number(),
  /** Tool calls that were sent to their tools. */
  toolCalls: z.number(),
});

export type ThreadUsage = z.infer<typeof threadUsageSchema>;

export const NO_USAGE: ThreadUsage = { tokens: 0, toolCalls: 0 };

export function addUsage(one: ThreadUsage, other: ThreadUsage): ThreadUsage {
  return { tokens: one.tokens + other.tokens, toolCalls: one.toolCalls + other.toolCalls };
}

export function isUsed({ tokens, toolCalls }: ThreadUsage): boolean {
  return tokens > 0 || toolCalls > 0;
}

export const threadUsageValue = withLangGraph<ThreadUsage, ThreadUsage, typeof threadUsageSchema>(
  threadUsageSchema,
  { reducer: { fn: addUsage, schema: threadUsageSchema }, default: () => NO_USAGE },
);
