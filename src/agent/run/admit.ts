/** How a run is admitted: its input, its settings, and whether its client only resends what the thread has. */

import type { BaseMessage } from "@langchain/core/messages";
import type { RunnableConfig } from "@langchain/core/runnables";
import type { BaseStore, CheckpointTuple } from "@langchain/langgraph";
import { isResult } from "../../history/result.js";
import { isUserMessage } from "../../history/summary.js";
import { checkSettings, countFrom } from "../../shared/check-settings.js";
import { defined, isRecord } from "../../shared/values.js";
import type { Reader } from "../../shared/waiting.js";
import { givenKeys, historyIn } from "../../threads/ended-runs/leftovers.js";
import { hasInput } from "../../threads/ended-runs/sent-again.js";
import type { AgentEvent } from "../../threads/events.js";
import { hasTasks } from "../../threads/langgraph/read-checkpoints.js";
import { isCheckpointNamed, isServedRun, isSubgraphRun } from "../../threads/langgraph/run-host.js";
import { newWords } from "../../threads/new-words.js";
import { isKeyOf } from "../../threads/own-state.js";
import type { RunSaver } from "../../threads/saver/run-saver.js";
import { warnOfNoArchive } from "../../threads/shared-settings.js";
import { missingCheckpointer, threadIdOf } from "../../threads/stores.js";
import type { MiddlewareByKind } from "../middleware/middleware.js";
import { type AgentPlan, planRun } from "../plan.js";
import { type RunContext, warnOfMisplaced, withoutSettings } from "../settings/run-context.js";
import { admitAnswer } from "./answer.js";
import { type RunInputs, runHandleOf } from "./handle.js";
import { admitInput, type ReadThread, type SentMessages, withMessages } from "./input.js";

/** What is known about a run before it begins. */
export interface RunStart {
  readonly isStreamed: boolean;
  readonly middleware: MiddlewareByKind;
}

export type RunConfig = RunnableConfig & { readonly context?: object; readonly store?: BaseStore };

export interface AgentRun<Chunk> extends RunStart, Pick<RunInputs, "tally"> {
  readonly plan: AgentPlan;
  /** The input as the caller passed it. */
  readonly received: unknown;
  readonly options: RunConfig;
  readonly saver: RunSaver;
  /** Reads the thread; undefined for a run without a checkpointer. */
  readonly readThread: ReadThread | undefined;
  /** Events about the graph, which the run emits at its start. */
  readonly startEvents: readonly AgentEvent[];
  /** The store of the options, or else the graph's. */
  readonly store: BaseStore | undefined;
  readonly reader: Reader<Chunk>;
  /** Contract: streams a run of the compiled graph, without middleware around it. */
  readonly stream: (input: unknown, options: RunConfig) => AsyncGenerator<Chunk>;
}

/** A run that can begin. */
export interface AdmittedRun<Chunk> extends AgentRun<Chunk>, Omit<RunInputs, "given" | "structuredResponse"> {
  readonly isSubgraph: boolean;
  /** The settings that it has chosen. */
  readonly chosen: RunContext;
  /** The context's own keys, and what a parent graph passes. It reaches the tools whole. */
  readonly ownContext: Readonly<Record<string, unknown>>;
  /** Events about the graph and the input, until the first pass takes them. */
  readonly events: AgentEvent[];
}

/** Checks the input and the run's settings, and that the run has what its graph needs. */
export async function admit<Chunk>(run: AgentRun<Chunk>): Promise<AdmittedRun<Chunk>> {
  const { plan, received, options, readThread, saver } = run;
  const isSubgraph = isSubgraphRun(options);
  assertCheckpointer(run, isSubgraph);
  const usesArchive = plan.settings.coveredMessages === "archive";
  if (!isSubgraph) warnOfMisplaced(options, plan.settings);
  const readHistory = usesArchive ? () => readStart(run) : undefined;
  const { sent, ...admitted } = await admitInput(received, plan, { isSubgraph, readThread, readHistory });
  const { words, ...news } =
    isSubgraph || admitted.endsAfterInput ? NO_NEWS : await readNews(run, sent.messages);
  const input = words === undefined ? admitted.input : withMessages(admitted.input, words);
  const answered = await readAnswer(run, input, isSubgraph);
  const isRetry = await isSentAgain(run, input, { ...sent, messages: words ?? sent.messages });
  const maxConcurrency = readMaxConcurrency(options);
  const chosen = planRun(plan, options.context, isSubgraph);
  const namesCheckpoint = !isSubgraph && isCheckpointNamed(options);
  const inherited = isSubgraph ? withoutSettings(options.context ?? {}) : {};
  return {
    ...run,
    ...admitted,
    ...news,
    input: isRetry ? null : answered,
    events: [...run.startEvents, ...admitted.events],
    isSubgraph,
    chosen,
    ownContext: { ...inherited, ...(await plan.ownContext.read(options.context)) },
    maxConcurrency,
    bag: { metadata: {} },
    checkpoints: saver.checkpoints,
    ownState: plan.ownState,
    isInTool: runHandleOf(options) !== undefined,
    namesCheckpoint,
    latest: namesCheckpoint ? await saver.readLatest(options) : undefined,
  };
}

