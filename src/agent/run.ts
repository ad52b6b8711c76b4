/** One run of an agent: reads its input and its settings, and runs the graph with its agent middleware around it. */

import { channel } from "node:diagnostics_channel";
import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import { type BaseStore, type CheckpointTuple, isCommand, START } from "@langchain/langgraph";
import {
  InvalidCommandError,
  InvalidMessageError,
  isTetherError,
  type ThreadConflictError,
} from "../errors.js";
import { withStoredMarks } from "../history/marks.js";
import { isSameMessage } from "../history/message.js";
import { publishRepairs } from "../history/reducer/paired-messages.js";
import { createRepair } from "../history/reducer/repair.js";
import { isPlaceholder } from "../history/result.js";
import { checkSettings, countFrom } from "../shared/check-settings.js";
import { toJson } from "../shared/json.js";
import { defined, isRecord } from "../shared/values.js";
import { readUpdate } from "../threads/commands.js";
import { awaitLate, diaryWritten, givenKeys, historyIn, walkBack } from "../threads/ended-runs.js";
import { type AgentEvent, withGraphType } from "../threads/events.js";
import { clearInbox } from "../threads/inbox.js";
import { hasTasks } from "../threads/langgraph/read-checkpoints.js";
import {
  customChunk,
  followingOptions,
  followQuestions,
  innerOptions,
  isServedRun,
  isSubgraphRun,
  savesAtExit,
} from "../threads/langgraph/run-host.js";
import { defaultsOf } from "../threads/own-state.js";
import type { WatchedCheckpointer } from "../threads/run-saver.js";
import { missingCheckpointer, threadIdOf } from "../threads/stores.js";
import { warnOfNoArchive } from "../threads/summary-settings.js";
import { admitInput, idsInInput, messagesOfInput, type ReadThread, withMessages } from "./client.js";
import { agentHook } from "./middleware/contexts.js";
import type { MiddlewareByKind } from "./middleware/middleware.js";
import { runAgentMiddleware } from "./middleware/run.js";
import { type AgentPlan, planRun } from "./plan.js";
import { RunHandle, type RunInputs, type RunRecord, runHandleOf } from "./run-handle.js";
import { type RunContext, warnOfMisplaced, withoutSettings } from "./settings/run-context.js";
import { lateResultIn } from "./tools.js";

/** What is known about a run before it begins. */
export interface RunStart {
  readonly isStreamed: boolean;
  readonly middleware: MiddlewareByKind;
}

type RunConfig = RunnableConfig & { readonly context?: object; readonly store?: BaseStore };

interface AgentRun<Chunk> extends RunStart {
  readonly plan: AgentPlan;
  /** The input as the caller passed it. */
  readonly received: unknown;
  readonly options: RunConfig;
  readonly watched: WatchedCheckpointer;
  /** Reads the thread; undefined for a run without a checkpointer. */
  readonly readThread: ReadThread | undefined;
  /** Events about the graph, which this run emits at its start. */
  readonly startEvents: readonly AgentEvent[];
  /** The store of the options, or else of the graph. */
  readonly store: BaseStore | undefined;
  /** Contract: streams a run of the compiled graph, without middleware around it. */
  readonly stream: (input: unknown, options: RunConfig) => AsyncGenerator<Chunk>;
}

/**
 * Yields the chunks of a run.
 *
 * @throws InvalidCommandError, InvalidSettingError or InvalidMessageError for an input or options that a run cannot
 * have.
 */
export function runAgent<Chunk>(run: AgentRun<Chunk>): AsyncGenerator<Chunk> {
  const chunks = execute(run);
  const isHeard = runs.hasSubscribers && !isSubgraphRun(run.options);
  return isHeard ? publishingEnd(chunks, run.options.signal) : chunks;
}

/** The story of a run: it is admitted, and loops through the graph, alone or inside agent middleware. */
async function* execute<Chunk>(run: AgentRun<Chunk>): AsyncGenerator<Chunk> {
  const admitted = await admit(run);
  if (run.middleware.agent.length > 0) {
    yield* loopInMiddleware(admitted);
    return;
  }
  const { input, settings } = admitted;
  const { chunks, record } = loop(admitted, { input, settings });
  yield* chunks;
  if (record.failure !== undefined) throw record.failure.error;
}

