/**
 * Makes the thread of a LangChain agent sound before its model is asked: results are recovered, and open calls closed.
 */

import { type BaseMessage, RemoveMessage, ToolMessage } from "@langchain/core/messages";
import { type Command, isCommand, type LangGraphRunnableConfig, StateSchema } from "@langchain/langgraph";
import { z } from "zod/v4";
import { callsOf, isAIMessage } from "../history/call.js";
import { placeOfCall } from "../history/group.js";
import { REMOVE_ALL_MESSAGES, toPlain } from "../history/message.js";
import { type UnansweredCall, unansweredCalls } from "../history/open-calls.js";
import { reduceMessages } from "../history/reducer/reduce-messages.js";
import { createRepair } from "../history/reducer/repair.js";
import {
  callIdOf,
  causeInHistory,
  createPlaceholder,
  isResult,
  markRecoveredResult,
  type PlaceholderCause,
} from "../history/result.js";
import { isLangGraphSignal } from "../providers/failure/langgraph-signal.js";
import { isError, isOfAbort } from "../shared/is-error.js";
import { safely, toJson } from "../shared/json.js";
import { addToList } from "../shared/values.js";
import { untilAborted } from "../shared/waiting.js";
import { messagesOf } from "../threads/commands.js";
import { emitEvent, followSpans } from "../threads/events.js";
import { type ToolTask, toolTasksOf } from "../threads/langgraph/read-checkpoints.js";
import { isSaver } from "../threads/langgraph/replace-methods.js";
import { inheritedCheckpointer } from "../threads/langgraph/run-host.js";
import { awaitLate, type LateResults, lateResultsOf } from "../threads/late-results.js";
import { findLeftovers, type Leftovers, recoverCalls, recoverMessages } from "../threads/leftovers.js";
import type { SummaryAttempt } from "../threads/state.js";
import { unbatched } from "../threads/stores.js";
import { isBeforeModel, savedCheckpoints } from "../threads/watch-checkpointer.js";
import {
  type AgentRequest,
  ATTEMPT_KEY,
  createSummarizer,
  FALLBACK_ATTEMPTS,
  summaryAttempt,
} from "./ask-model.js";
import type { TetherMiddlewareOptions } from "./tether-middleware.js";
import { configOf, type HookRuntime, pairedState, threadIdOf } from "./tether-state.js";

export interface ThreadUpdate {
  readonly messages?: Written[];
  readonly [ATTEMPT_KEY]?: SummaryAttempt;
}

interface PreparedRequest extends AgentRequest {
  readonly state: { readonly messages: BaseMessage[]; readonly [ATTEMPT_KEY]?: unknown };
  readonly runtime: HookRuntime;
}

/** The state of the middleware with these options. */
export function stateFor({ summary }: TetherMiddlewareOptions): typeof pairedState {
  if (summary === undefined) return pairedState;
  // The private key is in no input and no output, so it is not in the type either.
  const fields = { ...pairedState.fields, [ATTEMPT_KEY]: summaryAttempt };
  return new StateSchema(fields) as unknown as typeof pairedState;
}

/**
 * Closes the calls of a thread, because a run that goes on has not passed `beforeAgent`, and summarises it if that is
 * due. A middleware such as `modelRetryMiddleware` can ask the model several times in one step. All these requests get the
 * same outcome.
 *
 * @returns A function that resolves to undefined if there is nothing to write.
 */