const NO_NEWS = { words: undefined, isEdit: false, hasLateResult: false } as const;

/** What the input says that its thread does not have. `words` replaces its messages, if they must be other ones. */
async function readNews(run: AgentRun<unknown>, sent: readonly BaseMessage[]) {
  const isKnown = sent.some(
    (message) => isResult(message) || (isUserMessage(message) && message.id !== undefined),
  );
  const history = isKnown ? await readStart(run) : [];
  if (history.length === 0) return NO_NEWS;
  const { messages, ...news } = newWords(history, sent);
  return { ...news, words: messages === sent ? undefined : messages };
}

/** The input, whose answer is checked. A parent graph's is passed on. */
async function readAnswer(run: AgentRun<unknown>, input: unknown, isSubgraph: boolean): Promise<unknown> {
  const { options, saver } = run;
  const threadId = threadIdOf(options);
  if (isSubgraph || saver.checkpointer === undefined || threadId === undefined) return input;
  const checkpointId = options.configurable?.["checkpoint_id"];
  const { read } = saver.checkpoints;
  const [start, isServed] = [await peekStart(run), isServedRun(options)];
  return admitAnswer(input, { threadId, checkpointId, start, read, isServed });
}

/** The checkpoint that the run begins on. The run itself does not read it again. */
async function peekStart({ options, saver }: AgentRun<unknown>): Promise<CheckpointTuple | undefined> {
  const { thread_id, checkpoint_id } = { ...options.configurable };
  if (thread_id === undefined) return undefined;
  return saver.peek({ configurable: defined({ thread_id, checkpoint_ns: "", checkpoint_id }) });
}

/** The messages that the run begins on. */
async function readStart(run: AgentRun<unknown>): Promise<readonly BaseMessage[]> {
  const tuple = await peekStart(run);
  const history = tuple && (await historyIn(tuple, run.saver.checkpoints));
  return Array.isArray(history) ? history : [];
}

/**
 * Whether the thread already has the whole input, and its last turn is over or can continue. Such a run is a retry: it
 * adds nothing, and continues the turn like the input `null`.
 */
async function isSentAgain(
  run: AgentRun<unknown>,
  input: unknown,
  { messages, userMessage }: SentMessages,
): Promise<boolean> {
  const { plan, options, saver } = run;
  if (isCheckpointNamed(options)) return false;
  if (!isRecord(input) || userMessage === undefined || messages.some(({ id }) => id === undefined))
    return false;
  const tuple = await peekStart(run);
  if (tuple === undefined) return false;
  const isUnfinished = hasTasks(tuple);
  const { channel_values: values } = tuple.checkpoint;
  const keys = givenKeys(input, isKeyOf(plan.ownState));
  const isRead = values["messages"] !== undefined || isUnfinished || keys.length > 0;
  const history: unknown = isRead && (await historyIn(tuple, saver.checkpoints));
  if (!Array.isArray(history)) return false;
  const sent = { input, messages, userMessageId: userMessage.id, keys };
  const mayGoOn = isUnfinished || history.at(-1)?.type === "ai";
  return mayGoOn && hasInput(sent, history, tuple, saver.checkpoints.read);
}

/** @throws InvalidSettingError for a value that is not a positive integer. */
function readMaxConcurrency({ maxConcurrency = Number.POSITIVE_INFINITY }: RunConfig): number {
  if (maxConcurrency !== Number.POSITIVE_INFINITY)
    checkSettings({ maxConcurrency }, { maxConcurrency: countFrom(1) }, "options");
  return maxConcurrency;
}

/**
 * A server or a parent graph can supply the checkpointer when the run begins. A server's run without a thread has none,
 * and a parent graph may have none. Such a run works until a call needs approval: then `dispatchCalls` throws.
 *
 * @throws InvalidSettingError if the checkpointer is missing.
 */
function assertCheckpointer({ plan, options, saver }: AgentRun<unknown>, isSubgraph: boolean): void {
  const mayBeSupplied = isSubgraph || isServedRun(options);
  if (mayBeSupplied || saver.checkpointer !== undefined) return;
  if (plan.callPolicy.asksHumans) throw missingCheckpointer();
  if (plan.settings.coveredMessages === "archive") warnOfNoArchive();
}
