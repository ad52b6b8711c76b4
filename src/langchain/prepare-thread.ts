/**
 * Makes the thread of a LangChain agent sound before its model is asked: results are recovered, and open calls closed.
 */

import type { BaseMessage } from "@langchain/core/messages";
import { unansweredCalls } from "../history/open-calls.js";
import { reduceMessages } from "../history/reducer/reduce-messages.js";
import { createRepair } from "../history/reducer/repair.js";
import { safely } from "../shared/json.js";
import { causesOf, closeCalls, recoverCalls } from "../threads/close-calls.js";
import { followSpans } from "../threads/events.js";
import {
  asQuietUpdate,
  findLeftovers,
  type Leftovers,
  leftoversInPlace,
  mayLackResponse,
  recoverMessages,
} from "../threads/leftovers.js";
import { isBeforeModel, savedCheckpoints } from "../threads/run-saver.js";
import type { SummaryAttempt } from "../threads/state.js";
import { threadIdOf } from "../threads/stores.js";
import type { TetherMiddlewareOptions } from "./options.js";
import { ATTEMPT_KEY, createSummarizer, type Send, type SummaryRequest } from "./summarize.js";
import { configOf, type HookRuntime } from "./tether-state.js";

export interface ThreadUpdate {
  readonly messages?: Written[];
  readonly [ATTEMPT_KEY]?: SummaryAttempt;
}

/** The messages of an update. Responses are plain objects: see `toPlain`. */
type Written = BaseMessage | Record<string, unknown>;

/** The history with an update, and the same list without one. */
export function after(history: readonly BaseMessage[], update: readonly Written[]): readonly BaseMessage[] {
  return update.length === 0 ? history : reduceMessages(history, update).messages;
}

/**
 * Closes the calls of a thread, because a run that goes on has not passed `beforeAgent`, and summarises it if that is
 * due. A middleware such as `modelRetryMiddleware` can ask the model several times in one step. All these requests get the
 * same outcome.
 *
 * @returns A function that resolves to undefined if there is nothing to write.
 */
export function createPreparation(options: TetherMiddlewareOptions) {
  const summarize = options.summary && createSummarizer(options.summary, options);
  const prepared = new WeakMap<readonly BaseMessage[], Promise<ThreadUpdate | undefined>>();

  const prepare = async (request: SummaryRequest, send: Send): Promise<ThreadUpdate | undefined> => {
    const { state, runtime, messages } = request;
    const results = await closingResults(state.messages, runtime, options);
    const made = await summarize?.(
      { ...request, messages: after(messages, results) as BaseMessage[] },
      after(state.messages, results),
      send,
    );
    const written = [...results, ...((made?.messages ?? []) as Written[])];
    if (written.length === 0 && made?.summaryAttempt === undefined) return undefined;
    return { messages: written, ...(made?.summaryAttempt && { [ATTEMPT_KEY]: made.summaryAttempt }) };
  };

  return (request: SummaryRequest, send: Send): Promise<ThreadUpdate | undefined> => {
    const known = prepared.get(request.state.messages);
    if (known !== undefined) return known;
    const update = prepare(request, send);
    prepared.set(request.state.messages, update);
    update.catch(() => prepared.delete(request.state.messages));
    return update;
  };
}

/*
 * Puts back what ended runs had saved, and closes the calls that they left without a result.
 */

type Options = Pick<TetherMiddlewareOptions, "onRepair">;

/**
 * What a run that begins has to write to the thread first: the messages that an ended run had shown and not stored, and
 * then the results of `closingResults`. Empty for a sound thread, which costs one look at the history.
 */
export async function recoverThread(
  history: readonly BaseMessage[],
  runtime: HookRuntime,
  options: Options,
): Promise<Written[]> {
  await followSpans();
  if (!mayLackResponse(history)) return closingResults(history, runtime, options);
  const leftovers = await readLeftovers(runtime);
  const lost = await recoverMessages(history, leftoversInPlace(history, leftovers), configOf(runtime));
  const closing = await closingResults(after(history, lost), runtime, options, leftovers);
  return [...lost.map(asQuietUpdate), ...closing];
}

/**
 * The results that close all calls of the history, to be written to the thread. A call gets the result that its tool
 * returned before its run ended, if it can be found. Otherwise it gets a placeholder that says what is known. Empty if
 * every call has a result, which costs one look at the history.
 */
async function closingResults(
  history: readonly BaseMessage[],
  runtime: HookRuntime,
  { onRepair }: Options,
  known?: readonly Leftovers[],
): Promise<BaseMessage[]> {
  await followSpans();
  const { dangling, pending } = unansweredCalls(history);
  const calls = [...dangling, ...pending];
  if (calls.length === 0) return [];
  const leftovers = known ?? (await readLeftovers(runtime));
  const found = recoverCalls(calls, leftovers);
  const causeOf = causesOf(calls, found, leftovers, history);
  const closings = closeCalls(calls, found, causeOf, configOf(runtime));
  return closings.map(({ unanswered, message, cause }) => {
    if (cause === undefined) return message;
    const repair = createRepair({ kind: "call-closed", call: unanswered.call, message });
    safely(() => onRepair?.(repair, { threadId: threadIdOf(runtime) }), undefined);
    return message;
  });
}

/** A saver that cannot be read does not fail the run: its calls get placeholders. */
async function readLeftovers(runtime: HookRuntime): Promise<readonly Leftovers[]> {
  try {
    const checkpoints = await savedCheckpoints(configOf(runtime));
    if (checkpoints === undefined) return [];
    return await findLeftovers({ input: {}, checkpoints, ownState: { keys: [] } }, isBeforeModel);
  } catch {
    return [];
  }
}
