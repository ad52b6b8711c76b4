import type { BaseChatModel, BindToolsInput } from "@langchain/core/language_models/chat_models";
import type { StructuredToolInterface } from "@langchain/core/tools";
import type { BaseCheckpointSaver, BaseStore } from "@langchain/langgraph";
import { type Middleware, sortMiddleware } from "../middleware/middleware.js";
import { createCallPolicy, type RequireApproval } from "../nodes/approval/call-policy.js";
import { summaryWording } from "../nodes/summary/summary-prompts.js";
import { type CreateModel, cachedCreateModel } from "../providers/models/cached-create-model.js";
import { checkBuildSettings, type SummaryLanguage } from "../settings/build-settings.js";
import { checkTools, toolName } from "../settings/check-tools.js";
import { resolveLimits } from "../settings/loop-limits.js";
import { readRunContext } from "../settings/run-context.js";
import { createSummaryPolicy } from "../settings/summary-policy.js";
import { readToolChoice, type ToolChoice } from "../settings/tool-choice.js";
import { AgentGraph } from "./agent-graph.js";
import { buildStateGraph } from "./build-state-graph.js";
import { prepareModels } from "./prepare-models.js";

/** What `createAgentGraph` takes. Only `model` is required; `undefined` counts as left out. */
export interface AgentGraphOptions {
  /** A chat model, or `provider:model` as `createModel` takes it. */
  readonly model: BaseChatModel | string;
  /** Names of further models that a run may choose in its `context`. @default none */
  readonly models?: readonly string[] | undefined;
  /** Makes the models that are named. Hand {@link cachedCreateModel} to several graphs, and they share theirs. @default its own */
  readonly createModel?: CreateModel | undefined;
  /** LangChain tools. Names: 1 to 64 letters, digits, `_` and `-`; no name twice; at most 128. @default none */
  readonly tools?: readonly StructuredToolInterface[] | undefined;
  /** Instructions that stand before the conversation. A run may choose others. @default none */
  readonly systemPrompt?: string | undefined;
  /** Where threads are saved. A server brings its own. @default none: a run remembers nothing */
  readonly checkpointer?: BaseCheckpointSaver | undefined;
  /** Long-term memory that tools may use. A server brings its own. @default none */
  readonly store?: BaseStore | undefined;
  /** How many calls of earlier turns the model is shown, with their results; 0 or more. @default all */
  readonly maxToolCallsFromHistory?: number | undefined;
  /** A model input of more tokens is due for a summary. 0: never. @default 4000 */
  readonly maxTokensBeforeSummary?: number | undefined;
  /** So is one of more messages. 0: never. @default 0 */
  readonly maxMessagesBeforeSummary?: number | undefined;
  /** How many messages a summary leaves as they are, where the budget allows it; 1 or more. @default 20 */
  readonly messagesToKeep?: number | undefined;
  /** How many tokens it leaves, instead of a number of messages; 1 or more. @default by `messagesToKeep` */
  readonly tokensToKeep?: number | undefined;
  /** Who writes summaries: a chat model, or the name of one. @default the model of the run */
  readonly summaryModel?: BaseChatModel | string | undefined;
  /** The language of the prompt and the heading below. @default "en" */
  readonly summaryLanguage?: SummaryLanguage | undefined;
  /** What the summariser is told to do. @default a text in `summaryLanguage` */
  readonly summaryPrompt?: string | undefined;
  /** The line above each summary. @default a text in `summaryLanguage` */
  readonly summaryHeading?: string | undefined;
  /** Milliseconds after which the summariser is given up, 1 or more. @default 60_000 */
  readonly summaryTimeoutMs?: number | undefined;
  /**
   * Where covered messages are: `"keep"` leaves them in the state, where removing the summary undoes it;
   * `"archive"` moves them to the store: see `readFullHistory` and `restoreCovered`.
   *
   * @default "keep"
   */
  readonly coveredMessages?: "keep" | "archive" | undefined;
  /** Model calls with tools in one turn, 1 or more; then a closing one with tools off. @default 40 */
  readonly maxIterations?: number | undefined;
  /** Tool calls in one turn, 0 or more. A batch that would exceed it is not run. @default no limit */
  readonly maxToolCalls?: number | undefined;
  /** Rounds in a row in which every call failed, 1 or more; then a closing answer with tools off. @default 3 */
  readonly maxConsecutiveErrors?: number | undefined;
  /** Whether the model may, must or must not call a tool. A run may choose otherwise. @default "auto" */
  readonly toolChoice?: ToolChoice | undefined;
  /** Made by `agentMiddleware`, `chatMiddleware` and `functionMiddleware`; the first of a kind is outermost. @default none */
  readonly middleware?: readonly Middleware[] | undefined;
  /**
   * Whether the graph runs the calls of its model. If not, a run ends with them: the caller sends the results as
   * input, and the model goes on when all are there. @default true
   */
  readonly autoInvoke?: boolean | undefined;
  /** Tools that the model may call and the caller runs, as with `autoInvoke: false`. @default none */
  readonly additionalTools?: readonly BindToolsInput[] | undefined;
  /** Whether a call of a tool that is not there ends the run. Else the model is told, and goes on. @default false */
  readonly terminateOnUnknownCalls?: boolean | undefined;
  /**
   * The tools whose calls wait for a human's approval, or a predicate on a call. All of one batch are one interrupt.
   *
   * @default none
   */
  readonly requireApproval?: RequireApproval | undefined;
  /** Whether the model is told what a tool threw, or only that it failed. @default false */
  readonly includeDetailedErrors?: boolean | undefined;
  /** Milliseconds after which a call ends with an error, 1 or more. @default no limit */
  readonly toolTimeoutMs?: number | undefined;
  /**
   * How often an answer of the model is asked for again, without streaming, if its stream was cut off, empty or
   * otherwise not whole; 0 or more. Then the run fails with a `ModelError`, and the history is as it was. @default 3
   */
  readonly maxStreamFallbackAttempts?: number | undefined;
}

