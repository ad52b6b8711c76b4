/** Summaries of a LangChain agent's thread, made as `createAgentGraph` makes them. */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { ReducedValue } from "@langchain/langgraph";
import { countTextTokens } from "../history/long-threads/count-tokens.js";
import type { ToolCallsToKeep } from "../history/long-threads/filter-tool-calls.js";
import type { SummaryPolicy } from "../history/long-threads/plan-summary.js";
import { toPlain } from "../history/messages/to-plain.js";
import { assertGivenModel, type GivenModel } from "../nodes/model/given-model.js";
import { emitEvent } from "../nodes/run/agent-event.js";
import { type AgentUpdate, type SummaryAttempt, summaryAttemptSchema } from "../nodes/run/agent-state.js";
import { missingStore } from "../nodes/run/missing-service.js";
import { findReturned } from "../nodes/summary/returned-messages.js";
import { summarizeHistory } from "../nodes/summary/summarize-history.js";
import { shouldSummarize } from "../nodes/summary/summary-due.js";
import { summaryWording } from "../nodes/summary/summary-prompts.js";
import { cachedCreateModel } from "../providers/models/cached-create-model.js";
import { checkSettings } from "../settings/rule.js";
import { budgetFor } from "../settings/summary-policy.js";
import { SUMMARY_SETTINGS, type SummaryOptions, type SummarySettings } from "../settings/summary-settings.js";
import { type AgentRequest, resolved, toolTokensOf } from "./ask-model.js";
import { configOf, type HookRuntime, threadIdOf } from "./runtime.js";

/** The options of summaries. They have the names, values and defaults of those of `createAgentGraph`. */
export type TetherSummaryOptions = SummaryOptions;

/** LangChain keeps a key that begins with `_` out of the input and the output of the agent. */
export const ATTEMPT_KEY = "_tetherSummary";

/** A middleware can ask the model several times in one step. Each of these requests writes the same attempt. */
export const summaryAttempt = new ReducedValue(summaryAttemptSchema.optional(), {
  inputSchema: summaryAttemptSchema.optional(),
  reducer: (_former: SummaryAttempt | undefined, latest: SummaryAttempt | undefined) => latest,
});

export interface SummaryRequest {
  /** The request to the model, with the messages that other middleware leave of the history. */
  readonly request: AgentRequest;
  /** The history as the thread stores it. */
  readonly stored: readonly BaseMessage[];
  /** The latest attempt; undefined if there was none. */
  readonly attempt: SummaryAttempt | undefined;
  readonly runtime: HookRuntime;
}

/** Contract: resolves to what is written to the thread. Empty if no summary is due. Rejects if the run is aborted. */
export type Summarizer = (
  request: SummaryRequest,
) => Promise<Pick<AgentUpdate, "messages" | "summaryAttempt">>;

interface SummarizerOptions {
  readonly maxToolCallsFromHistory?: ToolCallsToKeep | undefined;
  readonly maxStreamFallbackAttempts: number;
}

const createModel = cachedCreateModel();

/** @throws InvalidSettingError for an unknown option or a value that cannot be used. */
export function checkSummaryOptions(summary: unknown): void {
  checkSettings(summary, SUMMARY_SETTINGS, "summary");
  const { summaryModel }: TetherSummaryOptions = Object(summary);
  if (summaryModel !== undefined) assertGivenModel("summaryModel", summaryModel, createModel);
}

export function createSummarizer(
  options: TetherSummaryOptions,
  { maxToolCallsFromHistory, maxStreamFallbackAttempts }: SummarizerOptions,
): Summarizer {
  const settings = withDefaults(options);
  const { summaryModel, coveredMessages } = settings;
  const wording = summaryWording(settings.summaryLanguage, {
    heading: settings.summaryHeading,
    instructions: settings.summaryPrompt,
  });
  return async ({ request, stored, attempt, runtime }) => {
    const config = configOf(runtime);
    if (coveredMessages === "archive" && config.store === undefined) throw missingStore();
    const asked = (await resolved(request.model, config)) as Exclude<GivenModel, string>;
    const policy: SummaryPolicy = {
      maxTokens: budgetFor(asked, settings.maxTokensBeforeSummary),
      maxMessages: settings.maxMessagesBeforeSummary,
      messagesToKeep: settings.messagesToKeep,
      tokensToKeep: settings.tokensToKeep,
      maxToolCalls: maxToolCallsFromHistory,
      toolTokens: toolTokensOf(request),
      promptTokens: countTextTokens(request.systemMessage.text),
    };
    const state = { messages: request.messages, summaryAttempt: attempt };
    if (!shouldSummarize(state, policy) || !isWhole(request.messages, stored)) return {};
    return summarizeHistory(
      { messages: [...stored], summaryAttempt: attempt },
      {
        policy,
        wording,
        timeoutMs: settings.summaryTimeoutMs,
        maxStreamFallbackAttempts,
        coveredMessages,
        resolveModel: async () => {
          if (summaryModel === undefined) return asked;
          return typeof summaryModel === "string" ? createModel(summaryModel) : summaryModel;
        },
      },
      config,
    );
  };
}

/**
 * The update that takes archived messages out again, which a client has brought back with its whole list. The input of a
 * run has passed the reducer before any hook.
 */
export async function removeReturned(
  history: readonly BaseMessage[],
  runtime: HookRuntime,
  { summary }: { readonly summary?: TetherSummaryOptions | undefined },
): Promise<Record<string, unknown>[]> {
  const threadId = threadIdOf(runtime);
  if (summary?.coveredMessages !== "archive" || runtime.store == null || threadId === undefined) return [];
  const { messages, events } = await findReturned(history, history, runtime.store, threadId);
  for (const event of events) emitEvent(configOf(runtime), event);
  // From the end: a message of calls takes its results with it. Plain objects are not streamed.
  return [...messages].toReversed().map(({ id = "" }) => toPlain(new RemoveMessage({ id })));
}

/** Whether the request has all stored messages. If not, another middleware keeps the input short. */
function isWhole(messages: readonly BaseMessage[], stored: readonly BaseMessage[]): boolean {
  const ids = new Set(messages.map(({ id }) => id));
  return stored.every(({ id }) => ids.has(id));
}

function withDefaults(options: TetherSummaryOptions): SummarySettings {
  const defaults = Object.entries(SUMMARY_SETTINGS).map(([name, row]) => [name, row.default]);
  const given = Object.entries(options).filter(([, value]) => value !== undefined);
  return Object.fromEntries([...defaults, ...given]);
}
