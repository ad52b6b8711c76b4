/**
 * Makes the thread of a LangChain agent sound before its model is asked: results are recovered, and open calls closed.
 */

import { type BaseMessage, RemoveMessage } from "@langchain/core/messages";
import type { LangGraphRunnableConfig } from "@langchain/langgraph";
import { z } from "zod/v4";
import { callsOf, isAIMessage } from "../history/call.js";
import { REMOVE_ALL_MESSAGES } from "../history/message.js";
import { type UnansweredCall, unansweredCalls } from "../history/open-calls.js";
import { reduceMessages } from "../history/reducer/reduce-messages.js";
import { createRepair } from "../history/reducer/repair.js";
import { causeInHistory, isResult, type PlaceholderCause } from "../history/result.js";
import { safely, toJson } from "../shared/json.js";
import { addToList } from "../shared/values.js";
import { followSpans } from "../threads/events.js";
import { type ToolTask, toolTasksOf } from "../threads/langgraph/read-checkpoints.js";
import {
  asQuietUpdate,
  closeCalls,
  findLeftovers,
  type Leftovers,
  recoverCalls,
  recoverMessages,
} from "../threads/leftovers.js";
import type { SummaryAttempt } from "../threads/state.js";
import { isBeforeModel, savedCheckpoints } from "../threads/watch-checkpointer.js";
import { ATTEMPT_KEY, createSummarizer, type Send, type SummaryRequest } from "./summarize.js";
import type { TetherMiddlewareOptions } from "./tether-middleware.js";
import { configOf, type HookRuntime, threadIdOf } from "./tether-state.js";

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
  const lost = await lostMessages(history, leftovers, configOf(runtime));
  const closing = await closingResults(after(history, lost), runtime, options, leftovers);
  return [...lost.map(asQuietUpdate), ...closing];
}

/**
 * Whether the run before this one may have ended without storing what it had written: the message before the new input
 * is no final response.
 */
function mayLackResponse(history: readonly BaseMessage[]): boolean {
  const before = history.at(-1)?.type === "human" ? history.at(-2) : history.at(-1);
  return before !== undefined && !(isAIMessage(before) && callsOf(before).length === 0);
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
  const declined = declinedCalls(calls, leftovers);
  const notStarted = notStartedCalls(calls, leftovers);
  const causeOf = (unanswered: UnansweredCall): PlaceholderCause => {
    if (declined.has(unanswered)) return "declined";
    const { call, group } = unanswered;
    const isKnown = call.kind !== "invalid" && notStarted.has(unanswered);
    return isKnown ? "not-started" : causeInHistory(call, history[group.end]);
  };
  const closings = closeCalls(calls, recoverCalls(calls, leftovers), causeOf, configOf(runtime));
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

/*
 * Finds the messages that a run of a LangChain agent had shown, and that its thread does not have.
 */

/** The update that puts them back in their places. */
function lostMessages(
  history: readonly BaseMessage[],
  leftovers: readonly Leftovers[],
  config: LangGraphRunnableConfig,
): Promise<BaseMessage[]> {
  const present = new Set(history.map(({ id }) => id));
  // The input of the run cannot be read here, so what it removed is not known. Where the last message is gone, or is
  // one of another branch, nothing is put back.
  const own = leftovers.filter((leftover) => present.has(leftover.history.at(-1)?.id));
  return recoverMessages(
    history,
    own.map((leftover) => ({ ...leftover, written: withoutRewrites(leftover.written) })),
    config,
  );
}

/**
 * A middleware such as `summarizationMiddleware` replaces the whole history. If its step was not stored, the history is
 * still whole, and the middleware writes it again.
 */
function withoutRewrites(written: readonly BaseMessage[]): readonly BaseMessage[] {
  const isRewrite = (message: BaseMessage): boolean =>
    RemoveMessage.isInstance(message) && message.id === REMOVE_ALL_MESSAGES;
  return written.some(isRewrite) ? written.filter(isResult) : written;
}

/*
 * Finds the calls of ended runs that were not run: a human did not decide about them, or no tool had been started.
 */

const askedSchema = z.object({
  value: z.object({
    actionRequests: z.array(z.object({ name: z.string(), args: z.record(z.string(), z.unknown()) })),
  }),
});

/**
 * The calls that a human was asked about by LangChain's `humanInTheLoopMiddleware`, without a decision. It asks by name
 * and arguments, without the id of the call.
 */
export function declinedCalls(
  calls: readonly UnansweredCall[],
  leftovers: readonly Leftovers[],
): ReadonlySet<UnansweredCall> {
  const declined = new Set<UnansweredCall>();
  const argumentsOf = argumentsReader();
  for (const { history, interrupts } of leftovers) {
    const known = new Set(history.map(({ id }) => id));
    const asked = interrupts.flatMap(
      (entry) => askedSchema.safeParse(entry).data?.value.actionRequests ?? [],
    );
    if (asked.length === 0) continue;
    const waiting = new Map<string, UnansweredCall[]>();
    for (const unanswered of calls) {
      const { call, group } = unanswered;
      if (!known.has(group.head.id) || declined.has(unanswered)) continue;
      addToList(waiting, describe(call.name, argumentsOf(unanswered)), unanswered);
    }
    for (const { name, args } of asked) {
      // The question is about the last group that the run knew.
      const match = waiting.get(describe(name, args))?.pop();
      if (match !== undefined) declined.add(match);
    }
  }
  return declined;
}

function describe(name: string, args: unknown): string {
  return `${name}\n${toJson(args)}`;
}

function argumentsReader(): (unanswered: UnansweredCall) => unknown {
  const known = new Map<BaseMessage, readonly ToolTask[]>();
  return ({ group: { head }, place }) => {
    if (!isAIMessage(head)) return undefined;
    const tasks = known.get(head) ?? toolTasksOf(head);
    known.set(head, tasks);
    return tasks[place]?.args;
  };
}

/** LangChain's nodes between the response of the model and its tools. */
const AFTER_MODEL = /\.after_model$/;

/**
 * The calls of a response whose run ended before its tools were started. `humanInTheLoopMiddleware` waits there, also
 * with the calls that need no decision.
 */
function notStartedCalls(
  calls: readonly UnansweredCall[],
  leftovers: readonly Leftovers[],
): ReadonlySet<UnansweredCall> {
  const ends = leftovers.filter(({ nodes }) => nodes.some((name) => AFTER_MODEL.test(name)));
  // Tools are started in the step after the one that writes the response.
  const written = leftovers.flatMap((leftover) => leftover.written.filter(isAIMessage));
  const heads = new Set(
    [...ends.map(({ history }) => history.findLast(isAIMessage)), ...written].map((head) => head?.id),
  );
  return new Set(calls.filter(({ group }) => group.head.id !== undefined && heads.has(group.head.id)));
}