export function createPreparation(options: TetherMiddlewareOptions) {
  const { summary, maxToolCallsFromHistory, maxStreamFallbackAttempts = FALLBACK_ATTEMPTS } = options;
  const summarize =
    summary === undefined
      ? undefined
      : createSummarizer(summary, { maxToolCallsFromHistory, maxStreamFallbackAttempts });
  const prepared = new WeakMap<readonly BaseMessage[], Promise<ThreadUpdate | undefined>>();

  const prepare = async (request: PreparedRequest): Promise<ThreadUpdate | undefined> => {
    const { state, runtime, messages } = request;
    const results = await closeCalls(state.messages, runtime, options);
    if (summarize === undefined) return results.length === 0 ? undefined : { messages: results };
    const closed = (history: BaseMessage[]) =>
      results.length === 0 ? history : reduceMessages(history, results).messages;
    const made = await summarize({
      request: { ...request, messages: closed(messages) },
      stored: closed(state.messages),
      attempt: state[ATTEMPT_KEY] as SummaryAttempt | undefined,
      runtime,
    });
    const written = [...results, ...((made.messages ?? []) as Written[])];
    if (written.length === 0 && made.summaryAttempt === undefined) return undefined;
    return {
      messages: written,
      ...(made.summaryAttempt !== undefined && { [ATTEMPT_KEY]: made.summaryAttempt }),
    };
  };

  return (request: PreparedRequest): Promise<ThreadUpdate | undefined> => {
    const known = prepared.get(request.state.messages);
    if (known !== undefined) return known;
    const update = prepare(request);
    prepared.set(request.state.messages, update);
    update.catch(() => prepared.delete(request.state.messages));
    return update;
  };
}

/*
 * Puts back what ended runs had saved, and closes the calls that they left without a result.
 */

type Options = Pick<TetherMiddlewareOptions, "onRepair">;

/** The messages of an update. Responses are plain objects: see `toPlain`. */
type Written = BaseMessage | Record<string, unknown>;

/**
 * What a run that begins has to write to the thread first: the messages that an ended run had shown and not stored, and
 * then the results of `closeCalls`. Empty for a sound thread, which costs one look at the history.
 */
