/** Summaries of a LangChain agent's thread, made as in `createAgentGraph`. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { type LangGraphRunnableConfig, ReducedValue, StateSchema } from "@langchain/langgraph";
import { toPlain } from "../history/message.js";
import { listOf } from "../history/read-messages.js";
import { normalizeHistory } from "../history/reducer/normalize-history.js";
import { archivedIds, findReturned } from "../history/summary.js";
import { madeModel } from "../providers/response/guard-model.js";
import { withDefaults } from "../shared/check-settings.js";
import { windowInThread } from "../threads/asking/help.js";
import { historyIn, walkBack } from "../threads/ended-runs/leftovers.js";
import { hasNewInput, nodesToEnter } from "../threads/langgraph/read-checkpoints.js";
import { startingCheckpoints } from "../threads/saver/run-checkpoints.js";
import {
  FALLBACK_ATTEMPTS,
  SUMMARY_SETTINGS,
  type SummarySettings,
  summaryPolicy,
  warnOfNoLimit,
} from "../threads/shared-settings.js";
import { type AgentUpdate, type SummaryAttempt, summaryAttemptSchema } from "../threads/state.js";
import { shouldSummarize, summarizeHistory, summaryWording } from "../threads/summary/summarize.js";
import { type AgentRequest, askForSummary, toolTokensOf } from "./model-call.js";
import { createSharedModel, type TetherMiddlewareOptions, type TetherSummaryOptions } from "./options.js";
import { seenRun } from "./seen-run.js";
import { pairedState } from "./tether-state.js";

/** LangChain keeps keys that begin with `_` out of the agent's input and output. */
export const ATTEMPT_KEY = "_tetherSummary";

/** A middleware can ask the model several times in one step. Each of these requests writes the same attempt. */
const summaryAttempt = new ReducedValue(summaryAttemptSchema.optional(), {
  inputSchema: summaryAttemptSchema.optional(),
  reducer: (_former: SummaryAttempt | undefined, latest: SummaryAttempt | undefined) => latest,
});

/** The middleware's state with these options. */
export function stateFor({ summary }: TetherMiddlewareOptions): typeof pairedState {
  if (summary === undefined) return pairedState;
  // The private key is neither input nor output, so the type does not have it either.
  const fields = { ...pairedState.fields, [ATTEMPT_KEY]: summaryAttempt };
  return new StateSchema(fields) as unknown as typeof pairedState;
}

/** A request to the model, with the messages that other middleware left of the history. */
export interface SummaryRequest extends AgentRequest {
  readonly state: { readonly messages: BaseMessage[]; readonly [ATTEMPT_KEY]?: unknown };
}

/** Contract: asks the model of the given request. */
export type Send = (request: SummaryRequest) => Promise<unknown>;

export function createSummarizer(options: TetherSummaryOptions, middleware: TetherMiddlewareOptions) {
  const { dialect, maxToolCallsFromHistory, maxStreamFallbackAttempts = FALLBACK_ATTEMPTS } = middleware;
  const settings = withDefaults(options, SUMMARY_SETTINGS) as SummarySettings;
  const { summaryModel, coveredMessages } = settings;
  const wording = summaryWording(settings.summaryLanguage);
  /**
   * Resolves to what is written to the thread. Empty if no summary is due.
   *
   * @param stored The history as the thread stores it.
   * @throws The abort's reason, if the run is aborted.
   */
  return async function summarize(
    request: SummaryRequest,
    stored: readonly BaseMessage[],
    config: LangGraphRunnableConfig,
    send: Send,
  ): Promise<Pick<AgentUpdate, "messages" | "summaryAttempt">> {
    const attempt = request.state[ATTEMPT_KEY] as SummaryAttempt | undefined;
    const asked = (await madeModel(request.model, config)) as BaseChatModel;
    const chosen = { ...settings, maxToolCallsFromHistory, systemPrompt: request.systemMessage.text };
    const inThread = windowInThread(stored, asked);
    const policy = summaryPolicy(chosen, asked, dialect, toolTokensOf(request), inThread);
    warnOfNoLimit(settings, policy, true);
    const state = { messages: request.messages, summaryAttempt: attempt };
    if (!shouldSummarize(state, policy) || !isWhole(request.messages, stored)) return {};
    const asksAlone = (summaryModel ?? maxToolCallsFromHistory ?? request.responseFormat) !== undefined;
    return summarizeHistory(
      { messages: [...stored], summaryAttempt: attempt },
      {
        policy,
        wording,
        timeoutMs: settings.summaryTimeoutMs,
        maxStreamFallbackAttempts,
        coveredMessages,
        askInConversation: asksAlone
          ? undefined
          : (isShown, question, maxAttempts, hidden) => {
              const messages = [...request.messages.filter(isShown), question];
              return askForSummary(request, messages, maxAttempts, middleware, hidden, send);
            },
        tally: seenRun(config).tally,
        resolveModel: async () =>
          typeof summaryModel === "string" ? createSharedModel(summaryModel) : (summaryModel ?? asked),
      },
      config,
    );
  };
}

/** Whether the request has all stored messages. If not, another middleware keeps the input short. */
function isWhole(messages: readonly BaseMessage[], stored: readonly BaseMessage[]): boolean {
  const ids = new Set(messages.map(({ id }) => id));
  return stored.every(({ id }) => ids.has(id));
}

/**
 * The update that removes archived messages that a client brought back with its whole list: a run's input has passed
 * the reducer before any hook. Only what the input brought counts, because response ids can repeat. Without such an id
 * nothing is read.
 */
export async function removeReturned(
  history: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
): Promise<Record<string, unknown>[]> {
  const archived = archivedIds(history);
  if (!history.some(({ id = "" }) => archived.has(id))) return [];
  const before = await idsBeforeInput(history, config).catch(() => undefined);
  if (before === undefined) return [];
  const returned = findReturned(
    history.filter(({ id }) => !before.has(id)),
    history,
  );
  // From the end: a message of calls takes its results with it. Plain objects are not streamed.
  return [...returned].toReversed().map(({ id = "" }) => toPlain(new RemoveMessage({ id })));
}

/**
 * The ids of the thread's messages before this run's input, and before the input of earlier runs that ended ahead of
 * this hook. Undefined if unknown.
 */
async function idsBeforeInput(
  history: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
): Promise<ReadonlySet<string | undefined> | undefined> {
  const checkpoints = await startingCheckpoints(config);
  for await (const { checkpoint } of walkBack(checkpoints?.begunOn, checkpoints?.read)) {
    if (hasNewInput(checkpoint) || nodesToEnter(checkpoint).some((name) => name.endsWith(BEFORE_AGENT)))
      continue;
    const list = checkpoints && (await historyIn(checkpoint, checkpoints));
    const ids = normalizeHistory(listOf(list)).map(({ id }) => id);
    return history.some(({ id }) => id === ids.at(-1)) ? new Set(ids) : undefined;
  }
  return undefined;
}

const BEFORE_AGENT = ".before_agent";