/** A run that can begin. */
interface AdmittedRun<Chunk> extends AgentRun<Chunk>, Omit<RunInputs, "given" | "structuredResponse"> {
  readonly isSubgraph: boolean;
  readonly settings: RunContext;
  /** The own keys of the context, and what a parent graph passes: it reaches the tools whole. */
  readonly ownContext: Readonly<Record<string, unknown>>;
  /** Events about the graph and the input, until the first loop takes them. */
  readonly events: AgentEvent[];
}

/** Checks the input, the settings of the run, and that it has what its graph needs. */
async function admit<Chunk>(run: AgentRun<Chunk>): Promise<AdmittedRun<Chunk>> {
  const { plan, received, options, readThread, watched } = run;
  const isSubgraph = isSubgraphRun(options);
  assertCheckpointer(run, isSubgraph);
  const usesArchive = plan.settings.coveredMessages === "archive";
  if (!isSubgraph) warnOfMisplaced(options, plan.settings);
  const readHistory = usesArchive ? () => readStart(run) : undefined;
  const admitted = await admitInput(received, plan, { isSubgraph, readThread, readHistory });
  if (!isSubgraph) await assertQuestion(run, admitted.input);
  // The parent graph of a subgraph is no client.
  const isRetry = !isSubgraph && (await isSentAgain(run, admitted.input));
  const maxConcurrency = readMaxConcurrency(options);
  const settings = planRun(plan, options.context, isSubgraph);
  const inherited = isSubgraph ? withoutSettings(options.context ?? {}) : {};
  return {
    ...run,
    ...admitted,
    input: isRetry ? null : admitted.input,
    events: [...run.startEvents, ...admitted.events],
    isSubgraph,
    settings,
    ownContext: { ...inherited, ...(await plan.ownContext.read(options.context)) },
    maxConcurrency,
    bag: { metadata: {} },
    checkpoints: watched.checkpoints,
    ownState: plan.ownState,
    isInTool: runHandleOf(options) !== undefined,
  };
}

/** The checkpoint that the run begins on. The run itself does not read it again. */
async function peekStart({ options, watched }: AgentRun<unknown>): Promise<CheckpointTuple | undefined> {
  const { thread_id, checkpoint_id } = { ...options.configurable };
  if (thread_id === undefined) return undefined;
  return watched.peek({ configurable: defined({ thread_id, checkpoint_ns: "", checkpoint_id }) });
}

/** @throws InvalidCommandError for a decision on a thread without a checkpoint. LangGraph would end the run in silence. */
async function assertQuestion(run: AgentRun<unknown>, input: unknown): Promise<void> {
  const { options, watched } = run;
  const isDecision = isCommand(input) && input.update === undefined;
  if (!isDecision || watched.checkpointer === undefined || threadIdOf(options) === undefined) return;
  if ((await peekStart(run)) === undefined)
    throw new InvalidCommandError(
      `Expected \`resume\` to answer a question, but the thread \`${threadIdOf(options)}\` has no run that could wait for it.`,
    );
}

/** The messages that the run begins on. */
async function readStart(run: AgentRun<unknown>): Promise<readonly BaseMessage[]> {
  const tuple = await peekStart(run);
  const history = tuple && (await historyIn(tuple, run.watched.checkpoints));
  return Array.isArray(history) ? history : [];
}

/**
 * Whether the thread has all of the input already, and its last turn is over or can be continued. Such a run is a retry:
 * it adds nothing, and continues the turn as the input `null` does.
 */
async function isSentAgain(run: AgentRun<unknown>, input: unknown): Promise<boolean> {
  const { plan, received, options, watched } = run;
  if (options.configurable?.["checkpoint_id"] !== undefined) return false;
  const messages = messagesOfInput(input);
  // Of what was received, the input lacks what a summary has archived.
  const asked = messagesOfInput(received).findLast(({ type }) => type === "human");
  if (!isRecord(input) || asked === undefined || messages.some(({ id }) => id === undefined)) return false;
  const tuple = await peekStart(run);
  if (tuple === undefined) return false;
  const isUnfinished = hasTasks(tuple);
  const { channel_values: values } = tuple.checkpoint;
  const keys = givenKeys(input, plan.ownState.keys);
  const isRead = values["messages"] !== undefined || isUnfinished || keys.length > 0;
  const history: unknown = isRead && (await historyIn(tuple, watched.checkpoints));
  if (!Array.isArray(history)) return false;
  const known = new Map<unknown, BaseMessage>(history.map((message) => [message.id, message]));
  const isStored = (message: BaseMessage): boolean => {
    const stored = known.get(message.id);
    return stored !== undefined && isSameMessage(withStoredMarks(message, stored), stored);
  };
  const isSame = (earlier: Readonly<Record<string, unknown>>): boolean =>
    keys.every((key) => toJson(earlier[key]) === toJson(input[key]));
  return (
    (isUnfinished || history.at(-1)?.type === "ai") &&
    // Of a whole history that is sent with a new message, the new one is the last.
    messages.toReversed().every(isStored) &&
    // Tools write to own keys too.
    (isSame(values) || isSame(await inputWith(asked.id, tuple, watched)))
  );
}

