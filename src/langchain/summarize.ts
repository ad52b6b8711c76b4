/** Summaries of a LangChain agent's thread, made as `createAgentGraph` makes them. */

import type { BaseChatModel } from "@langchain/core/language_models/chat_models";
import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import { type LangGraphRunnableConfig, ReducedValue, StateSchema } from "@langchain/langgraph";
import { toPlain } from "../history/message.js";
import { listOf } from "../history/read-messages.js";
import { normalizeHistory } from "../history/reducer/normalize-history.js";
import { archivedIds, findReturned } from "../history/summary.js";
import { madeModel } from "../providers/response/guard-model.js";
import { withDefaults } from "../shared/check-settings.js";
import { historyIn, walkBack } from "../threads/ended-runs.js";
import { hasNewInput, nodesToEnter } from "../threads/langgraph/read-checkpoints.js";
import { startingCheckpoints } from "../threads/saver/run-saver.js";
import { type AgentUpdate, type SummaryAttempt, summaryAttemptSchema } from "../threads/state.js";
import {
  FALLBACK_ATTEMPTS,
  SUMMARY_SETTINGS,
  type SummarySettings,
  summaryPolicy,
  warnOfNoLimit,
} from "../threads/summary/settings.js";
import { shouldSummarize, summarizeHistory, summaryWording } from "../threads/summary/summarize.js";
import { type AgentRequest, askForSummary, toolTokensOf } from "./ask-model.js";
import { createModel, type TetherMiddlewareOptions, type TetherSummaryOptions } from "./options.js";
import { pairedState } from "./tether-state.js";

/** LangChain keeps a key that begins with `_` out of the input and the output of the agent. */
export const ATTEMPT_KEY = "_tetherSummary";

/** A middleware can ask the model several times in one step. Each of these requests writes the same attempt. */
const summaryAttempt = new ReducedValue(summaryAttemptSchema.optional(), {
  inputSchema: summaryAttemptSchema.optional(),
  reducer: (_former: SummaryAttempt | undefined, latest: SummaryAttempt | undefined) => latest,
});

/** The state of the middleware with these options. */
export function stateFor({ summary }: TetherMiddlewareOptions): typeof pairedState {
  if (summary === undefined) return pairedState;
  // The private key is in no input and no output, so it is not in the type either.
  const fields = { ...pairedState.fields, [ATTEMPT_KEY]: summaryAttempt };
  return new StateSchema(fields) as unknown as typeof pairedState;
}

/** A request to the model, with the messages that other middleware leave of the history. */
export interface SummaryRequest extends AgentRequest {
  readonly state: { readonly messages: BaseMessage[]; readonly [ATTEMPT_KEY]?: unknown };
}

/** Contract: asks the model of the request that it gets. */
export type Send = (request: SummaryRequest) => Promise<unknown>;

/**
 * Contract: resolves to what is written to the thread. Empty if no summary is due. Rejects if the run is aborted.
 *
 * @param stored The history as the thread stores it.
 */
type Summarizer = (
  request: SummaryRequest,
  stored: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
  send: Send,
) => Promise<Pick<AgentUpdate, "messages" | "summaryAttempt">>;

export function createSummarizer(
  options: TetherSummaryOptions,
  middleware: TetherMiddlewareOptions,
): Summarizer {
  const { dialect, maxToolCallsFromHistory, maxStreamFallbackAttempts = FALLBACK_ATTEMPTS } = middleware;
  const settings = withDefaults(options, SUMMARY_SETTINGS) as SummarySettings;
  const { summaryModel, coveredMessages } = settings;
  const wording = summaryWording(settings.summaryLanguage);
  return async (request, stored, config, send) => {
    const attempt = request.state[ATTEMPT_KEY] as SummaryAttempt | undefined;
    const asked = (await madeModel(request.model, config)) as BaseChatModel;
    const chosen = { ...settings, maxToolCallsFromHistory, systemPrompt: request.systemMessage.text };
    const policy = summaryPolicy(chosen, asked, dialect, toolTokensOf(request));
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
        resolveModel: async () =>
          typeof summaryModel === "string" ? createModel(summaryModel) : (summaryModel ?? asked),
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
 * The update that takes archived messages out again, which a client has brought back with its whole list: the input of a
 * run has passed the reducer before any hook. Only what the input has brought counts, because ids of responses can repeat.
 * Without such an id nothing is read.
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
 * The ids of the messages that the thread had before the input of this run, and before those of earlier runs that ended
 * in front of this hook. Undefined if that is not known.
 */
async function idsBeforeInput(
  history: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
): Promise<ReadonlySet<string | undefined> | undefined> {
  const checkpoints = await startingCheckpoints(config);
  for await (const { checkpoint } of walkBack(checkpoints?.abandoned, checkpoints?.read, SEARCH)) {
    if (hasNewInput(checkpoint) || nodesToEnter(checkpoint).some((name) => name.endsWith(BEFORE_AGENT)))
      continue;
    const list = checkpoints && (await historyIn(checkpoint, checkpoints));
    const ids = normalizeHistory(listOf(list), () => {}).map(({ id }) => id);
    return history.some(({ id }) => id === ids.at(-1)) ? new Set(ids) : undefined;
  }
  return undefined;
}

const BEFORE_AGENT = ".before_agent";
/** How many checkpoints are read at most. */
const SEARCH = { fate: "continued", most: 40 } as const;
