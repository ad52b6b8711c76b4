/** One run of an agent: reads its input and its settings, and runs the graph with its agent middleware around it. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { type BaseStore, isCommand } from "@langchain/langgraph";
import { checkSettings, countFrom } from "../shared/check-settings.js";
import { isPlainObject } from "../shared/values.js";
import { readUpdate } from "../threads/commands.js";
import { type AgentEvent, followSpans, withGraphType } from "../threads/events.js";
import { clearInbox } from "../threads/inbox.js";
import {
  customChunk,
  followingOptions,
  innerOptions,
  isServedRun,
  isSubgraphRun,
  savesAtExit,
} from "../threads/langgraph/run-host.js";
import type { LateResults } from "../threads/late-results.js";
import { defaultsOf, type OwnState } from "../threads/own-state.js";
import { missingCheckpointer, missingStore } from "../threads/stores.js";
import type { WatchedCheckpointer } from "../threads/watch-checkpointer.js";
import {
  admitInput,
  admitValues,
  assertRunInput,
  type ClientRules,
  messagesOfInput,
  onlyKeysOfState,
  type ReadThread,
  readRunInput,
  type ThreadArchive,
  withMessages,
} from "./client.js";
import { agentHook, type RunBag } from "./middleware/contexts.js";
import type { MiddlewareByKind } from "./middleware/middleware.js";
import { type GivenMessages, runAgentMiddleware } from "./middleware/run.js";
import { publishingEnd, RunHandle, type RunRecord, runHandleOf, scopeOf } from "./run-handle.js";
import { type OwnContext, type RunContext, withoutSettings } from "./settings/run-context.js";
import type { ConcurrentRuns } from "./thread-queue.js";

interface RunRules extends RunNeeds, ClientRules {
  /** Whether a decision must name its question if several wait. */
  readonly hasStrictResume: boolean;
  /**
   * Contract: returns the settings for this graph, and throws a clear error for an invalid context. A subgraph gets the
   * context of its parent and ignores the parent's fields.
   */
  readonly readContext: (context: unknown, isSubgraph: boolean) => RunContext;
  readonly ownState: OwnState;
  readonly ownContext: OwnContext;
}

/** What every run of a graph has, whatever its options say. */
export interface RunDefaults extends RunRules {
  /** The default limit of supersteps for a run. */
  readonly recursionLimit: number;
  /** The graph's own middleware. It goes around that of a run. */
  readonly middleware: MiddlewareByKind;
  readonly concurrentRuns: ConcurrentRuns;
  /** Whether the state has a structured response. */
  readonly hasFormat: boolean;
  /** Whether runs read the inbox of their thread. */
  readonly steering: boolean;
}

/** What is known about a run before it begins. */
export interface RunStart {
  readonly isStreamed: boolean;
  readonly middleware: MiddlewareByKind;
}

type RunConfig = RunnableConfig & { readonly context?: object; readonly store?: BaseStore };

interface AgentRun<Chunk> extends RunRules, RunStart {
  /** The input as the caller passed it. */
  readonly received: unknown;
  readonly options: RunConfig;
  readonly watched: WatchedCheckpointer;
  readonly late: LateResults | undefined;
  /** Reads the thread; undefined for a run without a checkpointer. */
  readonly readThread: ReadThread | undefined;
  /** Events about the graph, which this run emits at its start. */
  readonly startEvents: readonly AgentEvent[];
  /** The store of the graph. A store in the options has precedence. */
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
  const chunks = executeRun(run);
  return isSubgraphRun(run.options) ? chunks : publishingEnd(chunks, run.options.signal);
}