/** Supersteps of a healthy round, and some for the beginning and the end of a turn. */
const STEPS_PER_ITERATION = 2;
const SPARE_STEPS = 20;
const SUMMARY_TIMEOUT_MS = 60_000;
const STREAM_FALLBACK_ATTEMPTS = 3;

/**
 * An agent as a LangGraph graph: invoke it, stream it, serve it, or use it as a node of another graph. Its history
 * stays paired, and what a finished tool returned is never lost.
 *
 * @throws InvalidSettingError for an unknown option or a value that it does not take.
 * @throws InvalidToolError for a tool that no provider would accept, or a name used twice.
 * @throws InvalidModelError for a model name that cannot be resolved, or one whose key is missing.
 * @example
 * ```ts
 * import { tool } from "@langchain/core/tools";
 * import { createAgentGraph } from "langgraph-tether";
 * import { z } from "zod";
 *
 * const weather = tool(({ city }) => `${city}: 18 °C`, {
 *   name: "weather",
 *   description: "Tells the current weather in a city.",
 *   schema: z.object({ city: z.string() }),
 * });
 * // "offline:" is a small model for trials; a real one is "openai:gpt-4o-mini".
 * const agent = createAgentGraph({ model: "offline:", tools: [weather] });
 * const { messages } = await agent.invoke({ messages: "What is the weather in Paris?" });
 * console.log(messages.map((message) => message.type)); // [ 'human', 'ai', 'tool', 'ai' ]
 * console.log(messages.at(-1)?.text); // Paris: 18 °C
 * ```
 */
export function createAgentGraph(options: AgentGraphOptions): AgentGraph {
  checkBuildSettings(options);
  const { tools, additionalTools } = checkTools(options.tools ?? [], options.additionalTools ?? []);
  const offered = [...tools, ...additionalTools];
  const offeredNames = offered.map(toolName);
  const toolChoice = readToolChoice(options.toolChoice ?? "auto", offeredNames);
  const middleware = sortMiddleware(options.middleware ?? []);
  const limits = resolveLimits(options);
  const make = options.createModel ?? cachedCreateModel();
  const { resolveModel, checkModel } = prepareModels("model", options.model, options.models ?? [], make);
  const summaryModel =
    options.summaryModel === undefined
      ? undefined
      : prepareModels("summaryModel", options.summaryModel, [], make);
  const compiled = buildStateGraph({
    tools,
    offered,
    callPolicy: createCallPolicy({
      autoInvoke: options.autoInvoke ?? true,
      toolNames: tools.map(toolName),
      additionalNames: additionalTools.map(toolName),
      requireApproval: options.requireApproval ?? [],
    }),
    toolChoice,
    limits,
    resolveModel,
    resolveSummaryModel:
      summaryModel === undefined ? resolveModel : () => summaryModel.resolveModel(undefined),
    summaryPolicy: createSummaryPolicy(options, offered),
    summaryWording: summaryWording(options.summaryLanguage ?? "en", {
      heading: options.summaryHeading,
      instructions: options.summaryPrompt,
    }),
    summaryTimeoutMs: options.summaryTimeoutMs ?? SUMMARY_TIMEOUT_MS,
    coveredMessages: options.coveredMessages ?? "keep",
    systemPrompt: options.systemPrompt,
    maxToolCallsFromHistory: options.maxToolCallsFromHistory,
    terminateOnUnknownCalls: options.terminateOnUnknownCalls ?? false,
    includeDetailedErrors: options.includeDetailedErrors ?? false,
    toolTimeoutMs: options.toolTimeoutMs,
    maxStreamFallbackAttempts: options.maxStreamFallbackAttempts ?? STREAM_FALLBACK_ATTEMPTS,
  }).compile({
    ...(options.checkpointer && { checkpointer: options.checkpointer }),
    ...(options.store && { store: options.store }),
    name: "agent",
  });
  const asksHumans = typeof options.requireApproval === "function" || !!options.requireApproval?.length;
  return AgentGraph.from(compiled, {
    middleware,
    usesArchive: options.coveredMessages === "archive",
    asksHumans,
    hasStrictResume: asksHumans,
    recursionLimit: limits.maxIterations * STEPS_PER_ITERATION + SPARE_STEPS,
    readContext: (context, isSubgraph) => {
      const own = readRunContext(context, { limits, ignoresUnknown: isSubgraph });
      checkModel(own.model);
      if (own.toolChoice !== undefined) readToolChoice(own.toolChoice, offeredNames);
      return own;
    },
  });
}