/** The input that has brought a message to the thread. Empty if it cannot be found. */
async function inputWith(
  id: string | undefined,
  latest: CheckpointTuple,
  { checkpoints }: WatchedCheckpointer,
): Promise<Readonly<Record<string, unknown>>> {
  for await (const { checkpoint } of walkBack(latest, checkpoints.read, SEARCH)) {
    const input: unknown = checkpoint.checkpoint.channel_values[START];
    if (isRecord(input) && idsInInput(input).some((known) => known === id)) return input;
  }
  return {};
}

/** So many checkpoints are read at most for the input of a retry. */
const SEARCH = { fate: "continued", most: 1_000 } as const;

interface Loop extends Pick<RunInputs, "input" | "given" | "structuredResponse"> {
  readonly settings: RunContext;
  /** @default the options of the run */
  readonly options?: RunConfig;
}

/** Starts the graph. A run with agent middleware does so several times if the middleware changes its result. */
function loop<Chunk>(
  run: AdmittedRun<Chunk>,
  { input, settings, options = run.options, given, structuredResponse }: Loop,
) {
  const { plan, watched } = run;
  watched.restart(savesAtExit(options), isCommand(input) ? input.resume : undefined);
  const handle = new RunHandle({ ...run, input, given, structuredResponse });
  const { record } = handle;
  record.inputEvents.push(...run.events.splice(0));
  const inner = innerOptions(options, {
    hasStrictResume: plan.callPolicy.asksHumans,
    holdsResult: run.middleware.agent.length > 0,
  });
  const chunks = run.stream(input, {
    ...inner,
    metadata: withGraphType(inner.metadata, run.isSubgraph),
    context: { ...run.ownContext, ...settings },
    configurable: { ...inner.configurable, ...handle.toConfigurable() },
  });
  return { record, chunks: thenClearInbox(run, chunks, handle) };
}

/** At the end of the chunks LangGraph has saved every checkpoint. */
async function* thenClearInbox<Chunk>(
  run: AdmittedRun<Chunk>,
  chunks: AsyncGenerator<Chunk>,
  handle: RunHandle,
): AsyncGenerator<Chunk> {
  const { watched, options, store } = run;
  const { record } = handle;
  const questions = followQuestions();
  try {
    try {
      for await (const chunk of chunks) {
        questions.see(chunk);
        yield chunk;
      }
      const repeated = run.isSubgraph ? undefined : questions.repeated();
      if (repeated !== undefined) yield repeated as Chunk;
    } finally {
      await watched.saved();
      await diaryWritten(options.configurable?.["thread_id"], options.signal);
    }
    await watched.assertKept();
  } catch (error) {
    // LangGraph's own error names a channel.
    if (handle.inputs.input == null && Reflect.get(Object(error), "name") === "EmptyInputError")
      throw new InvalidMessageError(
        "input",
        handle.inputs.input,
        "an object with `messages`",
        " The thread has nothing that could be continued.",
      );
    const conflict = [error, options.signal?.reason].find(isConflict);
    if (conflict !== undefined) await reportReturned(run, handle, conflict.isInThread);
    throw error;
  }
  if (store !== undefined) await clearInbox(store, threadIdOf(options), record.steered);
}

function isConflict(error: unknown): error is ThreadConflictError {
  return isTetherError(error) && error.code === "THREAD_MOVED";
}

/**
 * Tells what tools returned that no checkpoint of the run has, because another process has moved the thread on. If the
 * thread has their calls, its next run finds the results in the diary.
 */
async function reportReturned(
  { watched }: AdmittedRun<unknown>,
  { running }: RunHandle,
  isInThread: boolean,
): Promise<void> {
  const { savedStep = Number.NEGATIVE_INFINITY } = watched.checkpoints;
  if (running.step === undefined || running.step <= savedStep) return;
  for (const answered of await running.settled()) {
    const { result, values } = lateResultIn(answered);
    if (result === undefined || isPlaceholder(result)) continue;
    publishRepairs([createRepair({ kind: "result-late", message: result })]);
    const coming = Promise.resolve({ result, values });
    if (isInThread) await awaitLate(answered.task.place, coming, answered.config);
  }
}