async function* executeRun<Chunk>(run: AgentRun<Chunk>): AsyncGenerator<Chunk> {
  await followSpans();
  const { options, middleware, watched, hasStrictResume, ownState } = run;
  const { checkpoints } = watched;
  const { input: received, ...kind } = readRunInput(run.received, {
    hasStrictResume,
    ownKeys: ownState.keys,
  });
  const isSubgraph = isSubgraphRun(options);
  assertRunInput(run.received, isSubgraph);
  assertServices(run, isSubgraph);
  const checked = await admitValues(received, ownState);
  // The parent graph of a subgraph is no client.
  const { input: admitted, events } = isSubgraph
    ? { input: checked, events: [] }
    : await admitInput(checked, run, run.readThread, archiveOf(run));
  const input = isSubgraph ? withoutResponse(admitted) : onlyKeysOfState(admitted, ownState.keys);
  const inputEvents = [...run.startEvents, ...events];
  const maxConcurrency = readMaxConcurrency(options);
  const readContext = (given: unknown) => run.readContext(given, isSubgraph);
  const settings = readContext(options.context);
  // What a parent graph passes reaches the tools whole.
  const inherited = isSubgraph ? withoutSettings(options.context ?? {}) : {};
  const ownContext = { ...inherited, ...(await run.ownContext.read(options.context)) };
  const bag: RunBag = { metadata: {} };

  const store = options.store ?? run.store;
  const begin = (
    runInput: unknown,
    context: RunContext,
    given?: GivenMessages,
    own = options,
    structuredResponse?: unknown,
  ) => {
    const resumeValue = isCommand(runInput) ? runInput.resume : undefined;
    watched.restart(savesAtExit(own) ? resumeValue : undefined);
    const inputs = {
      input: runInput,
      bag,
      middleware,
      checkpoints,
      late: run.late,
      ownState,
      given,
      maxConcurrency,
      isInTool: runHandleOf(options) !== undefined,
      structuredResponse,
      ...kind,
    };
    const handle = new RunHandle(inputs);
    handle.record.inputEvents.push(...inputEvents.splice(0));
    const inner = innerOptions(own, { hasStrictResume, holdsResult: middleware.agent.length > 0 });
    const chunks = run.stream(runInput, {
      ...inner,
      metadata: withGraphType(inner.metadata, isSubgraph),
      context: { ...ownContext, ...context },
      configurable: { ...inner.configurable, ...handle.toConfigurable() },
    });
    return { record: handle.record, chunks: thenClearInbox(chunks, handle.record) };
  };
  // At the end of `chunks` LangGraph has saved every checkpoint.
  async function* thenClearInbox(chunks: AsyncGenerator<Chunk>, record: RunRecord) {
    try {
      yield* chunks;
    } finally {
      await watched.saved();
    }
    const { steered, late = [] } = record;
    if (late.length > 0) await run.late?.remove(late);
    if (store !== undefined) await clearInbox(store, options.configurable?.["thread_id"], steered);
  }
  if (middleware.agent.length === 0) {
    const { chunks, record } = begin(input, settings);
    yield* chunks;
    if (record.failure !== undefined) throw record.failure.error;
    return;
  }
  const thread = await run.readThread?.();
  let record: RunRecord | undefined;
  let send = (_chunk: Chunk): void => {};
  const parentWriter: unknown = Reflect.get(options, "writer");
  const hook = agentHook({
    ...scopeOf(options),
    bag,
    context: { ...ownContext, ...settings },
    store,
    readState: () => ({
      messages: [],
      ...defaultsOf(ownState),
      ...thread?.values,
      ...record?.ownValues(ownState),
      ...(record?.history !== undefined && { messages: record.history }),
    }),
    write: (value) => {
      if (isSubgraph && typeof parentWriter === "function") parentWriter(value);
      const made = customChunk(value, options);
      if (made !== undefined) send(made.chunk as Chunk);
    },
    messages: messagesOfInput(input),
    options: { ...settings },
    isStreamed: run.isStreamed,
  });
  const keepsHistory = watched.checkpointer !== undefined && !isSubgraph;
  yield* runAgentMiddleware<Chunk>(middleware.agent, hook, {
    start: () => {
      const begun = begin(withMessages(input, hook.fields.messages), readContext(hook.fields.options));
      record = begun.record;
      return begun;
    },
    answer: (given) => {
      const messages = isCommand(input)
        ? { ...readUpdate(input.update), messages: hook.fields.messages }
        : withMessages(input ?? {}, hook.fields.messages);
      return begin(messages, readContext(hook.fields.options), given).chunks;
    },
    correct: (given, history) => {
      const response = record?.structuredResponse;
      const messages = keepsHistory ? [] : history;
      return begin({ messages }, settings, given, followingOptions(options), response).chunks;
    },
    onWrite: (give) => {
      send = give;
    },
  });
}

function archiveOf({ usesArchive, options, store }: AgentRun<unknown>): ThreadArchive | undefined {
  const given = options.store ?? store;
  const threadId: unknown = options.configurable?.["thread_id"];
  return usesArchive && given !== undefined && typeof threadId === "string"
    ? { store: given, threadId }
    : undefined;
}

/** Only the model writes the structured response. A parent graph passes on its own. */
function withoutResponse(input: unknown): unknown {
  if (!isPlainObject(input) || !("structuredResponse" in input)) return input;
  const { structuredResponse: _old, ...rest } = input;
  return rest;
}

/** @throws InvalidSettingError for a value that is not a positive integer. */
function readMaxConcurrency({ maxConcurrency = Number.POSITIVE_INFINITY }: RunConfig): number {
  if (maxConcurrency !== Number.POSITIVE_INFINITY)
    checkSettings({ maxConcurrency }, { maxConcurrency: countFrom(1) }, "options");
  return maxConcurrency;
}

/** The features of a graph that need a store or a checkpointer. */
interface RunNeeds {
  /** Whether covered messages are moved to the store. */
  readonly usesArchive: boolean;
  /** Whether tool calls can wait for a human. */
  readonly asksHumans: boolean;
}

interface Given extends RunNeeds {
  readonly options: RunnableConfig & { readonly store?: unknown };
  /** The store of the graph. A store in the options has precedence. */
  readonly store: BaseStore | undefined;
  readonly watched: WatchedCheckpointer;
}

/**
 * Checks that a run has the store and the checkpointer that it needs. This happens when the run begins, because a
 * server or a parent graph can supply them then.
 *
 * A run without a thread on a server has no checkpointer, and a parent graph may have none. Such a run works as long as
 * no call needs approval. `dispatchCalls` throws when a call does.
 *
 * @throws InvalidSettingError if a store or a checkpointer is missing.
 */
function assertServices(
  { usesArchive, asksHumans, options, store, watched }: Given,
  isSubgraph: boolean,
): void {
  if (usesArchive && (options.store ?? store) === undefined) throw missingStore();
  if (asksHumans && !isSubgraph && !isServedRun(options) && watched.checkpointer === undefined)
    throw missingCheckpointer();
}
