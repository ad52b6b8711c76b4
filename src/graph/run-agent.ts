/** One run of an agent: its input and settings are read, and its agent middleware goes around it. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { type BaseStore, isCommand } from "@langchain/langgraph";
import type { WatchedCheckpointer } from "../langgraph/watch-checkpointer.js";
import { AgentContext } from "../middleware/agent-context.js";
import type { RunBag } from "../middleware/context.js";
import type { MiddlewareByKind } from "../middleware/middleware.js";
import { type GivenMessages, runAgentMiddleware } from "../middleware/run-agent-middleware.js";
import { RunHandle, scopeOf } from "../nodes/run/run-handle.js";
import { checkSettings, countFrom } from "../settings/rule.js";
import type { RunContext } from "../settings/run-context.js";
import { readRunInput, STRICT_RESUME_KEY } from "./client-command.js";
import { assertRunInput, messagesOfInput, withMessages } from "./run-input.js";
import { assertServices, type RunNeeds } from "./run-needs.js";

export interface RunRules extends RunNeeds {
  /** Whether an answer that is meant for one of several questions must name it. */
  readonly hasStrictResume: boolean;
  /**
   * Contract: returns what of the context is meant for this graph; throws a clear error for a context that a run may
   * not have. As a subgraph it is handed its parent's context, whose other fields are none of its business.
   */
  readonly readContext: (context: unknown, isSubgraph: boolean) => RunContext;
}

/** What is known of a run before it begins. */
export interface RunStart {
  readonly isStreamed: boolean;
  readonly middleware: MiddlewareByKind;
}

type RunConfig = RunnableConfig & { readonly context?: unknown };

export interface AgentRun<Chunk> extends RunRules, RunStart {
  /** The input as its caller gave it. */
  readonly received: unknown;
  readonly options: RunConfig;
  readonly watched: WatchedCheckpointer;
  /** The store of the graph; the one in the options goes before it. */
  readonly store: BaseStore | undefined;
  /** Contract: streams a run of the compiled graph, without anything around it. */
  readonly stream: (input: unknown, options: RunConfig) => AsyncGenerator<Chunk>;
}

/** @throws InvalidCommandError, InvalidSettingError or InvalidMessageError for what a run may not be given. */
export async function* runAgent<Chunk>(run: AgentRun<Chunk>): AsyncGenerator<Chunk> {
  const { options, middleware, watched, hasStrictResume } = run;
  const { checkpoints } = watched;
  const { input, ...kind } = readRunInput(run.received, hasStrictResume);
  const isSubgraph = options.configurable?.["__pregel_read"] !== undefined;
  assertRunInput(run.received, isSubgraph);
  assertServices(run, isSubgraph);
  const maxConcurrency = readMaxConcurrency(options);
  const readContext = (given: unknown) => run.readContext(given, isSubgraph);
  const bag: RunBag = { metadata: {} };

  const begin = (runInput: unknown, context: RunContext, given?: GivenMessages, own = options) => {
    watched.restart();
    const handle = new RunHandle({ bag, middleware, checkpoints, given, maxConcurrency, ...kind });
    const strict = { [STRICT_RESUME_KEY]: hasStrictResume };
    const chunks = run.stream(runInput, {
      ...own,
      // With a limit of 1 LangGraph 1.7 forgets all tasks of a superstep but the first; so the tools node keeps it.
      maxConcurrency: Number.POSITIVE_INFINITY,
      // A run with the name of its node would be taken for the node, and shown before the middleware is done with it.
      ...(isSubgraph && middleware.agent.length > 0 && { runName: "agent-run" }),
      context,
      configurable: { ...own.configurable, ...strict, ...handle.toConfigurable() },
    });
    return { record: handle, chunks };
  };
  const settings = readContext(options.context);
  if (middleware.agent.length === 0) {
    const { chunks, record } = begin(input, settings);
    yield* chunks;
    if (record.failure !== undefined) throw record.failure.error;
    return;
  }
  const context = new AgentContext({
    ...scopeOf(options),
    bag,
    messages: messagesOfInput(input),
    options: { ...settings },
    isStreamed: run.isStreamed,
  });
  const keepsHistory = watched.checkpointer !== undefined && !isSubgraph;
  yield* runAgentMiddleware<Chunk>(middleware.agent, context, {
    start: () => begin(withMessages(input, context.messages), readContext(context.options)),
    answer: (given) => {
      const messages = isCommand(input)
        ? { messages: context.messages }
        : withMessages(input ?? {}, context.messages);
      return begin(messages, readContext(context.options), given).chunks;
    },
    correct: (given, history) =>
      begin({ messages: keepsHistory ? [] : history }, settings, given, behindRun(options)).chunks,
  });
}

/** @throws InvalidSettingError for what is no number of calls. */
function readMaxConcurrency({ maxConcurrency = Number.POSITIVE_INFINITY }: RunConfig): number {
  if (maxConcurrency !== Number.POSITIVE_INFINITY)
    checkSettings({ maxConcurrency }, { maxConcurrency: countFrom(1) }, "options");
  return maxConcurrency;
}

/**
 * The options of a run for what is written behind it. It may have begun in the past of its thread, and this belongs to
 * its end. Given the id of the run that wrote the last checkpoint, LangGraph would resume that run and take no input.
 */
function behindRun(options: RunConfig): RunConfig {
  const { checkpoint_id: _checkpoint, run_id: _run, ...configurable } = { ...options.configurable };
  const { run_id: _inMetadata, ...metadata } = { ...options.metadata };
  // Under the same `runId`: readers of events take the last end of that run for its output.
  return { ...options, configurable, metadata };
}
