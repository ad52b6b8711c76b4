/** Makes a LangChain agent's thread sound before its model is asked: results are recovered, and open calls closed. */

import type { BaseMessage } from "@langchain/core/messages";
import type { CheckpointTuple, LangGraphRunnableConfig } from "@langchain/langgraph";
import { unansweredCalls } from "../history/open-calls.js";
import { reduceMessages } from "../history/reducer/reduce-messages.js";
import { addToList, madeOnce } from "../shared/values.js";
import type { ExaminedCall } from "../threads/ended-runs/close-calls.js";
import { findLateResults } from "../threads/ended-runs/late-results.js";
import {
  changedKeys,
  findLeftovers,
  findNestedLeftovers,
  type Leftovers,
  mayLackResponse,
} from "../threads/ended-runs/leftovers.js";
import { asQuietUpdate } from "../threads/ended-runs/put-back.js";
import { announce, type Recovery, recover } from "../threads/ended-runs/recover.js";
import { isReducedChannel, writeChannel } from "../threads/langgraph/channels.js";
import { isOwnChannel } from "../threads/langgraph/read-checkpoints.js";
import { readChannels } from "../threads/langgraph/run-host.js";
import { isBeforeModel, savedCheckpoints } from "../threads/saver/run-checkpoints.js";
import type { SummaryAttempt } from "../threads/state.js";
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
 * What a new run must first write to the thread: removals of archived messages, and what ended runs left. Empty for a
 * sound thread, which costs one look at the history, and a read by the first run that this process has with it.
 *
 * @param mayHaveLeft Whether a run of the thread may have ended before the model had responded.
 * @param keepOpen Chooses the calls that are not closed. @default none
 */
export async function recoverThread(
  history: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
  options: TetherMiddlewareOptions,
  mayHaveLeft: boolean,
  keepOpen?: KeepOpen,
): Promise<Written[]> {
  const removals = await removeReturned(history, config);
  const current = after(history, removals);
  const isLookedAt = mayHaveLeft || mayLackResponse(current) || unansweredCalls(current).all.length > 0;
  const valueNow = (key: string): unknown => Object(readChannels(config, [key]))[key];
  const runs = isLookedAt ? await readLeftovers(config, valueNow) : [];
  const rewrittenSince = (checkpoint: CheckpointTuple, keys: readonly string[]) =>
    changedKeys(checkpoint, keys, valueNow);
  const late = await findLateResults(current, config, rewrittenSince).catch(() => undefined);
  const decide = (closed: (calls: readonly ExaminedCall[]) => readonly ExaminedCall[]) =>
    recover(
      current,
      { runs, ...(late && { late }) },
      { putsBack: "in-place", asksAtOnce: true, closed, isReduced: (key) => isReducedChannel(config, key) },
    );
  const all = decide((calls) => calls);
  const open = await keepOpen?.(all.calls, config);
  const isClosed = (_: unknown, index: number) => !open?.has(all.calls[index] as ExaminedCall);
  const recovery = open?.size ? decide((calls) => calls.filter(isClosed)) : all;
  announce(recovery, config, options.onRepair);
  writeValues(recovery, config);
  return [...removals, ...recovery.messages.map(asQuietUpdate)];
}

/**
 * Writes what tools and nodes had written to other keys. A hook returns one value a key, and does not know which keys
 * take several, so the channels are asked.
 */
function writeValues({ values }: Recovery, config: LangGraphRunnableConfig): void {
  const byKey = new Map<string, unknown[]>();
  for (const [key, value] of values) addToList(byKey, key, value);
  for (const [key, all] of byKey)
    if (!writeChannel(config, key, all)) writeChannel(config, key, all.slice(-1));
}

/**
 * Closes a thread's calls, because a run that continues has not passed `beforeAgent`, and summarises the thread if that
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
 * Results that close all calls of the history, to be written to the thread. Empty if every call has a result, which
 * costs one look at the history.
 */
async function closingResults(
  history: readonly BaseMessage[],
  config: LangGraphRunnableConfig,
  options: TetherMiddlewareOptions,
): Promise<readonly BaseMessage[]> {
  if (unansweredCalls(history).all.length === 0) return [];
  const runs = await readLeftovers(config);
  const recovery = recover(history, { runs }, { putsBack: "none", asksAtOnce: true });
  announce(recovery, config, options.onRepair);
  return recovery.messages;
}

/** Contract: resolves to the calls that stay open. */
type KeepOpen = (
  calls: readonly ExaminedCall[],
  config: LangGraphRunnableConfig,
) => Promise<ReadonlySet<ExaminedCall>>;

/** If a saver cannot be read, the run continues, and its calls get placeholders. */
async function readLeftovers(
  config: LangGraphRunnableConfig,
  valueNow?: (key: string) => unknown,
): Promise<readonly Leftovers[]> {
  try {
    const run = { input: undefined, isOwnKey: isOwnChannel, ...(valueNow && { valueNow }) };
    const checkpoints = await savedCheckpoints(config);
    if (checkpoints !== undefined) return await findLeftovers({ ...run, checkpoints }, isBeforeModel);
    return (await findNestedLeftovers(config, run, isBeforeModel)) ?? [];
  } catch {
    return [];
  }
}
