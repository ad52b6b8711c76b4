/** Makes a LangChain agent's thread sound before its model is asked: results are recovered, and open calls closed. */

import type { BaseMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { unansweredCalls } from "../history/open-calls.js";
import { reduceMessages } from "../history/reducer/reduce-messages.js";
import { createRepair } from "../history/reducer/repair.js";
import { isPlaceholder } from "../history/result.js";
import { safely } from "../shared/json.js";
import { madeOnce } from "../shared/values.js";
import {
  asQuietUpdate,
  closeCalls,
  type ExaminedCall,
  examineCalls,
  findLateResults,
  findLeftovers,
  type Leftovers,
  leftoversInPlace,
  mayLackResponse,
  recoverMessages,
  tellLate,
} from "../threads/ended-runs.js";
import { isBeforeModel, savedCheckpoints } from "../threads/saver/saved-checkpoints.js";
import type { SummaryAttempt } from "../threads/state.js";
import { threadIdOf } from "../threads/stores.js";
import type { TetherMiddlewareOptions } from "./options.js";
import {
  ATTEMPT_KEY,
  createSummarizer,
  removeReturned,
  type Send,
  type SummaryRequest,
} from "./thread-summary.js";

export interface ThreadUpdate {
  readonly messages?: Written[];
  readonly [ATTEMPT_KEY]?: SummaryAttempt;
}

/** An update's messages. Responses are plain objects: see `toPlain`. */
type Written = BaseMessage | Record<string, unknown>;

/** The history with an update, and the same list without one. */
export function after(history: readonly BaseMessage[], update: readonly Written[]): readonly BaseMessage[] {
  return update.length === 0 ? history : reduceMessages(history, update).messages;
}

/**
 * What a new run must first write to the thread: removals of archived messages, messages that an ended run showed but
 * did not store, the results of `closingResults`, and late results. Empty for a sound thread, which costs one look at
 * the history.
 *
 * @param keepOpen Chooses the calls that are not closed. @default none
 */
export async function recoverThread(
  history: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
  options: TetherMiddlewareOptions,
  keepOpen: KeepOpen = closeAll,
): Promise<Written[]> {
  const written: Written[] = [];
  let current = history;
  const write = (update: readonly Written[]): void => {
    written.push(...update);
    current = after(current, update);
  };
  write(await removeReturned(history, config));
  const leftovers = mayLackResponse(current) ? await readLeftovers(config) : undefined;
  if (leftovers !== undefined) {
    const lost = recoverMessages(current, leftoversInPlace(current, leftovers), true, config);
    write(lost.map(asQuietUpdate));
  }
  write(await closingResults(current, config, options, leftovers, keepOpen));
  const late = await findLateResults(current, config).catch(() => []);
  tellLate(late, config);
  return [...written, ...late.map(({ result }) => result)];
}

/**
 * Closes a thread's calls, because a run that goes on has not passed `beforeAgent`, and summarises the thread if that
 * is due. A middleware such as `modelRetryMiddleware` can ask the model several times in one step. All these requests
 * get the same outcome.
 *
 * @returns A function that resolves to undefined if there is nothing to write.
 */
export function createPreparation(options: TetherMiddlewareOptions) {
  const summarize = options.summary && createSummarizer(options.summary, options);
  const prepared = new WeakMap<readonly BaseMessage[], Promise<ThreadUpdate | undefined>>();

  const prepare = async (
    request: SummaryRequest,
    config: LangGraphRunnableConfig,
    send: Send,
  ): Promise<ThreadUpdate | undefined> => {
    const { state, messages } = request;
    const results = await closingResults(state.messages, config, options);
    const answered = { ...request, messages: after(messages, results) as BaseMessage[] };
    const made = await summarize?.(answered, after(state.messages, results), config, send);
    const written = [...results, ...((made?.messages ?? []) as Written[])];
    const attempt = made?.summaryAttempt;
    if (written.length === 0 && attempt === undefined) return undefined;
    return { messages: written, ...(attempt && { [ATTEMPT_KEY]: attempt }) };
  };

  return (request: SummaryRequest, config: LangGraphRunnableConfig, send: Send) => {
    const { messages } = request.state;
    return madeOnce(prepared, messages, () => {
      const update = prepare(request, config, send);
      update.catch(() => prepared.delete(messages));
      return update;
    });
  };
}

/**
 * Results that close all calls of the history, to be written to the thread. A call gets the result that its tool
 * returned before its run ended, if it can be found. Otherwise it gets a placeholder that says what is known. Empty if
 * every call has a result, which costs one look at the history.
 */
async function closingResults(
  history: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
  { onRepair }: TetherMiddlewareOptions,
  known?: readonly Leftovers[],
  keepOpen: KeepOpen = closeAll,
): Promise<BaseMessage[]> {
  const { all } = unansweredCalls(history);
  if (all.length === 0) return [];
  const calls = examineCalls(all, known ?? (await readLeftovers(config)), history);
  const open = await keepOpen(calls, config);
  const closings = closeCalls(
    calls.filter((call) => !open.has(call)),
    config,
  );
  for (const { call, message } of closings) {
    if (!isPlaceholder(message)) continue;
    const repair = createRepair({ kind: "call-closed", call, message });
    safely(() => onRepair?.(repair, { threadId: threadIdOf(config) }));
  }
  return closings.map(({ message }) => message);
}

/** Contract: resolves to the calls that stay open. */
type KeepOpen = (
  calls: readonly ExaminedCall[],
  config: LangGraphRunnableConfig,
) => Promise<ReadonlySet<ExaminedCall>>;

const closeAll: KeepOpen = async () => new Set();

/** If a saver cannot be read, the run goes on, and its calls get placeholders. */
async function readLeftovers(config: LangGraphRunnableConfig): Promise<readonly Leftovers[]> {
  try {
    const checkpoints = await savedCheckpoints(config);
    if (checkpoints === undefined) return [];
    return await findLeftovers({ input: {}, checkpoints, ownState: { keys: [] } }, isBeforeModel);
  } catch {
    return [];
  }
}