export async function recoverThread(
  history: readonly BaseMessage[],
  runtime: HookRuntime,
  options: Options,
): Promise<Written[]> {
  await followSpans();
  if (!mayLackResponse(history)) return closeCalls(history, runtime, options);
  const leftovers = await readLeftovers(runtime);
  const lost = lostMessages(history, leftovers, configOf(runtime));
  for (const { id = "" } of lost.filter(isAIMessage))
    emitEvent(configOf(runtime), { type: "response-recovered", messageId: id });
  const whole = lost.length === 0 ? history : reduceMessages(history, lost).messages;
  const closing = await closeCalls(whole, runtime, options, leftovers);
  // LangGraph streams each message instance that a node writes. Clients have the pieces of a response already.
  return [...lost.map((message) => (isAIMessage(message) ? toPlain(message) : message)), ...closing];
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
async function closeCalls(
  history: readonly BaseMessage[],
  runtime: HookRuntime,
  { onRepair }: Options,
  known?: readonly Leftovers[],
): Promise<BaseMessage[]> {
  await followSpans();
  const { dangling, pending } = unansweredCalls(history);
  const calls = [...dangling, ...pending];
  if (calls.length === 0) return [];
  const config = configOf(runtime);
  const leftovers = known ?? (await readLeftovers(runtime));
  const found = recoverCalls(calls, leftovers);
  const declined = declinedCalls(calls, leftovers);
  const notStarted = notStartedCalls(calls, leftovers);
  const causeOf = (unanswered: UnansweredCall): PlaceholderCause => {
    if (declined.has(unanswered)) return "declined";
    const { call, group } = unanswered;
    const isKnown = call.kind !== "invalid" && notStarted.has(unanswered);
    return isKnown ? "not-started" : causeInHistory(call, history[group.end]);
  };
  return calls.map((unanswered, index) => {
    const { call, group, place } = unanswered;
    const remains = found[index];
    if (remains?.kind === "result") {
      emitEvent(config, { type: "result-recovered", tool: call.name, callId: call.id });
      return markRecoveredResult(remains.result);
    }
    const cause = causeOf(unanswered);
    const placeholder = createPlaceholder(call, cause, placeOfCall(group, place));
    emitEvent(config, { type: "call-closed", tool: call.name, callId: call.id, cause });
    const repair = createRepair({ kind: "call-closed", call, message: placeholder });
    safely(() => onRepair?.(repair, { threadId: threadIdOf(runtime) }), undefined);
    return placeholder;
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
): BaseMessage[] {
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

export interface WantedCall {
  readonly id?: string | undefined;
  readonly name: string;
}

/**
 * The outcome of a tool call, or an error result in place of what it threw: a throw would end the run, and lose the
 * results of the calls that still run. The text is the one that LangChain uses in an agent without middleware.
 *
 * @throws LangGraph's own signals, and what the tool throws because of the abort.
 */
export async function keepResult<Outcome>(
  { id, name }: WantedCall,
  signal: AbortSignal | undefined,
  run: () => Outcome | Promise<Outcome>,
): Promise<Outcome | ToolMessage> {
  try {
    return await run();
  } catch (error) {
    if (safely(() => isLangGraphSignal(error), false) || isOfAbort(error, signal)) throw error;
    return new ToolMessage({ content: contentFor(error), tool_call_id: id ?? "", name, status: "error" });
  }
}

/**
 * The outcome of a tool call. What comes after the abort of the run goes to the next run of the thread.
 *
 * @throws The reason of the abort, at once, and what the call throws.
 */
export async function keepLate(
  { id = "" }: WantedCall,
  messages: readonly BaseMessage[],
  runtime: HookRuntime,
  run: () => Promise<ToolMessage | Command>,
): Promise<ToolMessage | Command> {
  const { signal } = runtime;
  if (signal === undefined) return run();
  const answered = run();
  try {
    return await untilAborted(answered, signal);
  } catch (error) {
    const head = messages.findLast(isAIMessage);
    const index = head === undefined ? -1 : callsOf(head).findIndex((call) => call.id === id);
    if (signal.aborted && index >= 0) {
      const coming = answered.then((outcome) => ({ result: resultIn(outcome, id), values: [] }));
      awaitLate(`${head?.id}:${index}`, coming, lateResultsIn(runtime), threadIdOf(runtime));
    }
    throw error;
  }
}

function resultIn(outcome: ToolMessage | Command, callId: string): ToolMessage | undefined {
  const messages = isCommand(outcome) ? messagesOf(outcome) : [outcome];
  return messages.filter(isResult).find((result) => callIdOf(result) === callId);
}

/** Undefined for an agent inside another graph, and without a checkpointer. */
export function lateResultsIn(runtime: HookRuntime): LateResults | undefined {
  const { configurable } = configOf(runtime);
  const saver = inheritedCheckpointer({ ...(configurable && { configurable }) });
  const threadId = threadIdOf(runtime);
  const isInside = String(configurable?.["checkpoint_ns"] ?? "").includes("|");
  if (!isSaver(saver) || threadId === undefined || isInside) return undefined;
  const store = runtime.store == null ? undefined : unbatched(runtime.store);
  return lateResultsOf({ saver, threadId, namespace: "", store, namesCheckpoint: false });
}

function contentFor(error: unknown): string {
  // Any value can be thrown, even one that cannot be converted to a string.
  return safely(() => {
    const cause = causeOf(error);
    // LangChain's error for arguments that the tool's schema refuses. Its message is for the model.
    return brandOf(cause) === "ToolInvocationError"
      ? String(Reflect.get(Object(cause), "message"))
      : `${cause}\n Please fix your mistakes.`;
  }, "Error: the tool failed.");
}

/** LangChain wraps what passes through the middleware of a tool call, once for each of them. */
function causeOf(error: unknown): unknown {
  const cause: unknown =
    brandOf(error) === "MiddlewareError" ? Reflect.get(Object(error), "cause") : undefined;
  return cause === undefined ? error : causeOf(cause);
}

function brandOf(error: unknown): unknown {
  return isError(error) ? Reflect.get(error, "~brand") : undefined;
}
