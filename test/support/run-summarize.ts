/** One pass of the summarize node, outside a graph. */

import type { BaseMessage } from "@langchain/core/messages";
import type { BaseStore, LangGraphRunnableConfig } from "@langchain/langgraph";
import { type AgentPlan, planAgent } from "../../src/agent/plan.js";
import type { RunContext } from "../../src/agent/settings/run-context.js";
import { createSummarizeNode } from "../../src/agent/summarize.js";
import type { SummaryPolicy } from "../../src/history/plan-summary.js";
import { coerceMessage } from "../../src/history/read-messages.js";
import { reduceMessages } from "../../src/history/reducer/reduce-messages.js";
import { coverageOf } from "../../src/history/summary.js";
import type { AgentEvent } from "../../src/threads/events.js";
import type { AgentState, SummaryAttempt } from "../../src/threads/state.js";
import { summaryWording } from "../../src/threads/summary.js";
import type { FunctionModel } from "./function-model.js";
import { policyOf } from "./long-histories.js";

export interface Pass {
  readonly messages: BaseMessage[];
  /** The new summary; undefined if none was made. */
  readonly summary: BaseMessage | undefined;
  readonly covered: readonly string[];
  readonly events: readonly AgentEvent[];
  readonly summaryAttempt: SummaryAttempt | undefined;
}

interface PassOptions
  extends Partial<Pick<AgentPlan, "resolveSummaryModel" | "summaryWording">>,
    Partial<
      Pick<AgentPlan["settings"], "summaryTimeoutMs" | "maxStreamFallbackAttempts" | "coveredMessages">
    > {
  readonly policy?: Partial<SummaryPolicy>;
  readonly store?: BaseStore;
  readonly threadId?: string;
  readonly signal?: AbortSignal;
  /** The attempt before this one. */
  readonly summaryAttempt?: SummaryAttempt | undefined;
}

export async function summarizeOnce(
  messages: readonly BaseMessage[],
  model: FunctionModel,
  {
    policy = {},
    store,
    threadId = "thread",
    signal,
    summaryAttempt,
    resolveSummaryModel = async () => model,
    summaryWording: wording = summaryWording("en", {}),
    ...settings
  }: PassOptions = {},
): Promise<Pass> {
  const plan = planAgent({ model, summaryModel: model });
  const node = createSummarizeNode({
    ...plan,
    resolveSummaryModel,
    summaryPolicy: async () => policyOf(policy),
    summaryWording: wording,
    settings: { ...plan.settings, summaryTimeoutMs: 1_000, maxStreamFallbackAttempts: 0, ...settings },
  });
  const events: AgentEvent[] = [];
  const config = {
    configurable: { thread_id: threadId },
    writer: (event: AgentEvent) => events.push(event),
    ...(store && { store }),
    ...(signal && { signal }),
  } as unknown as LangGraphRunnableConfig<RunContext>;
  const state: AgentState = { messages: [...messages], summaryAttempt };
  const update = await node(state, config);
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
