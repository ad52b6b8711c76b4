/** One run of an agent: its input and settings are read, and its agent middleware goes around it. */

import type { RunnableConfig } from "@langchain/core/runnables";
import { type BaseStore, isCommand } from "@langchain/langgraph";
import { followingOptions, innerOptions } from "../langgraph/inner-options.js";
import { isSubgraphRun } from "../langgraph/run-host.js";
import type { WatchedCheckpointer } from "../langgraph/watch-checkpointer.js";
import { AgentContext } from "../middleware/agent-context.js";
import type { RunBag } from "../middleware/context.js";
import type { MiddlewareByKind } from "../middleware/middleware.js";
import { type GivenMessages, runAgentMiddleware } from "../middleware/run-agent-middleware.js";
import { RunHandle, scopeOf } from "../nodes/run/run-handle.js";
import { checkSettings, countFrom } from "../settings/rule.js";
import type { RunContext } from "../settings/run-context.js";
import { readRunInput } from "./client-command.js";
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
  const isSubgraph = isSubgraphRun(options);
  assertRunInput(run.received, isSubgraph);
  assertServices(run, isSubgraph);
  const maxConcurrency = readMaxConcurrency(options);
  const readContext = (given: unknown) => run.readContext(given, isSubgraph);
  const bag: RunBag = { metadata: {} };

  const begin = (runInput: unknown, context: RunContext, given?: GivenMessages, own = options) => {
    watched.restart();
    const handle = new RunHandle({ bag, middleware, checkpoints, given, maxConcurrency, ...kind });
    const inner = innerOptions(own, { hasStrictResume, holdsResult: middleware.agent.length > 0 });
    const chunks = run.stream(runInput, {
      ...inner,
      context,
      configurable: { ...inner.configurable, ...handle.toConfigurable() },
    });
    return { record: handle.record, chunks };
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
      begin({ messages: keepsHistory ? [] : history }, settings, given, followingOptions(options)).chunks,
  });
}

/** @throws InvalidSettingError for what is no number of calls. */
function readMaxConcurrency({ maxConcurrency = Number.POSITIVE_INFINITY }: RunConfig): number {
  if (maxConcurrency !== Number.POSITIVE_INFINITY)
    checkSettings({ maxConcurrency }, { maxConcurrency: countFrom(1) }, "options");
  return maxConcurrency;
}