async function* loopInMiddleware<Chunk>(run: AdmittedRun<Chunk>): AsyncGenerator<Chunk> {
  const { plan, options, input, settings, isSubgraph, watched, bag } = run;
  const thread = await run.readThread?.();
  let record: RunRecord | undefined;
  let send = (_chunk: Chunk): void => {};
  const parentWriter: unknown = Reflect.get(options, "writer");
  const scope = {
    bag,
    threadId: threadIdOf(options),
    signal: options.signal,
    stateKeys: [],
    context: { ...run.ownContext, ...settings },
    store: run.store,
    readState: () => ({
      messages: [],
      ...defaultsOf(plan.ownState),
      ...thread?.values,
      ...record?.ownValues(plan.ownState),
      ...(record?.history !== undefined && { messages: record.history }),
    }),
    write: (value: unknown) => {
      if (isSubgraph && typeof parentWriter === "function") parentWriter(value);
      const made = customChunk(value, options);
      if (made !== undefined) send(made.chunk as Chunk);
    },
  };
  const hook = agentHook(scope, {
    stream: run.isStreamed,
    messages: messagesOfInput(input),
    options: { ...settings },
  });
  const chosen = () => planRun(plan, hook.fields.options, isSubgraph);
  const keepsHistory = watched.checkpointer !== undefined && !isSubgraph;
  yield* runAgentMiddleware<Chunk>(run.middleware.agent, hook, {
    start: () => {
      const begun = loop(run, { input: withMessages(input, hook.fields.messages), settings: chosen() });
      record = begun.record;
      return begun;
    },
    answer: (given) => {
      const messages = isCommand(input)
        ? { ...readUpdate(input.update), messages: hook.fields.messages }
        : withMessages(input ?? {}, hook.fields.messages);
      return loop(run, { input: messages, settings: chosen(), given }).chunks;
    },
    correct: (given, history) =>
      loop(run, {
        input: { messages: keepsHistory ? [] : history },
        settings,
        options: followingOptions(options),
        given,
        structuredResponse: plan.formatPlan && record?.structuredResponse,
      }).chunks,
    onWrite: (give) => {
      send = give;
    },
  });
}

/** @throws InvalidSettingError for a value that is not a positive integer. */
function readMaxConcurrency({ maxConcurrency = Number.POSITIVE_INFINITY }: RunConfig): number {
  if (maxConcurrency !== Number.POSITIVE_INFINITY)
    checkSettings({ maxConcurrency }, { maxConcurrency: countFrom(1) }, "options");
  return maxConcurrency;
}

/**
 * A server or a parent graph can supply the checkpointer when the run begins. A run without a thread on a server has
 * none, and a parent graph may have none. Such a run works as long as no call needs approval. `dispatchCalls` throws when
 * a call does.
 *
 * @throws InvalidSettingError if the checkpointer is missing.
 */
function assertCheckpointer({ plan, options, watched }: AgentRun<unknown>, isSubgraph: boolean): void {
  const mayBeSupplied = isSubgraph || isServedRun(options);
  if (mayBeSupplied || watched.checkpointer !== undefined) return;
  if (plan.callPolicy.asksHumans) throw missingCheckpointer();
  if (plan.settings.coveredMessages === "archive") warnOfNoArchive();
}

/*
 * Tells listeners of the process how a run ended.
 */

/** The `node:diagnostics_channel` on which each {@link EndedRun} is published. */
export const RUN_CHANNEL = "langgraph-tether:run";

/** A run of a graph that is no subgraph. */
export interface EndedRun {
  /**
   * `completed`: it has a response, hands calls to its caller, or waits for a human. `failed`: it threw an error.
   * `cancelled`: it was aborted, or its caller stopped reading.
   */
  readonly outcome: "completed" | "failed" | "cancelled";
}

const runs = channel(RUN_CHANNEL);

async function* publishingEnd<Chunk>(
  chunks: AsyncGenerator<Chunk>,
  signal: AbortSignal | undefined,
): AsyncGenerator<Chunk> {
  let outcome: EndedRun["outcome"] = "cancelled";
  try {
    yield* chunks;
    outcome = "completed";
  } catch (error) {
    if (signal?.aborted !== true || isConflict(signal.reason)) outcome = "failed";
    throw error;
  } finally {
    runs.publish({ outcome } satisfies EndedRun);
  }
}
