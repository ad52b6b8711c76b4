/** One attempt to summarise a history, outside a graph. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import type { SummaryPolicy } from "../../src/history/plan-summary.js";
import { coerceMessage } from "../../src/history/read-messages.js";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { coverageOf } from "../../src/history/summary.js";
import type { AgentEvent } from "../../src/index.js";
import type { SummaryAttempt } from "../../src/threads/state.js";
import { summarizeHistory, summaryWording } from "../../src/threads/summary/summarize.js";
import { policyOf } from "./long-histories.js";
import type { FunctionModel } from "./models.js";
import type { SavedLists } from "./saved-lists.js";

export interface Pass {
  readonly messages: BaseMessage[];
  /** The new summary; undefined if none was made. */
  readonly summary: BaseMessage | undefined;
  readonly covered: readonly string[];
  readonly events: readonly AgentEvent[];
  readonly summaryAttempt: SummaryAttempt | undefined;
}

interface PassOptions {
  readonly resolveSummaryModel?: () => Promise<BaseChatModel>;
  readonly summaryTimeoutMs?: number;
  readonly maxStreamFallbackAttempts?: number;
  readonly coveredMessages?: "keep" | "archive";
  readonly policy?: Partial<SummaryPolicy>;
  /** Where the history is saved before the summary is made. Undefined: nowhere. */
  readonly lists?: SavedLists | undefined;
  readonly signal?: AbortSignal;
  /** The attempt before this one. */
  readonly summaryAttempt?: SummaryAttempt | undefined;
}

export async function summarizeOnce(
  messages: readonly BaseMessage[],
  model: FunctionModel,
  {
    policy = {},
    lists,
    signal,
    summaryAttempt,
    resolveSummaryModel: resolveModel = async () => model,
    summaryTimeoutMs: timeoutMs = 1_000,
    maxStreamFallbackAttempts = 0,
    coveredMessages = "keep",
  }: PassOptions = {},
): Promise<Pass> {
  const events: AgentEvent[] = [];
  const config = {
    configurable: lists ? await lists.taskWith(messages) : { thread_id: "thread" },
    writer: (event: AgentEvent) => events.push(event),
    ...(signal && { signal }),
  } as unknown as LangGraphRunnableConfig;
  const update = await summarizeHistory(
    { messages: [...messages], summaryAttempt },
    {
      policy: policyOf(policy),
      wording: summaryWording("en"),
      timeoutMs,
      maxStreamFallbackAttempts,
      coveredMessages,
      resolveModel,
    },
    config,
  );
  const summary = coerceMessage(update.messages?.[0]);
  return {
    messages: reduceMessages(messages, update.messages ?? []).messages,
    summary,
    covered: summary === undefined ? [] : (coverageOf(summary)?.messages ?? []),
    events,
    summaryAttempt: update.summaryAttempt,
  };
}

const TRANSCRIPT = "The conversation since:\n\n";

/** The messages in a request to the summariser, without the summary so far. */
export function transcriptsOf(model: FunctionModel): string[] {
  return model.requests.map(({ text }) => text.slice(text.indexOf(TRANSCRIPT) + TRANSCRIPT.length));
}
